package controller_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/servertest"
)

// BenchmarkInformer measures what an informer of 100 objects costs for each event of its watch,
// from the bytes of the stream to the view that it keeps. Each write of the stream has several
// events.
func BenchmarkInformer(b *testing.B) {
	codecs := servertest.Start(b, server.Config{
		Serving: server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort}, Controllers: []string{},
	}).Server.Codecs
	for _, together := range []int{1, 100} {
		b.Run(fmt.Sprintf("together=%d", together), func(b *testing.B) {
			writes := make(chan []byte)
			c, err := client.New(client.Config{Codecs: codecs, Transport: client.HandlerTransport(http.HandlerFunc(
				func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					if !r.URL.Query().Has("watch") {
						_, _ = w.Write([]byte(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`))
						return
					}
					w.WriteHeader(http.StatusOK)
					for {
						_ = http.NewResponseController(w).Flush()
						select {
						case events := <-writes:
							_, _ = w.Write(events)
						case <-r.Context().Done():
							return
						}
					}
				}))})
			if err != nil {
				b.Fatal(err)
			}
			informers := controller.NewInformers(b.Context(), c, zap.NewNop())
			b.Cleanup(informers.Wait)
			kept := make(chan struct{}, 1024)
			controller.InformerOf(informers, configMaps, func(m *corev1.ConfigMap) *view {
				kept <- struct{}{}
				return &view{m.Data["v"]}
			})
			b.ReportAllocs()
			revision := 1
			for left := b.N; left > 0; left -= together {
				var events strings.Builder
				n := min(left, together)
				for range n {
					revision++
					fmt.Fprintf(&events, `{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"m%d",`+
						`"namespace":"default","uid":"u","resourceVersion":"%d"},"data":{"v":"x"}}}`+"\n", revision%100, revision)
				}
				writes <- []byte(events.String())
				for range n {
					<-kept
				}
			}
		})
	}
}
