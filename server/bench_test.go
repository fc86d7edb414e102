package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// sink is a ResponseWriter that discards the body and supports deadlines, as the connections of a
// server do.
type sink struct {
	header http.Header
	code   int
	size   int
}

func (s *sink) Header() http.Header              { return s.header }
func (s *sink) WriteHeader(code int)             { s.code = code }
func (s *sink) Write(p []byte) (int, error)      { s.size += len(p); return len(p), nil }
func (s *sink) Flush()                           {}
func (s *sink) SetReadDeadline(time.Time) error  { return nil }
func (s *sink) SetWriteDeadline(time.Time) error { return nil }

// caller sends one request repeatedly to the handler of a server, without a network.
type caller struct {
	h    http.Handler
	r    *http.Request
	w    sink
	body *strings.Reader
	want int
}

func newCaller(p *inProcess, want int, method, target string, header ...string) *caller {
	c := &caller{h: p.Handler(), want: want, w: sink{header: http.Header{}}, body: strings.NewReader("")}
	c.r = p.request(method, target, nil, append([]string{"User-Agent", "bench", "Accept", "application/json", "Accept-Encoding", "gzip"}, header...)...)
	return c
}

// send sends body; it fails the test if the answer has another code than expected.
func (c *caller) send(tb testing.TB, body string) {
	clear(c.w.header)
	c.w.code, c.w.size = 0, 0
	c.r.Body, c.r.ContentLength = http.NoBody, 0
	if body != "" {
		c.body.Reset(body)
		c.r.Body, c.r.ContentLength = io.NopCloser(c.body), int64(len(body))
	}
	c.h.ServeHTTP(&c.w, c.r)
	if c.w.code != c.want {
		tb.Fatalf("%s %s: got %d, want %d", c.r.Method, c.r.URL, c.w.code, c.want)
	}
}

const podBody = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"labels":{"app":"bench","tier":"web"}},"spec":{"containers":[` +
	`{"name":"web","image":"nginx:1.25","ports":[{"containerPort":80}],"env":[{"name":"A","value":"b"},{"name":"C","value":"d"}],` +
	`"resources":{"limits":{"cpu":"1","memory":"128Mi"},"requests":{"cpu":"100m","memory":"64Mi"}},` +
	`"livenessProbe":{"httpGet":{"path":"/healthz","port":80},"periodSeconds":5}}],"nodeSelector":{"disk":"ssd"}}}`

func configMap(name, value string) string {
	return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q},"data":{"key":%q,"other":"text"}}`, name, value)
}

// mustDo fails the test unless a request succeeds.
func (p *inProcess) mustDo(method, target, body string) {
	p.TB.Helper()
	if code, answer := p.do(method, target, body); code >= 300 {
		p.TB.Fatalf("%s %s: %d %s", method, target, code, answer)
	}
}

const maps = "/api/v1/namespaces/ns/configmaps"

