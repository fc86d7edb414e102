package filters

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestTerminations counts the requests that a filter or the aggregator answered instead of a
// handler.
func TestTerminations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, reg := testConfig(t), prometheus.NewRegistry()
		c.Gate = NewInFlight(Limits{Reads: 1}, nil)
		c.Authorizer, c.RequestTimeout = authz.AlwaysAllow(), time.Minute
		c.Metrics = NewMetrics(reg)
		serve(c, ok, "alice-token", "GET", "/api/v1/pods") // after this success pods are counted by name
		var wg sync.WaitGroup
		wg.Go(func() {
			serve(c, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "alice-token", "GET", "/api/v1/pods")
		})
		synctest.Wait()
		serve(c, ok, "alice-token", "GET", "/api/v1/pods")
		serve(c, ok, "alice-token", "GET", "/api/v1/invented")
		wg.Wait()
		serve(c, func(w http.ResponseWriter, r *http.Request) {
			Terminated(r)
			http.Error(w, "", http.StatusServiceUnavailable)
		}, "alice-token", "GET", "/version")
		serve(c, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }, "alice-token", "GET", "/version")
		want := []string{
			"429 - LIST /// cluster: 1", "429 - LIST /v1/pods/ cluster: 1", "503 - GET /// -: 1 by the aggregator", "504 - LIST /v1/pods/ cluster: 1",
		}
		if got := gather(t, reg, "apiserver_request_terminations_total"); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		c.Metrics.Forget(meta.GroupResource{Resource: "pods"})
		if got := gather(t, reg, "apiserver_request_terminations_total"); len(got) != 2 {
			t.Errorf("after pods are forgotten: got %q", got)
		}
	})
}
