package filters

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// impersonationMetrics count and time what Impersonate does, under the names that Kubernetes uses.
type impersonationMetrics struct {
	requests  byMode // with its headers
	questions byMode // to the authorizer
}

// byMode are attempts by mode of impersonation and by decision. What belongs to both is looked up when it first happens: modes that
// nobody uses are not shown.
type byMode struct {
	attempts
	known [1 + len(impersonationModes)][2]atomic.Pointer[attempt] // the first mode is none; denied and allowed
}

func (b *byMode) init(total, seconds, totalHelp, secondsHelp string) {
	labels := []string{"mode", "decision"}
	b.total = prometheus.NewCounterVec(prometheus.CounterOpts{Name: total, Help: totalHelp}, labels)
	b.seconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: seconds,
		Buckets: prometheus.ExponentialBuckets(0.001, 2, 15), Help: secondsHelp}, labels)
}

// took counts an attempt; m is nil if no mode allowed it.
func (b *byMode) took(m *impersonationMode, allowed bool, d time.Duration) {
	place, decision, label := 1+slices.Index(impersonationModes[:], m), 0, "denied"
	if allowed {
		decision, label = 1, "allowed"
	}
	known := &b.known[place][decision]
	a := known.Load()
	if a == nil {
		a = &attempt{b.total.WithLabelValues(m.label(), label), b.seconds.WithLabelValues(m.label(), label)}
		known.Store(a)
	}
	a.took(d)
}

func newImpersonationMetrics() *impersonationMetrics {
	m := &impersonationMetrics{}
	m.requests.init("apiserver_impersonation_attempts_total", "apiserver_impersonation_attempts_duration_seconds",
		"Requests to be served as somebody else, by how that was allowed.",
		"Time to decide whether a request may be served as somebody else, in seconds.")
	m.questions.init("apiserver_impersonation_authorization_attempts_total", "apiserver_impersonation_authorization_attempts_duration_seconds",
		"Questions to the authorizer for impersonation.", "Time of questions to the authorizer for impersonation, in seconds.")
	return m
}

func (m *impersonationMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.requests.total, m.requests.seconds, m.questions.total, m.questions.seconds}
}

// impersonated counts a request with the headers of impersonation; mode is nil if none allowed it. m may be nil.
func (m *Metrics) impersonated(mode *impersonationMode, allowed bool, took time.Duration) {
	if m != nil {
		m.impersonation.requests.took(mode, allowed, took)
	}
}

// impersonationAsked counts one question to the authorizer. m may be nil.
func (m *Metrics) impersonationAsked(mode *impersonationMode, allowed bool, took time.Duration) {
	if m != nil {
		m.impersonation.questions.took(mode, allowed, took)
	}
}
