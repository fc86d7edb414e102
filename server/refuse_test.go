package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
)

// maxHeader is how long a request's headers may be, path included, in bytes.
const maxHeader = 64 << 10

// newStrict makes a server where strangers may do nothing.
func newStrict(tb testing.TB) *inProcess {
	s, err := server.New(server.Config{Storage: server.StorageMemory, DataDir: tb.TempDir(), SecurePort: server.NoPort, HTTPPort: server.AnyPort})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return &inProcess{s, tb}
}

// refused sends a request a few times and returns the code and length of its answer, and what it costs: the least
// bytes and objects allocated of all times, as others allocate meanwhile.
func (p *inProcess) refused(make func() *http.Request) (code, length int, bytes, allocs uint64) {
	var before, after runtime.MemStats
	for i := range 4 {
		r, w := make(), &sink{header: http.Header{}}
		runtime.ReadMemStats(&before)
		p.Handler().ServeHTTP(w, r)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; i == 0 || n < bytes {
			bytes, allocs = n, after.Mallocs-before.Mallocs
		}
		code, length = w.code, w.size
	}
	return code, length, bytes, allocs
}

func TestX(t *testing.T) {
	p := newStrict(t)
	for _, tt := range []struct{ path, header string }{
		{"/x", ""}, {"/api/v1/pods", ""}, {"/api/v1/pods", "application/yaml"}, {"/api/v1/pods", "application/vnd.kubernetes.protobuf"}, {"/api/v1/pods?pretty=1", ""},
		{"/" + strings.Repeat("<", 60000), ""},
		{"/" + strings.Repeat("<", 60000), "application/yaml"},
		{"/" + strings.Repeat("<", 60000) + "?pretty=1", ""},
	} {
		code, n, b, a := p.refused(func() *http.Request { return p.request("GET", tt.path, nil, "Accept", tt.header) })
		t.Log(fmt.Sprintf("%.30s", tt.path), tt.header, code, n, b, a)
	}
	_ = httptest.NewRecorder
}
