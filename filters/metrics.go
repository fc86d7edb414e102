package filters

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file counts requests for Prometheus. Metrics.Filter is a step of the chain; server calls
// NewMetrics, and Forget when a resource is removed.

// maxSeries is the largest number of combinations of labels (resource, verb, and so on). Further
// combinations are counted without their resource. It is far above what a server with many custom
// resources needs.
const maxSeries = 20000

// Bucket bounds in seconds, as in kube-apiserver, and in bytes.
var (
	durationBuckets = []float64{
		0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
	}
	sliBuckets  = []float64{0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60}
	sizeBuckets = prometheus.ExponentialBuckets(1000, 10, 7)
)

// Metrics counts and times requests for Prometheus, under Kubernetes' names and labels.
//
// Clients must not be able to create label values. So a resource, with its version and subresource,
// becomes a label value only when a request for it has been authorized and has succeeded, and if it
// exists. All other labels have fixed sets of values.
//
// Looking up label values in Prometheus costs more than the rest of the chain. So the metrics of
// each combination of labels are looked up once, and found again through a map that is read without
// a lock.
type Metrics struct {
	// Exists, if set, reports whether the resource currently exists, and the subresource if
	// subresource is not "". Requests for other resources are counted without a name. It is called
	// before a new combination of labels is kept, and is set before the first request.
	Exists func(gvr meta.GroupVersionResource, subresource string) bool

	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	sli       *prometheus.HistogramVec
	sizes     *prometheus.HistogramVec
	long      *prometheus.GaugeVec
	aborts    *prometheus.CounterVec

	terminations *prometheus.CounterVec

	shared atomic.Pointer[map[labels]*series] // replaced, never changed
	mu     struct {
		sync.Mutex
		fresh map[labels]*series // series that are not yet in shared
		asked int                // lookups in fresh since shared was replaced
	}
}

// labels are the label values of a request.
type labels struct {
	verb, group, version, resource, subresource, scope string
	dryRun                                             bool
}

// series holds the metrics of all requests with the same labels. A histogram has some 25 lines on
// /metrics. So it is made when it first counts: a running watch has none yet.
type series struct {
	labels labels
	times  atomic.Pointer[times]         // nil until the first request has ended; set under Metrics.mu
	codes  atomic.Pointer[[]codeCounter] // replaced under Metrics.mu, never changed; few entries
	gone   bool                          // Forget has deleted it; guarded by Metrics.mu
}

// times holds the histograms of a series.
type times struct {
	duration prometheus.Observer
	sli      prometheus.Observer // nil for dry runs
	size     prometheus.Observer // nil except for reads
}

// codeCounter counts the responses of a series with one status code.
type codeCounter struct {
	code    int
	counter prometheus.Counter
}

// NewMetrics registers the metrics with reg, which may be nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	names := []string{"verb", "group", "version", "resource", "subresource", "scope", "component"}
	dry := append([]string{"dry_run"}, names...)
	counter := func(name, help string, labels []string) *prometheus.CounterVec {
		return register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
	}
	histogram := func(name, help string, buckets []float64, labels []string) *prometheus.HistogramVec {
		return register(
			reg, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels),
		)
	}
	m := &Metrics{
		requests: counter("apiserver_request_total",
			"Number of requests, by verb, resource, scope, dry run and status code.", append([]string{"code"}, dry...)),
		durations: histogram("apiserver_request_duration_seconds",
			"Time from the arrival of a request to the end of its answer, in seconds.", durationBuckets, dry),
		sli: histogram("apiserver_request_sli_duration_seconds",
			"Time from the arrival of a request that is no dry run to the end of its answer, "+
				"without the time of admission webhooks and queues, in seconds.", sliBuckets, names),
		sizes: histogram("apiserver_response_sizes",
			"Size of the answers to GET and LIST, in bytes as sent.", sizeBuckets, names),
		long: register(reg, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "apiserver_longrunning_requests",
			Help: "Number of running long-running requests, by verb and resource."}, names)),
		aborts:       counter("apiserver_request_aborts_total", "Number of requests that the server ended by closing the connection.", names[:6]),
		terminations: register(reg, newTerminations()),
	}
	m.shared.Store(&map[labels]*series{})
	m.mu.fresh = map[labels]*series{}
	return m
}

// Filter counts each request when it has been served. If m is nil, there is no such filter.
// Order: after Info. Cost: one map look-up, a counter and three histograms; no allocation.
func (m *Metrics) Filter() Filter {
	if m == nil {
		return nil
	}
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			x, returned := exchangeOf(r), false
			defer func() { m.observe(x, r, returned) }()
			next(w, r)
			returned = true
		}
	}
}

