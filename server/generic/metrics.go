package generic

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Metrics count and time the watches of clients, and count their requests to deprecated resources,
// under Kubernetes' names. All methods may be called at once.
type Metrics struct {
	open       *prometheus.GaugeVec     // running watches
	events     *prometheus.CounterVec   // events sent to watchers
	initial    *prometheus.HistogramVec // time until a watch had sent the initial events
	deprecated *prometheus.GaugeVec     // 1 for each deprecated resource that was requested
}

// NewMetrics makes the metrics and registers them with reg.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	labels := []string{"group", "version", "resource"}
	m := &Metrics{
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "apiserver_registered_watchers",
			Help: "Number of running watches, by resource."}, labels),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_watch_events_total",
			Help: "Number of events sent to watchers, by resource."}, labels),
		initial: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_watch_list_duration_seconds",
			Help:    "Time from the arrival of a watch that asks for the initial events until they are sent, in seconds, by resource and scope.",
			Buckets: []float64{0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 15, 20, 30, 45, 60}},
			append(labels, "scope")),
		deprecated: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "apiserver_requested_deprecated_apis",
			Help: "1 for each deprecated API that a client has requested; removed_release is the release without the API."},
			[]string{"group", "version", "resource", "subresource", "removed_release"}),
	}
	return m, errors.Join(reg.Register(m.open), reg.Register(m.events), reg.Register(m.initial),
		reg.Register(m.deprecated))
}

// WatchStarted counts a watch that begins. The function that it returns counts n sent events if n
// is not negative, and the end of the watch if n is -1. Package server sets
// router.Config.WatchStarted to WatchStarted. The series are looked up once for each watch, not for
// each event.
func (m *Metrics) WatchStarted(gvr meta.GroupVersionResource) func(int) {
	open := m.open.WithLabelValues(gvr.Group, gvr.Version, gvr.Resource)
	events := m.events.WithLabelValues(gvr.Group, gvr.Version, gvr.Resource)
	open.Inc()
	return func(n int) {
		if n < 0 {
			open.Dec()
			return
		}
		events.Add(float64(n))
	}
}

// InitialSent observes the time of a watch that has sent the initial events. Package server sets
// router.Config.InitialSent to InitialSent.
func (m *Metrics) InitialSent(gvr meta.GroupVersionResource, scope string, took time.Duration) {
	m.initial.WithLabelValues(gvr.Group, gvr.Version, gvr.Resource, scope).Observe(took.Seconds())
}

// DeprecatedUse notes a request to a deprecated resource or subresource. removed is the release
// that no longer serves it, such as "1.37", or "" if no release was named. Package server sets
// router.Config.DeprecatedUse to DeprecatedUse.
func (m *Metrics) DeprecatedUse(gvr meta.GroupVersionResource, subresource, removed string) {
	m.deprecated.WithLabelValues(gvr.Group, gvr.Version, gvr.Resource, subresource, removed).Set(1)
}

// Forget deletes the series of a resource under one of its names. A watch that still runs goes on
// counting in the deleted series, which no scrape shows.
func (m *Metrics) Forget(o *Offer) {
	resource := prometheus.Labels{"group": o.Name.Group, "resource": o.Name.Resource}
	m.deprecated.DeletePartialMatch(resource)
	m.initial.DeletePartialMatch(resource)
	for i := range o.Versions {
		gvr := o.Versions[i].WithResource(o.Name.Resource)
		m.open.DeleteLabelValues(gvr.Group, gvr.Version, gvr.Resource)
		m.events.DeleteLabelValues(gvr.Group, gvr.Version, gvr.Resource)
	}
}
