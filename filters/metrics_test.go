package filters

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

func metricsConfig(t *testing.T) (Config, *prometheus.Registry) {
	c := testConfig(t)
	return c, c.Registry.(*prometheus.Registry)
}

// TestMetricsForget deletes the series of a resource that is removed while a request for it is
// being served.
func TestMetricsForget(t *testing.T) {
	c, reg := metricsConfig(t)
	gone := meta.GroupResource{Group: "apps", Resource: "deployments"}
	exists := true
	c.Metrics.Exists = func(gvr meta.GroupVersionResource, _ string) bool { return exists || gvr.GroupResource() != gone }
	ok := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) }
	const deployment, pod = "/apis/apps/v1/namespaces/n/deployments/d", "/api/v1/namespaces/n/pods/p"
	for range 10 { // some series become shared, some stay fresh
		serve(c, ok, "admin-token", "GET", deployment)
		serve(c, ok, "admin-token", "GET", pod)
	}
	serve(c, ok, "admin-token", "DELETE", deployment)
	serve(c, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(200)
		exists = false
		c.Metrics.Forget(gone)
	}, "admin-token", "GET", "/apis/apps/v1/deployments?watch=1")
	want := []string{"200 - GET /v1/pods/ resource: 10", "200 - WATCH /// cluster: 1"}
	if got := gather(t, reg, "apiserver_request_total"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if strings.Contains(f.String(), "deployments") {
			t.Errorf("%s still has a series for the resource", f.GetName())
		}
	}
	exists = true
	serve(c, ok, "admin-token", "GET", deployment)
	if got := gather(t, reg, "apiserver_request_total"); !slices.Contains(got, "200 - GET apps/v1/deployments/ resource: 1") {
		t.Errorf("after it has come back: got %q", got)
	}
}

