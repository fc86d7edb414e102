package server_test

import (
	"fmt"
	"testing"
)

// customVerbs are requests for custom resources, each beside the same request for config maps with
// the same data. allocs is the largest number of allocations.
var customVerbs = []struct {
	name   string
	allocs float64
	make   func(p *inProcess, collection string, body func(name, value string) string) func(tb testing.TB)
}{
	{"get", 10, func(p *inProcess, collection string, _ func(name, value string) string) func(testing.TB) {
		return repeat(newCaller(p, 200, "GET", collection+"/c"))
	}},
	{"list", 40, func(p *inProcess, collection string, _ func(name, value string) string) func(testing.TB) {
		return repeat(newCaller(p, 200, "GET", collection))
	}},
	{"create", 130, func(p *inProcess, collection string, body func(name, value string) string) func(testing.TB) {
		c, n := newCaller(p, 201, "POST", collection, "Content-Type", "application/json"), 0
		return func(tb testing.TB) { n++; c.send(tb, body(fmt.Sprintf("n%d", n), "v")) }
	}},
	{"patch", 190, func(p *inProcess, collection string, body func(name, value string) string) func(testing.TB) {
		c, n := newCaller(p, 200, "PATCH", collection+"/c", "Content-Type", "application/merge-patch+json"), 0
		return func(tb testing.TB) { n++; c.send(tb, fmt.Sprintf(`{"data":{"key":"p%d"}}`, n)) }
	}},
	{"apply", ifRaced(220, 280), func(p *inProcess, collection string, body func(name, value string) string) func(testing.TB) {
		c, n := newCaller(p, 200, "PATCH", collection+"/c?fieldManager=m&force=true", "Content-Type", "application/apply-patch+yaml"), 0
		return func(tb testing.TB) { n++; c.send(tb, body("c", fmt.Sprint(n))) }
	}},
}

// kite returns a custom resource with the data of a config map.
func kite(name, value string) string {
	return fmt.Sprintf(`{"kind":"Kite","apiVersion":"toys.example.com/v1","metadata":{"name":%q},"data":{"key":%q,"other":"text"}}`, name, value)
}

// withKites returns a server with the config map c, and a custom resource with the same name and
// data.
func withKites(tb testing.TB) *inProcess {
	tb.Helper()
	p := newInProcess(tb)
	install(tb, p.Server, kites(tb, kiteVersion("v1", `"data":{"type":"object","additionalProperties":{"type":"string"}}`, true, "")))
	p.mustDo("POST", maps, configMap("c", "v"))
	p.mustDo("POST", "/apis/toys.example.com/v1/namespaces/ns/kites", kite("c", "v"))
	for _, path := range []string{maps, "/apis/toys.example.com/v1/namespaces/ns/kites"} { // waits until the caches are loaded
		p.mustDo("GET", path, "")
	}
	return p
}

// TestCustomAllocations checks that each verb allocates at most its allocs.
func TestCustomAllocations(t *testing.T) {
	p := withKites(measured{t})
	for _, v := range customVerbs {
		call := v.make(p, "/apis/toys.example.com/v1/namespaces/ns/kites", kite)
		call(t)
		if got := testing.AllocsPerRun(20, func() { call(t) }); got > v.allocs {
			t.Errorf("%s: got %v allocations, want at most %v", v.name, got, v.allocs)
		}
	}
}

func BenchmarkCustom(b *testing.B) {
	for _, v := range customVerbs {
		for _, of := range []struct {
			kind, collection string
			body             func(name, value string) string
		}{{"configmap", maps, configMap}, {"custom", "/apis/toys.example.com/v1/namespaces/ns/kites", kite}} {
			b.Run("verb="+v.name+"/kind="+of.kind, func(b *testing.B) {
				call := v.make(withKites(b), of.collection, of.body)
				call(b)
				b.ReportAllocs()
				for b.Loop() {
					call(b)
				}
			})
		}
	}
}
