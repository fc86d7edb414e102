package filters

import (
	"net/http"
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
