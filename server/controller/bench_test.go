package controller_test

import (
	"fmt"
	"testing"

	"github.com/coracle-project/coracle/server"
)

// BenchmarkDeleteNamespace measures a namespace's way from its deletion to its end, with the given number of objects in it.
func BenchmarkDeleteNamespace(b *testing.B) {
	for _, storage := range []string{server.StorageMemory, server.StorageEmbedded} {
		for _, objects := range []int{0, 5000} {
			b.Run(fmt.Sprintf("storage=%s/objects=%d", storage, objects), func(b *testing.B) {
				w := start(b, server.Config{Storage: server.StorageConfig{Engine: storage}})
				for b.Loop() {
					b.StopTimer()
					w.createNamespace()
					for i := range objects {
						w.configMap(fmt.Sprintf("c%d", i))
					}
					b.StartTimer()
					w.deleteNamespace()
					w.await("the end", gone)
				}
			})
		}
	}
}