func TestMetrics(t *testing.T) {
	c, reg := metricsConfig(t)
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	apply := []string{"Content-Type", "application/apply-patch+yaml"}
	for _, tt := range []struct {
		h                     http.HandlerFunc
		token, method, target string
		headers               []string
	}{
		// A resource for which no request has succeeded is counted without its name ...
		{status(404), "admin-token", "GET", "/apis/made.up/v1/namespaces/n/things/t", nil},
		{status(200), "", "GET", "/apis/made.up/v2/things", nil},
		// ... and with its name afterwards, also its 404s.
		{status(200), "admin-token", "GET", "/apis/apps/v1/namespaces/n/deployments/d", nil},
		{status(200), "admin-token", "GET", "/apis/apps/v1/namespaces/n/deployments/d", nil},
		{status(404), "admin-token", "GET", "/apis/apps/v1/namespaces/n/deployments/d", nil},
		{status(200), "admin-token", "GET", "/apis/apps/v1/deployments?dryRun=All", nil}, // dryRun says nothing about a read
		{status(200), "admin-token", "GET", "/apis/apps/v1/namespaces/n/deployments", nil},
		{status(200), "admin-token", "GET", "/apis/apps/v1/namespaces/n/deployments?watch=1", nil},
		{status(201), "admin-token", "POST", "/apis/apps/v1/namespaces/n/deployments?dryRun=All", nil},
		{status(201), "admin-token", "PATCH", "/apis/apps/v1/namespaces/n/deployments/d", apply},
		{status(200), "admin-token", "PUT", "/apis/apps/v1/namespaces/n/deployments/d/scale", nil},
		{status(200), "admin-token", "DELETE", "/apis/apps/v1/namespaces/n/deployments?dryRun=", nil},
		{status(200), "admin-token", "GET", "/api/v1/namespaces/n/pods/p/exec", nil},
		{status(200), "admin-token", "BREW", "/api/v1/namespaces/n/pods/p", nil},
		{func(http.ResponseWriter, *http.Request) { panic("oh") }, "admin-token", "GET", "/healthz", nil},
		{status(299), "admin-token", "HEAD", "/version", nil}, // a code that HTTP does not define
		{status(400), "admin-token", "GET", "/apis/made.up/v3/things", nil},
	} {
		serve(c, tt.h, tt.token, tt.method, tt.target, tt.headers...)
	}
	// code dry_run verb group/version/resource/subresource scope: value
	want := []string{
		"200 - CONNECT /v1/pods/exec resource: 1",
		"200 - DELETECOLLECTION apps/v1/deployments/ namespace: 1",
		"200 - GET apps/v1/deployments/ resource: 2",
		"200 - HEAD /// -: 1",
		"200 - LIST apps/v1/deployments/ cluster: 1",
		"200 - LIST apps/v1/deployments/ namespace: 1",
		"200 - PUT apps/v1/deployments/scale resource: 1",
		"200 - WATCH apps/v1/deployments/ namespace: 1",
		"200 - other /v1/pods/ resource: 1",
		"201 - APPLY apps/v1/deployments/ resource: 1",
		"201 All POST apps/v1/deployments/ resource: 1",
		"400 - LIST /// cluster: 1",
		"403 - LIST /// cluster: 1",
		"404 - GET /// resource: 1",
		"404 - GET apps/v1/deployments/ resource: 1",
		"500 - GET /// -: 1",
	}
	if got := gather(t, reg, "apiserver_request_total"); !slices.Equal(got, want) {
		t.Errorf("apiserver_request_total: got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, line := range gather(t, reg, "apiserver_response_sizes") {
		if !strings.Contains(line, "GET") && !strings.Contains(line, "LIST") {
			t.Errorf("apiserver_response_sizes: got %s, want reads only", line)
		}
	}
	for _, name := range []string{"apiserver_request_duration_seconds", "apiserver_request_sli_duration_seconds", "apiserver_response_sizes",
		"apiserver_longrunning_requests", "apiserver_current_inflight_requests"} {
		if len(gather(t, reg, name)) == 0 {
			t.Errorf("%s: got no samples", name)
		}
	}
}

// TestMetricsSLI: the time of a webhook is not part of the SLI, and a dry run does not count there.
func TestMetricsSLI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, reg := metricsConfig(t)
		slow := func(w http.ResponseWriter, r *http.Request) {
			_, span := request.Begin(r.Context(), request.SpanMutatingWebhook, "a webhook")
			time.Sleep(2 * time.Second)
			span.End()
			time.Sleep(time.Second)
			ok(w, r)
		}
		for _, query := range []string{"", "?dryRun=All"} {
			serve(c, slow, "admin-token", "POST", "/api/v1/namespaces/n/pods"+query)
		}
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, f := range families {
			for _, m := range f.Metric {
				got[f.GetName()] += fmt.Sprint(m.GetHistogram().GetSampleCount(), " in ", m.GetHistogram().GetSampleSum(), "; ")
			}
		}
		for name, want := range map[string]string{
			"apiserver_request_duration_seconds": "1 in 3; 1 in 3; ", "apiserver_request_sli_duration_seconds": "1 in 1; ",
		} {
			if got[name] != want {
				t.Errorf("%s: got %q, want %q", name, got[name], want)
			}
		}
	})
}

