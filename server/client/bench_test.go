package client_test

import (
	"fmt"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/servertest"
)

// BenchmarkClient measures requests in process, the whole server included.
func BenchmarkClient(b *testing.B) {
	c := servertest.Start(b, server.Config{
		Serving: server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort}, Controllers: []string{},
	}).Server.Client()
	maps := client.For[*corev1.ConfigMap](c, configMapResource).In("default")
	for i := range 1000 {
		if _, err := maps.Create(b.Context(), configMap(fmt.Sprintf("m%d", i)), meta.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("verb=get", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := maps.Get(b.Context(), "m7", meta.GetOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("verb=list/objects=1000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if list, err := maps.List(b.Context(), meta.ListOptions{}); err != nil || len(list.Items) != 1000 {
				b.Fatal(list, err)
			}
		}
	})
	b.Run("verb=update", func(b *testing.B) {
		b.ReportAllocs()
		obj, err := maps.Get(b.Context(), "m7", meta.GetOptions{})
		for n := 0; b.Loop(); n++ {
			if err != nil {
				b.Fatal(err)
			}
			obj.Data = map[string]string{"n": fmt.Sprint(n)}
			obj, err = maps.Update(b.Context(), obj, meta.UpdateOptions{})
		}
	})
}
