package filters

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var _ = addExits([]exit{
	{step: "drain", name: "ending", config: func(c *Config) { endDrain(c.Drain) }, token: "alice-token", request: exitGet, code: 503},
	{step: "drain", name: "ending, too many refusals", config: func(c *Config) { noRefusal(c); endDrain(c.Drain) }, request: exitGet},
	{step: "drain", name: "refusing",
		config: func(c *Config) { _ = c.Drain.Refuse(context.Background()) }, token: "alice-token", request: exitGet, code: 429},
})

func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testConfig(t)
		release := make(chan struct{})
		var watchErr error
		h := func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("watch") {
				<-r.Context().Done()
				watchErr = r.Context().Err()
				return
			}
			<-release
			w.WriteHeader(http.StatusAccepted)
		}
		var wg sync.WaitGroup
		var short *httptest.ResponseRecorder
		wg.Go(func() { short = serve(c, h, "admin-token", "GET", "/api/v1/pods") })
		wg.Go(func() { serve(c, h, "admin-token", "GET", "/api/v1/pods?watch=1") })
		synctest.Wait()
		if s, l := c.Drain.Running(); s != 1 || l != 1 {
			t.Fatalf("Running: got %d, %d, want 1, 1", s, l)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Drain.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close with a request running: got %v, want DeadlineExceeded", err)
		}
		if !errors.Is(watchErr, context.Canceled) {
			t.Errorf("watch ended with %v, want Canceled", watchErr)
		}
		late := serve(c, h, "admin-token", "GET", "/api/v1/pods")
		if late.Code != 503 || late.Header().Get("Retry-After") != "1" || late.Header().Get("Connection") != "close" {
			t.Errorf("late request: got %d %v", late.Code, late.Header())
		}

		done := make(chan error)
		go func() { done <- c.Drain.Close(t.Context()) }()
		synctest.Wait()
		close(release)
		if err := <-done; err != nil {
			t.Errorf("Close: %v", err)
		}
		wg.Wait()
		if short.Code != http.StatusAccepted {
			t.Errorf("request that was running: got %d, want %d", short.Code, http.StatusAccepted)
		}
	})
}

// TestRefuse: new requests get 429, short ones under way are served, and long ones go on until
// Close ends them one after the other.
func TestRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testConfig(t)
		c.Drain = NewDrain()
		c.Drain.Spread = time.Minute
		release := make(chan struct{})
		var ends []time.Duration
		var mu sync.Mutex
		begin := time.Now()
		h := func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Query().Has("watch"):
				<-r.Context().Done()
				mu.Lock()
				ends = append(ends, time.Since(begin))
				mu.Unlock()
			case r.URL.Path == "/api/v1/pods":
				<-release
			}
		}
		var wg sync.WaitGroup
		wg.Go(func() { serve(c, h, "admin-token", "GET", "/api/v1/pods") })
		const watches = 20
		for range watches {
			wg.Go(func() { serve(c, h, "admin-token", "GET", "/api/v1/pods?watch=1") })
		}
		synctest.Wait()
		refused := make(chan error, 1)
		go func() { refused <- c.Drain.Refuse(t.Context()) }()
		synctest.Wait()
		late := serve(c, h, "admin-token", "GET", "/version")
		if late.Code != 429 || late.Header().Get("Retry-After") != "5" || late.Header().Get("Connection") != "close" || late.Body.String() != shuttingDown+"\n" {
			t.Errorf("a new request: got %d %v %s", late.Code, late.Header(), late.Body)
		}
		for _, path := range []string{"/readyz", "/metrics"} {
			if w := serve(c, h, "admin-token", "GET", path); w.Code != 200 {
				t.Errorf("%s: got %d", path, w.Code)
			}
		}
		select {
		case err := <-refused:
			t.Fatalf("Refuse returned %v while a request was served", err)
		default:
		}
		close(release)
		if err := <-refused; err != nil {
			t.Errorf("Refuse: %v", err)
		}
		if _, long := c.Drain.Running(); long != watches {
			t.Errorf("got %d long-running requests left, want %d", long, watches)
		}
		if err := c.Drain.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		wg.Wait()
		slices.Sort(ends)
		if len(ends) != watches || ends[0] == ends[watches-1] || ends[watches-1] > time.Minute {
			t.Errorf("the watches ended after %v, want all at times of their own within a minute", ends)
		}
	})
}

// TestDrainRace: a request is either refused or waited for, whatever the timing.
func TestDrainRace(t *testing.T) {
	c := testConfig(t)
	for range 200 {
		c.Drain = NewDrain()
		chain := Chain(http.HandlerFunc(ok), c.Steps()...)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 5 {
					r := httptest.NewRequest("GET", "/api/v1/pods", nil)
					r.Header.Set("Authorization", "Bearer admin-token")
					chain.ServeHTTP(httptest.NewRecorder(), r)
				}
			})
		}
		if err := c.Drain.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
	}
}