// begin counts a long-running request, which is authorized, as being served. Those of the server
// itself are counted without their resource, like their times. If m is nil, it does nothing.
func (m *Metrics) begin(x *exchange, r *http.Request) {
	if m == nil {
		return
	}
	l, own := labelsOf(&x.info, r), x.info.User.IsAPIServer()
	if own {
		l = l.nameless()
	}
	x.longSeries = m.series(l, !own)
	m.running(x.longSeries, 1)
}

// running adds to the number of long-running requests that are being served.
func (m *Metrics) running(s *series, more float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !s.gone {
		m.long.WithLabelValues(s.labels.values()...).Add(more)
	}
}

// observe counts a request that has been served. A long-running request is counted in the series in
// which it ran, unless its resource can be learned only now. returned is false if the handler
// panicked; Recover answers 500 if no response had begun.
func (m *Metrics) observe(x *exchange, r *http.Request, returned bool) {
	code, aborted := x.response.status(), false
	if !returned {
		aborted = x.info.Status != 0
		if !aborted {
			code = http.StatusInternalServerError
		}
	}
	s, learn := x.longSeries, x.response.authorized && code < http.StatusBadRequest
	if s != nil {
		m.running(s, -1)
	}
	if s == nil || learn {
		s = m.series(labelsOf(&x.info, r), learn)
	}
	if aborted {
		m.abort(s)
	}
	if t := x.response.terminated; t != notTerminated {
		m.terminate(s, t, code)
	}
	m.time(s, x)
	m.count(s, code)
}

// time observes how long a request took, and the size of its answer. The requests of the server
// itself are observed without their resource: its loops ask for most resources once, and each would
// have histograms that nobody reads.
func (m *Metrics) time(s *series, x *exchange) {
	if x.info.User.IsAPIServer() {
		s = m.series(s.labels.nameless(), false)
	}
	t := s.times.Load()
	if t == nil {
		if t = m.timesOf(s); t == nil {
			return
		}
	}
	seconds := x.took().Seconds()
	t.duration.Observe(seconds)
	if t.sli != nil {
		t.sli.Observe(seconds - waited(&x.info).Seconds())
	}
	if t.size != nil {
		t.size.Observe(float64(x.info.Written))
	}
}

// waited returns for how long the request has waited for admission webhooks and for a seat.
func waited(i *request.Info) (sum time.Duration) {
	for kind, took := range i.Latencies {
		switch kind {
		case request.SpanMutatingWebhook, request.SpanValidatingWebhook, request.SpanSeat:
			sum += took
		}
	}
	return sum
}

// timesOf makes the histograms of s. It returns nil if Forget has deleted s.
func (m *Metrics) timesOf(s *series) *times {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := s.times.Load(); t != nil || s.gone {
		return t
	}
	l := &s.labels
	values := l.values()
	t := &times{duration: m.durations.WithLabelValues(append([]string{l.dryRunValue()}, values...)...)}
	if !l.dryRun {
		t.sli = m.sli.WithLabelValues(values...)
	}
	if l.verb == "GET" || l.verb == "LIST" {
		t.size = m.sizes.WithLabelValues(values...)
	}
	s.times.Store(t)
	return t
}

// series returns the series of l. If l is new and learn is false, or l cannot be kept, it returns
// the series of l without the resource.
func (m *Metrics) series(l labels, learn bool) *series {
	shared := *m.shared.Load()
	if s := shared[l]; s != nil {
		return s
	}
	nameless := l.nameless()
	if s := shared[nameless]; s != nil && !learn { // refusals come in great numbers
		return s
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.freshLocked(l); s != nil {
		return s
	}
	if !learn || len(*m.shared.Load())+len(m.mu.fresh) >= maxSeries || !m.exists(l) {
		l = nameless
		if s := m.freshLocked(l); s != nil {
			return s
		}
	}
	s := &series{labels: l}
	s.codes.Store(new([]codeCounter))
	m.mu.fresh[l] = s
	return s
}

// exists reports whether l's resource exists, or l has none.
func (m *Metrics) exists(l labels) bool {
	return m.Exists == nil || l.resource == "" ||
		m.Exists(meta.GroupVersionResource{Group: l.group, Version: l.version, Resource: l.resource}, l.subresource)
}

// Forget deletes all series of a resource, which must no longer exist. A request for it that is
// still being served is then counted without its name, or not at all. Cost: a pass over all series.
func (m *Metrics) Forget(gr meta.GroupResource) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := make(map[labels]*series, len(*m.shared.Load()))
	for l, s := range *m.shared.Load() {
		if l.group == gr.Group && l.resource == gr.Resource {
			m.delete(l, s)
		} else {
			next[l] = s
		}
	}
	m.shared.Store(&next)
	for l, s := range m.mu.fresh {
		if l.group == gr.Group && l.resource == gr.Resource {
			m.delete(l, s)
			delete(m.mu.fresh, l)
		}
	}
	m.terminations.DeletePartialMatch(prometheus.Labels{"group": gr.Group, "resource": gr.Resource})
}

