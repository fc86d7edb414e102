package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
)

// BenchmarkLimitRanger measures the create of a pod, which is not stored, without LimitRanger and
// with it, in a namespace without limit ranges and in one that has a limit range.
func BenchmarkLimitRanger(b *testing.B) {
	const namespaces, pod = "/api/v1/namespaces/", `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i",` +
		`"resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}}`
	for _, bm := range []struct{ name, namespace, disable string }{
		{"plugin=off", "ns", "LimitRanger"}, {"plugin=on", "ns", "AlwaysAdmit"}, {"plugin=on,ranges=1", "limited", "AlwaysAdmit"},
	} {
		p := newInProcess(b, func(c *server.Config) { c.Admission.Disable = []string{bm.disable} })
		p.must("POST", "/api/v1/namespaces", `{"metadata":{"name":"limited"}}`)
		p.must("POST", namespaces+"limited/limitranges",
			`{"metadata":{"name":"a"},"spec":{"limits":[{"type":"Container","min":{"cpu":"1"},"max":{"cpu":"1","memory":"2Gi"}}]}}`)
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := p.Serve(p.Request("POST", namespaces+bm.namespace+"/pods?dryRun=All", strings.NewReader(pod)))
				if w.Code != http.StatusCreated {
					b.Fatalf("got %d %s", w.Code, w.Body)
				}
			}
		})
	}
}
