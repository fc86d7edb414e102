package ownership_test

import (
	"fmt"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/servertest/looptest"
)

// BenchmarkDeleteNamespace measures the time from the deletion of a namespace until it is gone,
// with a number of objects in it.
func BenchmarkDeleteNamespace(b *testing.B) {
	for _, storage := range []string{server.StorageMemory, server.StorageEmbedded} {
		for _, objects := range []int{0, 5000} {
			b.Run(fmt.Sprintf("storage=%s/objects=%d", storage, objects), func(b *testing.B) {
				w := start(b, server.Config{Storage: server.StorageConfig{Engine: storage}})
				for b.Loop() {
					b.StopTimer()
					w.CreateNamespace()
					for i := range objects {
						w.configMap(fmt.Sprintf("c%d", i))
					}
					b.StartTimer()
					w.DeleteNamespace()
					w.await("the end", gone)
				}
			})
		}
	}
}

// BenchmarkDeleteNamespaces measures the time until many namespaces with ten objects each, deleted
// at once, are gone.
func BenchmarkDeleteNamespaces(b *testing.B) {
	const namespaces, objects = 100, 10
	for _, storage := range []string{server.StorageMemory, server.StorageEmbedded} {
		b.Run(fmt.Sprintf("storage=%s/namespaces=%d", storage, namespaces), func(b *testing.B) {
			w := start(b, server.Config{Storage: server.StorageConfig{Engine: storage}})
			watch, err := w.namespaces().Watch(b.Context(), meta.ListOptions{LabelSelector: "many"})
			if err != nil {
				b.Fatal(err)
			}
			defer watch.Close()
			for b.Loop() {
				b.StopTimer()
				for i := range namespaces {
					name := fmt.Sprintf("n%d", i)
					looptest.Create(w, "namespaces", &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{"many": ""}}})
					for j := range objects {
						looptest.Create(w, "configmaps", &corev1.ConfigMap{ObjectMeta: meta.ObjectMeta{Namespace: name, Name: fmt.Sprintf("c%d", j)}})
					}
				}
				b.StartTimer()
				for i := range namespaces {
					if err := w.namespaces().Delete(b.Context(), fmt.Sprintf("n%d", i), meta.DeleteOptions{}); err != nil {
						b.Fatal(err)
					}
				}
				for gone := 0; gone < namespaces; {
					ev, err := watch.Next()
					if err != nil {
						b.Fatal(err)
					}
					if ev.Type == client.Deleted {
						gone++
					}
				}
			}
		})
	}
}
