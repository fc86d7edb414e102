package filters

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
	"unsafe"

	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/filters/authz/rbac"
	"github.com/coracle-project/coracle/router/request"
)

// sink is a ResponseWriter that costs nothing.
type sink struct {
	header http.Header
	code   int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(code int)        { s.code = code }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }

// SetReadDeadline makes sink look like a connection, which has deadlines.
func (s *sink) SetReadDeadline(time.Time) error  { return nil }
func (s *sink) SetWriteDeadline(time.Time) error { return nil }

func benchConfig(tb testing.TB) Config {
	c := testConfig(tb)
	c.GoawayChance = 0 // as by default
	c.Authorizer = authz.Union(authz.Privileged(request.GroupMasters), rbac.New(largePolicy()))
	return c
}

var credentials = []string{"Bearer alice-token"}

func get() *http.Request {
	r := httptest.NewRequest("GET", "/api/v1/namespaces/default/configmaps/c", nil)
	r.Header.Set("User-Agent", "bench")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Accept-Encoding", "gzip")
	return r
}

var noop = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })

// run returns a function that sends one authenticated GET through the whole chain.
func run(tb testing.TB) func() { return runWith(tb, benchConfig(tb)) }

// runWith is run with a configuration.
func runWith(tb testing.TB, c Config) func() {
	h := Chain(noop, c.Steps()...)
	r, w := get(), &sink{header: http.Header{}}
	return func() {
		clear(w.header)
		r.Header["Authorization"] = credentials
		w.code = 0
		h.ServeHTTP(w, r)
		if w.code != http.StatusOK {
			tb.Fatalf("got code %d, want 200", w.code)
		}
	}
}

// BenchmarkChain prints the cost of the chain for an authenticated GET and the share of each
// filter: its own cost around an empty handler, with a request that the filters before it have
// prepared.
func BenchmarkChain(b *testing.B) {
	b.Run("chain=whole", func(b *testing.B) {
		serve := run(b)
		b.ReportAllocs()
		for b.Loop() {
			serve()
		}
	})
	b.Run("chain=none", func(b *testing.B) {
		r, w := get(), &sink{header: http.Header{}}
		b.ReportAllocs()
		for b.Loop() {
			clear(w.header)
			noop.ServeHTTP(w, r)
		}
	})
	steps := benchConfig(b).Steps()
	for i, step := range steps {
		if step.Filter == nil { // the configuration does not use it
			continue
		}
		b.Run("filter="+step.Name, func(b *testing.B) {
			h, w := step.Filter(noop), &sink{header: http.Header{}}
			r := get()
			r.Header["Authorization"] = credentials
			var x *exchange
			if i > 0 {
				r, x = prepared(w, r, steps[:i])
			}
			b.ReportAllocs()
			for b.Loop() {
				clear(w.header)
				r.Header["Authorization"] = credentials
				if x == nil {
					h.ServeHTTP(w, r)
					continue
				}
				x.response.begun, x.info.Status = false, 0
				x.compressor = compressor{}
				h.ServeHTTP(&x.response, r)
			}
		})
	}
}

// prepared returns the request as the handler behind steps sees it.
func prepared(w http.ResponseWriter, r *http.Request, steps []Step) (*http.Request, *exchange) {
	var seen *http.Request
	Chain(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r }), steps...).ServeHTTP(w, r)
	x := exchangeOf(seen)
	// Begin has ended the old context with its request.
	fresh := new(exchange)
	to, from := &fresh.info, &x.info
	to.Attributes, to.APIPrefix, to.InNamespace, to.Parts, to.Query = from.Attributes, from.APIPrefix, from.InNamespace, from.Parts, from.Query
	to.AuditID, to.Received, to.UserAgent, to.Rights = from.AuditID, from.Received, from.UserAgent, from.Rights
	fresh.Start(context.Background(), &fresh.info)
	fresh.response.start(w, fresh)
	return seen.WithContext(fresh), fresh
}

// TestChainAllocs is the ceiling of the whole chain. Raise it only with the reason in the commit.
func TestChainAllocs(t *testing.T) {
	serve := run(t)
	serve()
	if got := testing.AllocsPerRun(1000, serve); got > 2 {
		t.Errorf("chain: got %v allocs, want at most 2", got)
	}
	// With its header of 8 bytes an exchange fills a block of 896; the next larger one is of 1024.
	if got := unsafe.Sizeof(exchange{}); got > 888 {
		t.Errorf("an exchange takes %d bytes, want at most 888", got)
	}
}
