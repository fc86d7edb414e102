package filters

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/filters/authz"
)

func TestInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testConfig(t)
		c.Gate = NewInFlight(Limits{Reads: 2, Writes: 1, Long: 1}, nil)
		c.Authorizer = authz.AlwaysAllow()
		release := make(chan struct{})
		hold := func(w http.ResponseWriter, r *http.Request) { <-release; ok(w, r) }
		var wg sync.WaitGroup
		for _, method := range []string{"GET", "GET", "POST"} {
			wg.Go(func() { serve(c, hold, "alice-token", method, "/api/v1/pods") })
		}
		wg.Go(func() { serve(c, hold, "alice-token", "GET", "/api/v1/pods?watch=1") })
		synctest.Wait()
		if r, w := running(c); r != 2 || w != 1 {
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
		if r, w := running(c); r != 0 || w != 0 {
			t.Errorf("Running: got %d, %d, want none", r, w)
		}
	})
}

// TestSeparateSeats: requests to another server have seats of their own, and give back the seats
// that they had.
func TestSeparateSeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testConfig(t)
		c.Gate = NewInFlight(Limits{Reads: 2, Writes: 1, Long: 1}, nil)
		c.Authorizer = authz.AlwaysAllow()
		release := make(chan struct{})
		one, other := Separate(c.Gate, longPath, fail), Separate(c.Gate, longPath, fail)
		hold := one(func(w http.ResponseWriter, r *http.Request) { <-release; ok(w, r) })
		var wg sync.WaitGroup
		for _, what := range []string{"GET /api/v1/pods", "GET /long", "GET /api/v1/pods", "POST /api/v1/pods"} {
			method, target, _ := strings.Cut(what, " ")
			wg.Go(func() { serve(c, hold, "alice-token", method, target) })
			synctest.Wait()
		}
		if r, w := running(c); r != 0 || w != 0 {
			t.Errorf("Running: got %d, %d, want none", r, w)
		}
		for _, tt := range []struct {
			by            http.HandlerFunc
			token, method string
			target        string
			want          int
		}{
			{one(ok), "alice-token", "GET", "/api/v1/pods", 429},
			{one(ok), "alice-token", "PUT", "/api/v1/namespaces/n/pods/p", 429},
			{one(ok), "alice-token", "GET", "/long", 429},
			{one(ok), "admin-token", "GET", "/api/v1/pods", 200},
			{one(ok), "", "GET", "/api/v1/pods", 200},
			{other(ok), "alice-token", "GET", "/api/v1/pods", 200},
			{other(ok), "alice-token", "GET", "/long", 200},
			{ok, "alice-token", "GET", "/api/v1/pods", 200},
			{ok, "alice-token", "POST", "/api/v1/pods", 200},
			{ok, "alice-token", "GET", "/api/v1/pods?watch=1", 200},
		} {
			w := serve(c, tt.by, tt.token, tt.method, tt.target)
			if w.Code != tt.want || (w.Code == 429) != (w.Header().Get("Retry-After") == "1") {
				t.Errorf("%s %s as %s: got %d %v, want %d", tt.method, tt.target, tt.token, w.Code, w.Header(), tt.want)
			}
		}
		close(release)
		wg.Wait()
		if w := serve(c, one(ok), "alice-token", "POST", "/api/v1/pods"); w.Code != 200 {
			t.Errorf("after release: got %d, want 200", w.Code)
		}
		if r, w := running(c); r != 0 || w != 0 {
			t.Errorf("afterwards: got %d, %d running, want none", r, w)
		}
	})
}

// running returns how many reading and writing requests run.
func running(c Config) (reads, writes int64) {
	f := c.Gate.(*InFlight)
	return f.users.reads.Load() + f.strangers.reads.Load(), f.users.writes.Load() + f.strangers.writes.Load()
}

func longPath(r *http.Request) bool { return r.URL.Path == "/long" }

