package quotas_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest/looptest"
)

// BenchmarkCreates measures 16 clients that create config maps in the embedded store, without a
// quota and with one that they share.
func BenchmarkCreates(b *testing.B) {
	for _, limited := range []bool{false, true} {
		b.Run(fmt.Sprintf("limited=%t", limited), func(b *testing.B) {
			w := looptest.Start(b, server.Config{DataDir: b.TempDir(), Controllers: []string{"resourcequota-controller"}})
			w.CreateNamespace()
			if limited {
				limit(w, "count/configmaps=100000000 pods=10 services=10")
			}
			maps := looptest.Of[*corev1.ConfigMap](w, "configmaps")
			var n atomic.Int64
			b.SetParallelism(8)
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := maps.Create(b.Context(), configMap(fmt.Sprint("m", n.Add(1))), meta.CreateOptions{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
