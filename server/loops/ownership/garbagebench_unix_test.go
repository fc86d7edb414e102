//go:build unix

package ownership_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
)

// BenchmarkCollect measures the time until all dependents of one owner are gone, and the processor
// time for each.
func BenchmarkCollect(b *testing.B) {
	const dependents = 10_000
	for _, storage := range []string{server.StorageMemory, server.StorageEmbedded} {
		for _, policy := range []meta.DeletionPropagation{meta.DeletePropagationBackground, meta.DeletePropagationForeground, meta.DeletePropagationOrphan} {
			b.Run(fmt.Sprintf("storage=%s/policy=%s/dependents=%d", storage, policy, dependents), func(b *testing.B) {
				w := start(b, server.Config{Storage: server.StorageConfig{Engine: storage}})
				w.CreateNamespace()
				var spent time.Duration
				for b.Loop() {
					b.StopTimer()
					owner := w.thing("secrets", "n", "owner", nil)
					for i := range dependents {
						w.thing("configmaps", "n", fmt.Sprint("d", i), []meta.OwnerReference{ref(owner, "block")})
					}
					before := processorTime(b)
					b.StartTimer()
					w.delete("secrets", "n", "owner", policy)
					left := "configmaps"
					if policy == meta.DeletePropagationOrphan {
						left = "secrets"
					}
					for !w.isEmpty(left) {
						time.Sleep(10 * time.Millisecond)
					}
					b.StopTimer()
					spent += processorTime(b) - before
					if policy == meta.DeletePropagationOrphan {
						w.DeleteNamespace()
						w.await("the end", gone)
						w.CreateNamespace()
					}
					b.StartTimer()
				}
				b.ReportMetric(float64(spent.Microseconds())/float64(b.N)/dependents, "cpu-µs/dependent")
			})
		}
	}
}

// isEmpty reports whether n has no objects of a resource, except the config map that each namespace
// has.
func (w *world) isEmpty(resource string) bool {
	list, err := w.partial(resource, "n").List(w.T.Context(), meta.ListOptions{Limit: 1, FieldSelector: "metadata.name!=kube-root-ca.crt"})
	if err != nil {
		w.T.Fatal(err)
	}
	return len(list.Items) == 0
}

// processorTime returns the processor time of this process.
func processorTime(t testing.TB) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
