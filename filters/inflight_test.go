package filters

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/coracle-project/coracle/filters/authz"
)

func TestInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testConfig(t)
		c.InFlight = &InFlight{Reads: 2, Writes: 1, Long: 1}
		c.Authorizer = authz.AlwaysAllow()
		release := make(chan struct{})
		hold := func(w http.ResponseWriter, r *http.Request) { <-release; ok(w, r) }
		var wg sync.WaitGroup
		for _, method := range []string{"GET", "GET", "POST"} {
			wg.Go(func() { serve(c, hold, "alice-token", method, "/api/v1/pods") })
		}
		wg.Go(func() { serve(c, hold, "alice-token", "GET", "/api/v1/pods?watch=1") })
		synctest.Wait()
		if r, w := c.InFlight.Running(); r != 2 || w != 1 {
			t.Fatalf("Running: got %d, %d, want 2, 1", r, w)
		}
		for _, tt := range []struct {
			token, method, target string
			want                  int
		}{
			{"alice-token", "GET", "/api/v1/pods", 429},
			{"alice-token", "GET", "/api/v1/namespaces/n/pods/p", 429},
			{"alice-token", "PUT", "/api/v1/namespaces/n/pods/p", 429},
			{"alice-token", "GET", "/api/v1/nodes?watch=1", 429},
			{"admin-token", "GET", "/api/v1/nodes?watch=1", 200},
			{"admin-token", "GET", "/api/v1/pods", 200},
			{"admin-token", "DELETE", "/api/v1/pods", 200},
		} {
			w := serve(c, ok, tt.token, tt.method, tt.target)
			if w.Code != tt.want || (w.Code == 429) != (w.Header().Get("Retry-After") == "1") {
				t.Errorf("%s %s as %s: got %d %v, want %d", tt.method, tt.target, tt.token, w.Code, w.Header(), tt.want)
			}
		}
		close(release)
		wg.Wait()
		if w := serve(c, ok, "alice-token", "GET", "/api/v1/pods"); w.Code != 200 {
			t.Errorf("after release: got %d, want 200", w.Code)
		}
		if r, w := c.InFlight.Running(); r != 0 || w != 0 {
			t.Errorf("Running: got %d, %d, want none", r, w)
		}
	})
}

// TestStrangersInFlight: strangers have a quarter of the places for themselves, and none for health is needed.
func TestStrangersInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testConfig(t)
		c.InFlight = &InFlight{Reads: 8, Writes: 4, Long: 4}
		c.Authorizer = authz.AlwaysAllow()
		release := make(chan struct{})
		hold := func(w http.ResponseWriter, r *http.Request) { <-release; ok(w, r) }
		var wg sync.WaitGroup
		held := []string{"GET /api/v1/pods", "GET /version", "POST /api/v1/pods", "GET /api/v1/pods?watch=1", "GET /livez", "GET /readyz/ping"}
		for _, what := range held {
			method, target, _ := strings.Cut(what, " ")
			wg.Go(func() { serve(c, hold, "", method, target) })
		}
		synctest.Wait()
		for _, tt := range []struct {
			token, method, target string
			want                  int
		}{
			{"", "GET", "/api/v1/pods", 429},
			{"", "PUT", "/api/v1/namespaces/n/pods/p", 429},
			{"", "GET", "/api/v1/nodes?watch=1", 429},
			{"", "POST", "/api/v1/namespaces/n/pods/p/exec", 429},
			{"", "GET", "/healthz", 200},
			{"", "GET", "/livez", 200},
			{"", "GET", "/readyz/etcd", 200},
			{"", "GET", "/readyzx", 429},
			{"alice-token", "GET", "/api/v1/pods", 200},
			{"alice-token", "POST", "/api/v1/pods", 200},
			{"alice-token", "GET", "/api/v1/nodes?watch=1", 200},
			{"admin-token", "GET", "/api/v1/pods", 200},
		} {
			if w := serve(c, ok, tt.token, tt.method, tt.target); w.Code != tt.want {
				t.Errorf("%s %s as %q: got %d, want %d", tt.method, tt.target, tt.token, w.Code, tt.want)
			}
		}
		close(release)
		wg.Wait()
	})
}

// TestRefusalsBounded drops refusals when too many are being written, and those of strangers cost nobody else theirs.
func TestRefusalsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testConfig(t)
		release, unread := make(chan struct{}), true
		c.Fail = func(w http.ResponseWriter, r *http.Request, err error) {
			if unread {
				<-release
			}
			fail(w, r, err)
		}
		h := Chain(http.HandlerFunc(ok), c.Steps()...)
		refused := func(token, method, target string) (code int, dropped bool) {
			r, w := anyRequest(token, method, target), &sink{header: http.Header{}}
			defer func() { dropped = recover() == http.ErrAbortHandler }()
			h.ServeHTTP(w, r)
			return w.code, false
		}
		var wg sync.WaitGroup
		for i := range maxRefusals {
			what := [][3]string{{"nobody", "GET", "/api/v1/pods"}, {"", "GET", "/api/v1/watch"}, {"nobody", "POST", "/api/v1/pods"}}[i%3]
			wg.Go(func() { refused(what[0], what[1], what[2]) })
		}
		synctest.Wait()
		unread = false
		if code, dropped := refused("nobody", "GET", "/api/v1/pods"); !dropped || code != 0 {
			t.Errorf("one too many: got %d, dropped: %v", code, dropped)
		}
		for _, tt := range []struct {
			token, method, target string
			want                  int
		}{
			{"alice-token", "GET", "/api/v1/pods", 200},
			{"alice-token", "POST", "/api/v1/pods", 403},
			{"alice-token", "POST", "/api/v1/namespaces/n/pods/p/exec", 403},
			{"", "GET", "/version", 403}, // in a place of its own
		} {
			if code, dropped := refused(tt.token, tt.method, tt.target); code != tt.want || dropped {
				t.Errorf("%s %s as %q: got %d, dropped: %v, want %d", tt.method, tt.target, tt.token, code, dropped, tt.want)
			}
		}
		close(release)
		wg.Wait()
		if code, dropped := refused("nobody", "GET", "/api/v1/pods"); code != 401 || dropped {
			t.Errorf("afterwards: got %d, dropped: %v", code, dropped)
		}
	})
}
