package quotas_test

import (
	"fmt"
	"runtime"
	"testing"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/quotas"
	"github.com/coracle-project/coracle/server/servertest/looptest"
)

// BenchmarkRecount recounts one namespace with 10,000 objects, and 1,000 namespaces with a quota
// and ten objects each. The first recount measures all objects, later ones only those that have
// changed. B/object is the memory that a recount keeps for each object.
func BenchmarkRecount(b *testing.B) {
	for _, size := range []struct{ namespaces, objects int }{{1, 10_000}, {1_000, 10}} {
		for _, resource := range []string{"pods", "configmaps"} {
			w := looptest.Start(b, server.Config{Controllers: []string{}})
			names := fillNamespaces(b, w, size.namespaces, size.objects, resource)
			var c *quotas.Controller
			forget := func() { c = &quotas.Controller{Stores: w.S, Identity: "bench", Log: zap.NewNop()} }
			forget()
			recount := func(b *testing.B) {
				if err := c.Recount(b.Context(), names...); err != nil {
					b.Fatal(err)
				}
			}
			recount(b) // writes the status for the first time
			name := fmt.Sprintf("namespaces=%d/%s=%d/", size.namespaces, resource, size.objects)
			b.Run(name+"first", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					forget()
					recount(b)
				}
				kept := heap()
				forget()
				b.ReportMetric(float64(int64(kept)-int64(heap()))/float64(size.namespaces*size.objects), "B/object")
			})
			recount(b)
			b.Run(name+"again", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					recount(b)
				}
			})
		}
	}
}

// heap returns the size of the live heap.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// fillNamespaces creates namespaces with a quota and objects of one resource each, and returns
// their names.
func fillNamespaces(b *testing.B, w *looptest.World, namespaces, objects int, resource string) (names []string) {
	limits := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{"pods", "requests.cpu", "requests.memory", "limits.cpu", "count/configmaps"} {
		limits[name] = meta.NewQuantity(1<<40, meta.DecimalSI)
	}
	cpu, memory := meta.NewQuantity(1, meta.DecimalSI), meta.NewQuantity(1<<20, meta.BinarySI)
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": cpu, "memory": memory}, Limits: corev1.ResourceList{"cpu": cpu},
	}}}}
	for n := range namespaces {
		ns := fmt.Sprintf("n%d", n)
		names = append(names, ns)
		in := meta.ObjectMeta{Namespace: ns, Name: "q"}
		store(b, w, "resourcequotas", &corev1.ResourceQuota{ObjectMeta: in, Spec: corev1.ResourceQuotaSpec{Hard: limits}})
		for i := range objects {
			in.Name = fmt.Sprintf("object-%d", i)
			if resource == "pods" {
				store(b, w, resource, &corev1.Pod{ObjectMeta: in, Spec: spec})
			} else {
				store(b, w, resource, &corev1.ConfigMap{ObjectMeta: in})
			}
		}
	}
	return names
}

// store creates an object past admission.
func store[T meta.Object](b *testing.B, w *looptest.World, resource string, obj T) {
	view, err := registry.ViewOf[T](w.S.Store(meta.GroupResource{Resource: resource}))
	if err == nil {
		err = view.Create(b.Context(), obj)
	}
	if err != nil {
		b.Fatal(err)
	}
}
