package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/servertest"
)

// refused is a request that is refused. allocs is the largest number of allocations.
type refused struct {
	name, target string
	code         int
	header       []string
	allocs       float64
}

// refusals are refused before any object is read. The first one, for comparison, is a read that is
// served.
var refusals = []refused{
	{"read", "/api/v1/namespaces/ns", 200, []string{"Authorization", "Bearer admin"}, 20}, // reads the store while the cache of namespaces is loading
	{"nobody", "/api/v1/namespaces/kube-system/secrets/admin", 403, nil, 5},
	{"wrong token", "/api/v1/namespaces/kube-system/secrets/admin", 401, []string{"Authorization", "Bearer wrong"}, 4},
	{"wrong JWT", "/api/v1/namespaces/kube-system/secrets/admin", 401,
		[]string{"Authorization", "Bearer eyJhbGciOiJFUzI1NiJ9." + strings.Repeat("eyJhIjoxfQ", 60) + "." + strings.Repeat("c2ln", 22)}, 5},
	{"object", "/api/v1/namespaces/kube-system/secrets/admin", 403, []string{"Authorization", "Bearer known"}, 5},
	{"list", "/api/v1/secrets", 403, []string{"Authorization", "Bearer known"}, 5},
	{"watch", "/api/v1/secrets?watch=true", 403, []string{"Authorization", "Bearer known"}, 5},
	{"path", "/metrics", 403, []string{"Authorization", "Bearer known"}, 5},
	{"impersonation", "/api/v1/secrets", 403, []string{"Authorization", "Bearer known", "Impersonate-User", "admin"}, 8},
}

// newRefusing returns a server with the default chain of filters.
func newRefusing(tb testing.TB) *inProcess {
	tokens := filepath.Join(tb.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("admin,admin,1,system:masters\nknown,known,2\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	s, err := servertest.New(tb, server.Config{
		DataDir: tb.TempDir(), Storage: server.StorageConfig{Engine: server.StorageMemory},
		Serving:        server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
		Authentication: identity.Config{TokenAuthFile: tokens},
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	p := &inProcess{&handled{Server: s, TB: tb}}
	if code, body := p.do("POST", "/api/v1/namespaces", `{"metadata":{"name":"ns"}}`, "Authorization", "Bearer admin"); code != 201 {
		tb.Fatal(code, body)
	}
	return p
}

// TestRefusalAllocations checks that each refusal allocates at most its allocs.
func TestRefusalAllocations(t *testing.T) {
	p := newRefusing(measured{t})
	for _, tt := range refusals {
		send := tt.sender(t, p)
		send()
		if got, most := testing.AllocsPerRun(20, send), ifRaced(tt.allocs, tt.allocs+2); got > most {
			t.Errorf("%s: got %v allocations, want at most %v", tt.name, got, most)
		}
	}
}

func BenchmarkRefusal(b *testing.B) {
	for _, tt := range refusals {
		b.Run("request="+tt.name, func(b *testing.B) {
			send := tt.sender(b, newRefusing(b))
			send()
			b.ReportAllocs()
			for b.Loop() {
				send()
			}
		})
	}
}

// sender returns a function that sends the request to p. It sets the headers each time, because
// authenticators remove credentials.
func (q *refused) sender(tb testing.TB, p *inProcess) func() {
	c := newCaller(p, q.code, "GET", q.target)
	accept := []string{"*/*"}
	return func() {
		clear(c.r.Header)
		c.r.Header["Accept"] = accept
		for i := 0; i < len(q.header); i += 2 {
			c.r.Header[q.header[i]] = q.header[i+1 : i+2 : i+2]
		}
		c.send(tb, "")
	}
}
