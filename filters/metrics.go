package filters

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// maxSeries bounds how many different requests (by resource, verb, and so on) are told apart; all further ones are counted
// without resource. It is far above what a server with many custom resources has.
const maxSeries = 20000

var (
	durationBuckets = []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60}
	sliBuckets      = []float64{0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60}
	sizeBuckets     = prometheus.ExponentialBuckets(1000, 10, 7)
)

// Metrics counts and times requests for Prometheus, under the names and labels that Kubernetes uses.
//
// A name that a client made up must not become a label value for good, so a resource, with its version and subresource, is
// only told apart when a request for it was authorized and has succeeded, and if it exists. All other labels are of fixed sets.
//
// Looking label values up in Prometheus costs more than the rest of the chain. So what belongs to one set of values
// is looked up once and found again through a map of our own, which takes no lock to read.
type Metrics struct {
	// Exists, if set, reports whether there is such a resource, or subresource if that is not "", at the moment. What does
	// not exist is counted without its name. It is asked before a resource is told apart, and set before the first request.
	Exists func(gvr meta.GroupVersionResource, subresource string) bool

	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	sli       *prometheus.HistogramVec
	sizes     *prometheus.HistogramVec
	long      *prometheus.GaugeVec
	aborts    *prometheus.CounterVec

	terminations *prometheus.CounterVec

	known atomic.Pointer[map[labels]*series] // the map is never changed, only replaced
	mu    struct {
		sync.Mutex
		fresh map[labels]*series // not yet in known
		asked int                // how often fresh ones were asked for
	}
}

// labels tell requests apart.
type labels struct {
	verb, group, version, resource, subresource, scope string
	dryRun                                             bool
}

// series holds the metrics of requests with the same labels.
type series struct {
	labels              labels
	duration, sli, size prometheus.Observer // size is nil but for reads
	long                prometheus.Gauge
	codes               atomic.Pointer[[]codeCounter] // replaced under Metrics.mu, never changed; few
	gone                bool                          // forgotten; guarded by Metrics.mu
}

type codeCounter struct {
	code    int
	counter prometheus.Counter
}

// NewMetrics registers what is counted of requests.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	names := []string{"verb", "group", "version", "resource", "subresource", "scope", "component"}
	dry := append([]string{"dry_run"}, names...)
	counter := func(name, help string, labels []string) *prometheus.CounterVec {
		return register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
	}
	histogram := func(name, help string, buckets []float64, labels []string) *prometheus.HistogramVec {
		return register(reg, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels))
	}
	m := &Metrics{
		requests: counter("apiserver_request_total",
			"Requests, by what was asked for and the code of the answer.", append([]string{"code"}, dry...)),
		durations: histogram("apiserver_request_duration_seconds",
			"Time from the arrival of a request to the end of its answer, in seconds.", durationBuckets, dry),
		sli: histogram("apiserver_request_sli_duration_seconds",
			"Time from the arrival of a request to the end of its answer, without waiting for others' services, in seconds.", sliBuckets, names),
		sizes: histogram("apiserver_response_sizes",
			"Size of the answers to reading requests, in bytes as sent.", sizeBuckets, names),
		long: register(reg, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "apiserver_longrunning_requests",
			Help: "Long-running requests being served."}, names)),
		aborts:       counter("apiserver_request_aborts_total", "Requests whose connection the server cut.", names[:6]),
		terminations: register(reg, newTerminations()),
	}
	m.known.Store(&map[labels]*series{})
	m.mu.fresh = map[labels]*series{}
	return m
}

// Filter counts requests when they have been served. There is no such filter if m is nil.
// Order: after Info. Cost: one map look-up, a counter and three histograms; no allocation.
func (m *Metrics) Filter(long func(*request.Info) bool) Filter {
	if m == nil {
		return nil
	}
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			x := of(r)
			if long(&x.info) {
				m.begin(x, r)
			}
			returned := false
			defer func() { m.observe(x, r, returned) }()
			next(w, r)
			returned = true
		}
	}
}

// begin counts a request, a long one, among those being served. It is a function of its own for the sake of the filter's frame.
func (m *Metrics) begin(x *exchange, r *http.Request) {
	x.running = m.series(labelsOf(&x.info, r), false)
	x.running.long.Inc()
}

// observe counts one request, a long one as while it was running if nothing more has become known of it. returned is false if
// its handler panicked, which Recover answers if nothing has been said yet.
func (m *Metrics) observe(x *exchange, r *http.Request, returned bool) {
	code, aborted := x.response.status(), false
	if !returned {
		aborted = x.info.Status != 0
		if !aborted {
			code = http.StatusInternalServerError
		}
	}
	s, learn := x.running, x.response.authorized && code < http.StatusBadRequest
	if s != nil {
		s.long.Dec()
	}
	if s == nil || learn {
		s = m.series(labelsOf(&x.info, r), learn)
	}
	if aborted {
		m.abort(s)
	}
	if t := x.response.terminated; t != nobody {
		m.terminate(s, t, code)
	}
	seconds := x.took().Seconds()
	s.duration.Observe(seconds)
	s.sli.Observe(seconds)
	if s.size != nil {
		s.size.Observe(float64(x.info.Written))
	}
	m.count(s, code)
}