// TestStrangersInFlight: strangers have a quarter of the seats for themselves, and health checks
// need none.
func TestStrangersInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testConfig(t)
		c.Gate = NewInFlight(Limits{Reads: 8, Writes: 4, Long: 4}, nil)
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
		if r, w := running(c); r != 2 || w != 1 {
			t.Errorf("Running: got %d, %d, want 2, 1", r, w)
		}
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

// TestNoLimits: a limit of zero is no limit, also for strangers.
func TestNoLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testConfig(t)
		c.Gate = NewInFlight(Limits{}, nil)
		c.Authorizer = authz.AlwaysAllow()
		release := make(chan struct{})
		served := 0
		var wg sync.WaitGroup
		for _, what := range []string{"GET /api/v1/pods", "POST /api/v1/pods", "GET /api/v1/pods?watch=1"} {
			method, target, _ := strings.Cut(what, " ")
			for _, token := range []string{"", "", "alice-token", "alice-token"} {
				wg.Go(func() {
					if w := serve(c, func(http.ResponseWriter, *http.Request) { <-release }, token, method, target); w.Code != 200 {
						t.Errorf("%s as %q: got %d, want 200", what, token, w.Code)
					}
				})
				served++
			}
		}
		synctest.Wait()
		if short, long := c.Drain.Running(); int(short+long) != served {
			t.Errorf("got %d requests at once, want %d", short+long, served)
		}
		close(release)
		wg.Wait()
	})
}

// deadlineRecorder is a connection that records its write deadlines and what is sent.
type deadlineRecorder struct {
	sink
	until   time.Time
	flushed bool
}

func (p *deadlineRecorder) SetWriteDeadline(t time.Time) error { p.until = t; return nil }
func (p *deadlineRecorder) Flush()                             { p.flushed = true }

// TestRefusalsWithManyGoroutines: with HTTP/1, a client has strangerTime to read a refusal. With
// HTTP/2 it has so little time only while there are many goroutines, because some of them may be
// refusals that nobody reads. A stranger's refusal is then counted until it has been sent.
func TestRefusalsWithManyGoroutines(t *testing.T) {
	for _, tt := range []struct {
		name             string
		major            int
		token, method    string
		many             bool
		hurried, flushed bool
	}{
		{"HTTP/1", 1, "alice-token", "POST", false, true, false},
		{"HTTP/1, many goroutines", 1, "nobody", "POST", true, true, false},
		{"HTTP/2", 2, "nobody", "POST", false, false, false},
		{"HTTP/2, many goroutines", 2, "nobody", "POST", true, true, true},
		{"a user's, many goroutines", 2, "alice-token", "POST", true, true, false},
		{"an answer, many goroutines", 2, "alice-token", "GET", true, false, false},
	} {
		runStill(t, tt.name, func(t *testing.T) {
			release := make(chan struct{})
			var wg sync.WaitGroup
			if tt.many {
				for range manyGoroutines {
					wg.Go(func() { <-release })
				}
			}
			r, w := anyRequest(tt.token, tt.method, "/api/v1/pods"), &deadlineRecorder{sink: sink{header: http.Header{}}}
			r.ProtoMajor = tt.major
			Chain(http.HandlerFunc(ok), testConfig(t).Steps()...).ServeHTTP(w, r)
			close(release)
			wg.Wait()
			if !w.until.IsZero() != tt.hurried || tt.hurried && time.Until(w.until) != strangerTime || w.flushed != tt.flushed {
				t.Errorf("got code %d, to be read within %v, flushed: %v", w.code, time.Until(w.until), w.flushed)
			}
		})
	}
}

// TestRefusalsBounded: when too many refusals are being written, further ones are broken off.
// Refusals of strangers do not displace those of users.
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
			wg.Go(func() {
				if code, dropped := refused(what[0], what[1], what[2]); code == 0 || dropped {
					t.Errorf("refusal %d: got %d, dropped: %v", i+1, code, dropped)
				}
			})
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
			{"", "GET", "/version", 403}, // counted separately
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