// TestMetricsAborts counts the responses that break off, with the code that the client got.
func TestMetricsAborts(t *testing.T) {
	c, reg := metricsConfig(t)
	for _, h := range []http.HandlerFunc{
		ok,
		func(http.ResponseWriter, *http.Request) { panic("before the answer") },
		func(w http.ResponseWriter, r *http.Request) { ok(w, r); panic("in the answer") },
	} {
		func() {
			defer func() { _ = recover() }()
			serve(c, h, "alice-token", "GET", "/api/v1/namespaces/n/pods/p")
		}()
	}
	for name, want := range map[string][]string{
		"apiserver_request_aborts_total": {" - GET /v1/pods/ resource: 1"},
		"apiserver_request_total":        {"200 - GET /v1/pods/ resource: 2", "500 - GET /v1/pods/ resource: 1"},
	} {
		if got := gather(t, reg, name); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// gather returns the samples of a counter or gauge, sorted; of a histogram, the counts.
func gather(t *testing.T, reg *prometheus.Registry, name string) []string {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			l := map[string]string{}
			for _, pair := range m.GetLabel() {
				l[pair.GetName()] = pair.GetValue()
			}
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			line := fmt.Sprintf("%s %s %s %s/%s/%s/%s %s: %v", l["code"], cmp.Or(l["dry_run"], "-"), l["verb"],
				l["group"], l["version"], l["resource"], l["subresource"], cmp.Or(l["scope"], "-"), value)
			if by := l["component"]; by != "" && by != "apiserver" {
				line += " by the " + by
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

func TestLongRunningGauge(t *testing.T) {
	c, reg := metricsConfig(t)
	watch := func(w http.ResponseWriter, r *http.Request) {
		running := 0
		for _, line := range gather(t, reg, "apiserver_longrunning_requests") {
			if strings.HasSuffix(line, ": 1") {
				running++
			}
		}
		if running != 1 {
			t.Errorf("during a watch: got %d series at 1, want 1", running)
		}
		ok(w, r)
	}
	// The first time the resource is not known yet.
	serve(c, watch, "admin-token", "GET", "/api/v1/pods?watch=1")
	serve(c, watch, "admin-token", "GET", "/api/v1/pods?watch=1")
	for _, line := range gather(t, reg, "apiserver_longrunning_requests") {
		if !strings.HasSuffix(line, ": 0") {
			t.Errorf("after all watches: got %s, want 0", line)
		}
	}
}

// TestRegistryTwice: chains with one registry count together, and one name cannot have two
// meanings.
func TestRegistryTwice(t *testing.T) {
	reg := prometheus.NewRegistry()
	opts := prometheus.CounterOpts{Name: "requests_total", Help: "Requests."}
	one, other := register(reg, prometheus.NewCounter(opts)), register(reg, prometheus.NewCounter(opts))
	one.Inc()
	other.Inc()
	var m dto.Metric
	if err := one.Write(&m); err != nil || m.GetCounter().GetValue() != 2 {
		t.Errorf("got %v, %v, want 2", m.GetCounter(), err)
	}
	defer func() {
		if recover() == nil {
			t.Error("another metric of the name has been registered")
		}
	}()
	register(reg, prometheus.NewCounterVec(opts, []string{"code"}))
}

// TestMetricsOfStrangers bounds the number of series for forbidden requests, for preflights, for
// requests that find nothing, and for requests with invented names.
func TestMetricsOfStrangers(t *testing.T) {
	c, reg := metricsConfig(t)
	c.Metrics.Exists = func(gvr meta.GroupVersionResource, subresource string) bool {
		return gvr == meta.GroupVersionResource{Version: "v1", Resource: "pods"} && (subresource == "" || subresource == "exec")
	}
	codes := []int{200, 201, 299, 302, 404, 409, 599, 777}
	var h http.HandlerFunc = func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.Header.Get("X-N"))
		w.WriteHeader(codes[n%len(codes)])
		if n%3 == 0 {
			panic(http.ErrAbortHandler)
		}
	}
	chain := Chain(h, c.Steps()...)
	count := func() (series, size int) {
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			series += len(f.GetMetric())
		}
		w := httptest.NewRecorder()
		promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		return series, w.Body.Len()
	}
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"}
	for n := range 1000 {
		for _, path := range []string{
			fmt.Sprintf("/x%d", n), fmt.Sprintf("/api/v%d/pods", n), fmt.Sprintf("/apis/g%d/v1/pods", n), fmt.Sprintf("/api/v1/things%d", n),
			fmt.Sprintf("/api/v1/namespaces/n%d/pods/p%d/s%d", n, n, n), fmt.Sprintf("/api/v1/namespaces/n%d/pods/p%d", n, n),
			fmt.Sprintf("/api/v1/watch/namespaces/n%d/pods", n), fmt.Sprintf("/api/v1/proxy/namespaces/n%d/pods/p%d", n, n),
			fmt.Sprintf("/api/v1/namespaces/n%d/pods/p/exec", n), "/healthz",
		} {
			method := methods[n%len(methods)]
			if n%11 == 0 {
				method = fmt.Sprintf("BREW%d", n)
			}
			r := anyRequest([]string{"", "admin-token", fmt.Sprintf("token%d", n)}[n/7%3], method, path)
			r.URL.RawQuery = []string{"", "dryRun=All", fmt.Sprintf("dryRun=%d&watch=1", n)}[n/5%3]
			r.Header.Set("Content-Type", []string{"application/apply-patch+yaml", fmt.Sprintf("x/y%d", n)}[n%2])
			r.Header.Set("User-Agent", fmt.Sprintf("agent%d", n))
			r.Header.Set("X-N", strconv.Itoa(n))
			if n%2 == 0 {
				r.Header.Set("Origin", "https://ok.example.com")
			}
			func() {
				defer func() { _ = recover() }()
				chain.ServeHTTP(&sink{header: http.Header{}}, r)
			}()
		}
	}
	series, size := count()
	if series > 1000 || size > 1<<20 {
		t.Errorf("got %d series, %d bytes, want at most 1000, 1 MiB", series, size)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if got := l.GetValue(); strings.ContainsAny(got, "0123456789") && l.GetName() != "code" && got != "v1" {
					t.Fatalf("%s: %s is %q", f.GetName(), l.GetName(), got)
				}
			}
		}
	}
}