// series returns what belongs to l. Labels that are new become known if learn is set; else the request counts as one
// without resource.
func (m *Metrics) series(l labels, learn bool) *series {
	known := *m.known.Load()
	if s := known[l]; s != nil {
		return s
	}
	nameless := l
	nameless.group, nameless.version, nameless.resource, nameless.subresource = "", "", "", ""
	if s := known[nameless]; s != nil && !learn { // refusals come in great numbers
		return s
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.freshLocked(l); s != nil {
		return s
	}
	if !learn || len(*m.known.Load())+len(m.mu.fresh) >= maxSeries || !m.exists(l) {
		l = nameless
		if s := m.freshLocked(l); s != nil {
			return s
		}
	}
	s := m.make(l)
	m.mu.fresh[l] = s
	return s
}

func (m *Metrics) exists(l labels) bool {
	return m.Exists == nil || l.resource == "" ||
		m.Exists(meta.GroupVersionResource{Group: l.group, Version: l.version, Resource: l.resource}, l.subresource)
}

// Forget deletes what was counted of a resource, which must not exist any more: a request for it that is still being
// served is then counted without its name, or not at all. Cost: all that is known is looked through.
func (m *Metrics) Forget(gr meta.GroupResource) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := make(map[labels]*series, len(*m.known.Load()))
	for l, s := range *m.known.Load() {
		if l.group == gr.Group && l.resource == gr.Resource {
			m.delete(l, s)
		} else {
			next[l] = s
		}
	}
	m.known.Store(&next)
	for l, s := range m.mu.fresh {
		if l.group == gr.Group && l.resource == gr.Resource {
			m.delete(l, s)
			delete(m.mu.fresh, l)
		}
	}
	m.terminations.DeletePartialMatch(prometheus.Labels{"group": gr.Group, "resource": gr.Resource})
}

// delete takes the series of l out of all metrics. The caller holds mu.
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

// freshLocked looks among all series. When it has been asked for fresh ones as often as there are others to copy, it
// makes them known, so that the copying costs no more than the looking did.
func (m *Metrics) freshLocked(l labels) *series {
	known := *m.known.Load()
	if s := known[l]; s != nil {
		return s
	}
	s := m.mu.fresh[l]
	if s == nil {
		return nil
	}
	if m.mu.asked++; m.mu.asked > len(known) {
		next := maps.Clone(known)
		maps.Copy(next, m.mu.fresh)
		m.known.Store(&next)
		clear(m.mu.fresh)
		m.mu.asked = 0
	}
	return s
}

func (m *Metrics) make(l labels) *series {
	values := l.values()
	s := &series{
		labels:   l,
		duration: m.durations.WithLabelValues(append([]string{l.dryRunValue()}, values...)...),
		sli:      m.sli.WithLabelValues(values...),
		long:     m.long.WithLabelValues(values...),
	}
	if l.verb == "GET" || l.verb == "LIST" {
		s.size = m.sizes.WithLabelValues(values...)
	}
	s.codes.Store(new([]codeCounter))
	return s
}

// count counts an answer with code. A code without a meaning, which only servers behind this one send, counts as the
// first of its class.
func (m *Metrics) count(s *series, code int) {
	if http.StatusText(code) == "" {
		code -= code % 100
	}
	if c := s.of(code); c != nil {
		c.Inc()
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := s.of(code)
	if c == nil && !s.gone {
		c = m.requests.WithLabelValues(append([]string{strconv.Itoa(code), s.labels.dryRunValue()}, s.labels.values()...)...)
		next := append(slices.Clip(*s.codes.Load()), codeCounter{code, c})
		s.codes.Store(&next)
	}
	if c != nil {
		c.Inc()
	}
}

// of returns the counter of a code, nil if there is none yet.
func (s *series) of(code int) prometheus.Counter {
	known := *s.codes.Load()
	for i := range known {
		if known[i].code == code {
			return known[i].counter
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

// labelsOf returns the labels of a request as Kubernetes has them.
func labelsOf(i *request.Info, r *http.Request) labels {
	l := labels{group: i.Group, version: i.Version, resource: i.Resource, subresource: i.Subresource, verb: verbLabel(i, r)}
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

// values are the labels of most metrics.
func (l *labels) values() []string {
	return []string{l.verb, l.group, l.version, l.resource, l.subresource, l.scope, "apiserver"}
}

func (l *labels) dryRunValue() string {
	if l.dryRun {
		return "All"
	}
	return ""
}

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