// delete removes the series of l from all metrics. The caller holds mu.
func (m *Metrics) delete(l labels, s *series) {
	s.gone = true
	values := l.values()
	dry := append([]string{l.dryRunValue()}, values...)
	for _, c := range *s.codes.Load() {
		m.requests.DeleteLabelValues(append([]string{strconv.Itoa(c.code)}, dry...)...)
	}
	m.durations.DeleteLabelValues(dry...)
	m.sli.DeleteLabelValues(values...)
	m.sizes.DeleteLabelValues(values...)
	m.long.DeleteLabelValues(values...)
	m.aborts.DeleteLabelValues(values[:6]...)
}

// freshLocked looks for l among all series. When as many lookups have ended in fresh as shared has
// series, it merges fresh into a new shared map: so the copying costs no more than the lookups did.
// The caller holds mu.
func (m *Metrics) freshLocked(l labels) *series {
	shared := *m.shared.Load()
	if s := shared[l]; s != nil {
		return s
	}
	s := m.mu.fresh[l]
	if s == nil {
		return nil
	}
	if m.mu.asked++; m.mu.asked > len(shared) {
		next := maps.Clone(shared)
		maps.Copy(next, m.mu.fresh)
		m.shared.Store(&next)
		clear(m.mu.fresh)
		m.mu.asked = 0
	}
	return s
}

// count counts a response with a status code. A code that has no meaning in HTTP, which only other
// servers send, counts as the first code of its class (299 as 200), so that the number of label
// values is bounded.
func (m *Metrics) count(s *series, code int) {
	if http.StatusText(code) == "" {
		code -= code % 100
	}
	if c := s.counterOf(code); c != nil {
		c.Inc()
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := s.counterOf(code)
	if c == nil && !s.gone {
		c = m.requests.WithLabelValues(
			append([]string{strconv.Itoa(code), s.labels.dryRunValue()}, s.labels.values()...)...,
		)
		next := append(slices.Clip(*s.codes.Load()), codeCounter{code, c})
		s.codes.Store(&next)
	}
	if c != nil {
		c.Inc()
	}
}

// counterOf returns the counter of a code, nil if there is none yet.
func (s *series) counterOf(code int) prometheus.Counter {
	codes := *s.codes.Load()
	for i := range codes {
		if codes[i].code == code {
			return codes[i].counter
		}
	}
	return nil
}

// abort counts a request whose connection was cut.
func (m *Metrics) abort(s *series) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !s.gone {
		m.aborts.WithLabelValues(s.labels.values()[:6]...).Inc()
	}
}

// labelsOf returns the labels of a request as kube-apiserver chooses them.
func labelsOf(i *request.Info, r *http.Request) labels {
	l := labels{
		group: i.Group, version: i.Version, resource: i.Resource, subresource: i.Subresource, verb: verbLabel(i, r),
	}
	switch {
	case i.Name != "" || i.Verb == "create":
		l.scope = "resource"
	case i.Namespace != "":
		l.scope = "namespace"
	case i.IsResource:
		l.scope = "cluster"
	}
	l.dryRun = r.Method != http.MethodGet && i.Query.Get("dryRun") == "All"
	return l
}

// nameless returns l without the resource.
func (l labels) nameless() labels {
	l.group, l.version, l.resource, l.subresource = "", "", "", ""
	return l
}

// values returns the label values that most metrics have, in the order of their labels.
func (l *labels) values() []string {
	return []string{l.verb, l.group, l.version, l.resource, l.subresource, l.scope, "apiserver"}
}

// dryRunValue returns the value of the label dry_run.
func (l *labels) dryRunValue() string {
	if l.dryRun {
		return "All"
	}
	return ""
}

// verbLabel returns the verb as metrics show it, in upper case: an HTTP method, LIST, WATCH, APPLY,
// DELETECOLLECTION, or CONNECT for subresources that stream, whatever the method. All other
// methods, which clients may invent, are "other".
func verbLabel(i *request.Info, r *http.Request) string {
	switch i.Subresource {
	case "attach", "exec", "proxy", "portforward":
		return "CONNECT"
	}
	switch i.Verb {
	case "get":
		return "GET"
	case "list":
		return "LIST"
	case "watch":
		return "WATCH"
	case "create", "post":
		return "POST"
	case "update", "put":
		return "PUT"
	case "patch":
		if strings.HasPrefix(request.Header(r.Header, "Content-Type"), "application/apply-patch+") {
			return "APPLY"
		}
		return "PATCH"
	case "delete":
		return "DELETE"
	case "deletecollection":
		return "DELETECOLLECTION"
	case "head", "options":
		return strings.ToUpper(i.Verb)
	}
	return "other"
}