func TestSeriesConcurrent(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg)
	resources := strings.Split("a b c d e f g h i j k l m n o p", " ")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				for _, name := range resources {
					m.count(m.series(labels{verb: "GET", resource: name}, true), 200)
				}
			}
		})
	}
	wg.Wait()
	got := gather(t, reg, "apiserver_request_total")
	for _, name := range resources {
		if want := fmt.Sprintf("200 - GET //%s/ -: 800", name); !slices.Contains(got, want) {
			t.Errorf("requests for %s: want %q among %q", name, want, got)
		}
	}
	if got := len(*m.shared.Load()); got < len(resources)-1 {
		t.Errorf("known: got %d, want about %d", got, len(resources))
	}
}

// TestImpersonationMetrics counts impersonations and the authorizations for them.
func TestImpersonationMetrics(t *testing.T) {
	c, reg := metricsConfig(t)
	ok := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) }
	serve(c, ok, "admin-token", "GET", "/api/v1/pods", "Impersonate-User", "jane") // in user-info, the mode that is tried first
	serve(c, ok, "alice-token", "GET", "/api/v1/pods", "Impersonate-User", "jane")
	serve(c, ok, "alice-token", "GET", "/api/v1/pods")
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		name, ours := strings.CutPrefix(f.GetName(), "apiserver_impersonation_")
		for _, m := range f.GetMetric() {
			if ours {
				for _, l := range m.GetLabel() {
					name += " " + l.GetValue()
				}
				got[name] = m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
				name, _ = strings.CutPrefix(f.GetName(), "apiserver_impersonation_")
			}
		}
	}
	want := map[string]float64{
		"attempts_total allowed user-info": 1, "attempts_total denied ": 1,
		"attempts_duration_seconds allowed user-info": 1, "attempts_duration_seconds denied ": 1,
		"authorization_attempts_total allowed user-info": 2, "authorization_attempts_total denied user-info": 1, "authorization_attempts_total denied legacy": 1,
		"authorization_attempts_duration_seconds allowed user-info": 2, "authorization_attempts_duration_seconds denied user-info": 1,
		"authorization_attempts_duration_seconds denied legacy": 1,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