// verbs are the requests that are measured. make returns a function that sends the request, and is
// called repeatedly. allocs is the largest number of allocations.
var verbs = []struct {
	name   string
	allocs float64
	make   func(p *inProcess) func(tb testing.TB)
}{
	{"get/rv=0", 10, func(p *inProcess) func(testing.TB) {
		return repeat(newCaller(p, 200, "GET", maps+"/c?resourceVersion=0"))
	}},
	{"get/rv=none", 10, func(p *inProcess) func(testing.TB) { return repeat(newCaller(p, 200, "GET", maps+"/c")) }},
	{"get/form=protobuf", 11, func(p *inProcess) func(testing.TB) {
		return repeat(newCaller(p, 200, "GET", maps+"/c", "Accept", "application/vnd.kubernetes.protobuf"))
	}},
	{"get/found=no", 24, func(p *inProcess) func(testing.TB) { return repeat(newCaller(p, 404, "GET", maps+"/none")) }},
	{"list/items=500/rv=0", 40, func(p *inProcess) func(testing.TB) {
		return repeat(newCaller(p, 200, "GET", "/api/v1/pods?resourceVersion=0"))
	}},
	{"list/items=500/rv=none", 40, func(p *inProcess) func(testing.TB) { return repeat(newCaller(p, 200, "GET", "/api/v1/pods")) }},
	{"list/items=500/form=protobuf", 40, func(p *inProcess) func(testing.TB) {
		return repeat(newCaller(p, 200, "GET", "/api/v1/pods", "Accept", "application/vnd.kubernetes.protobuf"))
	}},
	{"list/items=500/form=partial", 40, func(p *inProcess) func(testing.TB) {
		return repeat(newCaller(p, 200, "GET", "/api/v1/pods", "Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"))
	}},
	{"list/items=500/drop=managedFields", 40, func(p *inProcess) func(testing.TB) {
		return repeat(newCaller(p, 200, "GET", "/api/v1/pods", "Accept", "application/json"+dropping))
	}},
	{"list/items=500/selector=labels", 60, func(p *inProcess) func(testing.TB) {
		return repeat(newCaller(p, 200, "GET", "/api/v1/pods?labelSelector=app%3Dbench"))
	}},
	{"create/kind=configmap", 95, func(p *inProcess) func(testing.TB) {
		c, n := newCaller(p, 201, "POST", maps, "Content-Type", "application/json"), 0
		return func(tb testing.TB) { n++; c.send(tb, configMap(fmt.Sprintf("n%d", n), "v")) }
	}},
	{"create/kind=pod", 210, func(p *inProcess) func(testing.TB) {
		c, n := newCaller(p, 201, "POST", "/api/v1/namespaces/ns/pods", "Content-Type", "application/json"), 0
		return func(tb testing.TB) { n++; c.send(tb, fmt.Sprintf(podBody, fmt.Sprintf("n%d", n))) }
	}},
	{"update/kind=configmap", 130, func(p *inProcess) func(testing.TB) {
		c, n := newCaller(p, 200, "PUT", maps+"/c", "Content-Type", "application/json"), 0
		return func(tb testing.TB) { n++; c.send(tb, configMap("c", fmt.Sprint(n))) }
	}},
	{"update/kind=pod", 260, func(p *inProcess) func(testing.TB) {
		p.mustDo("POST", "/api/v1/namespaces/ns/pods", fmt.Sprintf(podBody, "u"))
		c, n := newCaller(p, 200, "PUT", "/api/v1/namespaces/ns/pods/u", "Content-Type", "application/json"), 0
		return func(tb testing.TB) {
			n++
			c.send(tb, strings.Replace(fmt.Sprintf(podBody, "u"), "bench", fmt.Sprint(n), 1))
		}
	}},
	{"patch/form=merge/kind=pod", 282, func(p *inProcess) func(testing.TB) {
		p.mustDo("POST", "/api/v1/namespaces/ns/pods", fmt.Sprintf(podBody, "m"))
		c, n := newCaller(p, 200, "PATCH", "/api/v1/namespaces/ns/pods/m", "Content-Type", "application/merge-patch+json"), 0
		return func(tb testing.TB) { n++; c.send(tb, fmt.Sprintf(`{"metadata":{"labels":{"tier":"p%d"}}}`, n)) }
	}},
	{"patch/form=strategic/kind=pod", 322, func(p *inProcess) func(testing.TB) {
		p.mustDo("POST", "/api/v1/namespaces/ns/pods", fmt.Sprintf(podBody, "s"))
		c, n := newCaller(p, 200, "PATCH", "/api/v1/namespaces/ns/pods/s", "Content-Type", "application/strategic-merge-patch+json"), 0
		return func(tb testing.TB) { n++; c.send(tb, fmt.Sprintf(`{"metadata":{"labels":{"tier":"p%d"}}}`, n)) }
	}},
	{"patch/form=merge", 150, func(p *inProcess) func(testing.TB) {
		c, n := newCaller(p, 200, "PATCH", maps+"/c", "Content-Type", "application/merge-patch+json"), 0
		return func(tb testing.TB) { n++; c.send(tb, fmt.Sprintf(`{"data":{"key":"p%d"}}`, n)) }
	}},
	{"apply/kind=configmap/fields=20", ifRaced(200, 245), func(p *inProcess) func(testing.TB) {
		p.mustDo("POST", maps, configMap("many", "v"))
		c, n := newCaller(p, 200, "PATCH", maps+"/many?fieldManager=m", "Content-Type", "application/apply-patch+yaml"), 0
		others := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"many"},"data":` + strings.TrimSuffix(entries(`"key%d":"v"`, 19), "}")
		return func(tb testing.TB) { n++; c.send(tb, others+fmt.Sprintf(`,"last":"%d"}}`, n)) }
	}},
	{"discovery/form=list", 10, func(p *inProcess) func(testing.TB) { return repeat(newCaller(p, 200, "GET", "/api/v1")) }},
	{"discovery/form=groups", 15, func(p *inProcess) func(testing.TB) { return repeat(newCaller(p, 200, "GET", "/apis")) }},
	{"discovery/form=aggregated", 18, func(p *inProcess) func(testing.TB) {
		return repeat(newCaller(p, 200, "GET", "/apis", "Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"))
	}},
	{"version", 20, func(p *inProcess) func(testing.TB) { return repeat(newCaller(p, 200, "GET", "/version")) }},
	{"openapi/version=3", 20, func(p *inProcess) func(testing.TB) { return repeat(newCaller(p, 200, "GET", "/openapi/v3/api/v1")) }},
	{"openapi/encoding=identity", 20, func(p *inProcess) func(testing.TB) {
		return repeat(newCaller(p, 200, "GET", "/openapi/v3/api/v1", "Accept-Encoding", "identity"))
	}},
	{"openapi/form=protobuf", 20, func(p *inProcess) func(testing.TB) {
		return repeat(newCaller(p, 200, "GET", "/openapi/v3/api/v1", "Accept", "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"))
	}},
}

func repeat(c *caller) func(testing.TB) { return func(tb testing.TB) { c.send(tb, "") } }

// filled returns a server with a number of pods and the config map "c".
func filled(tb testing.TB, pods int) *inProcess {
	tb.Helper()
	p := newInProcess(tb)
	p.mustDo("POST", maps, configMap("c", "v"))
	p.mustDo("POST", "/api/v1/namespaces", `{"metadata":{"name":"full"}}`)
	for i := range pods {
		p.mustDo("POST", "/api/v1/namespaces/full/pods", fmt.Sprintf(podBody, fmt.Sprintf("p%d", i)))
	}
	for _, path := range []string{maps, "/api/v1/pods"} { // waits until the caches are loaded
		p.mustDo("GET", path, "")
	}
	return p
}

func BenchmarkHandler(b *testing.B) {
	for _, v := range verbs {
		b.Run("verb="+v.name, func(b *testing.B) {
			call := v.make(filled(b, 500))
			call(b) // the first call fills caches and pools
			b.ReportAllocs()
			for b.Loop() {
				call(b)
			}
		})
	}
}

// TestHandlerAllocations checks that each verb allocates at most its allocs.
func TestHandlerAllocations(t *testing.T) {
	p := filled(measured{t}, 100) // enough pods that an allocation for each would exceed the limit of a list
	for _, v := range verbs {
		call := v.make(p)
		call(t)
		if got := testing.AllocsPerRun(20, func() { call(t) }); got > v.allocs {
			t.Errorf("%s: got %v allocations, want at most %v", v.name, got, v.allocs)
		}
	}
}

// streamWriter counts the events that a watch writes.
type streamWriter struct {
	sink
	events func(n int)
}

func (s *streamWriter) Write(p []byte) (int, error) {
	s.events(strings.Count(string(p), `{"type":`))
	return len(p), nil
}

// BenchmarkWatch measures the time from an update until all watchers have its event.
func BenchmarkWatch(b *testing.B) {
	for _, watchers := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("watchers=%d", watchers), func(b *testing.B) {
			p := newInProcess(b)
			p.mustDo("POST", maps, configMap("c", "v"))
			got := make(chan int, watchers*2)
			ctx, cancel := context.WithCancel(b.Context())
			ended := make(chan struct{})
			for range watchers {
				r := httptest.NewRequestWithContext(ctx, "GET", maps+"?watch=1", nil)
				go func() {
					p.Handler().ServeHTTP(&streamWriter{sink{header: http.Header{}}, func(n int) { got <- n }}, r)
					ended <- struct{}{}
				}()
			}
			wait := func(n int) {
				for n > 0 {
					n -= <-got
				}
			}
			wait(watchers) // the initial events
			c, n := newCaller(p, 200, "PUT", maps+"/c", "Content-Type", "application/json"), 0
			b.ReportAllocs()
			for b.Loop() {
				n++
				c.send(b, configMap("c", fmt.Sprint(n)))
				wait(watchers)
			}
			cancel()
			for range watchers {
				<-ended
			}
		})
	}
}

// BenchmarkStore measures the same operations without HTTP, as a controller in the process uses
// them.
func BenchmarkStore(b *testing.B) {
	p := filled(b, 500)
	store := p.Store(meta.GroupResource{Resource: "configmaps"})
	b.Run("verb=get", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := store.Get(b.Context(), "ns", "c", "0"); err != nil {
				b.Fatal(err)
			}
		}
	})
	pods := p.Store(meta.GroupResource{Resource: "pods"})
	b.Run("verb=list/items=500", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if list, err := pods.List(b.Context(), &request.ListRequest{}); err != nil || list.Len != 500 {
				b.Fatal(list, err)
			}
		}
	})
}
