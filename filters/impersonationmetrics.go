package filters

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// impersonationMetrics count and time what Impersonate does, under the names that Kubernetes uses.
type impersonationMetrics struct {
	attempts, asked       *prometheus.CounterVec
	attemptTimes, askTime *prometheus.HistogramVec
}

func newImpersonationMetrics() impersonationMetrics {
	labels, buckets := []string{"mode", "decision"}, prometheus.ExponentialBuckets(0.001, 2, 15)
	return impersonationMetrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_impersonation_attempts_total",
			Help: "Requests to be served as somebody else, by how that was allowed."}, labels),
		attemptTimes: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_impersonation_attempts_duration_seconds",
			Buckets: buckets, Help: "Time to decide whether a request may be served as somebody else, in seconds."}, labels),
		asked: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_impersonation_authorization_attempts_total",
			Help: "Questions to the authorizer for impersonation."}, labels),
		askTime: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_impersonation_authorization_attempts_duration_seconds",
			Buckets: buckets, Help: "Time of questions to the authorizer for impersonation, in seconds."}, labels),
	}
}

func (m *impersonationMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.attempts, m.attemptTimes, m.asked, m.askTime}
}

// impersonated counts a request with the headers of impersonation; mode is "" if none allowed it. m may be nil.
func (m *Metrics) impersonated(mode string, allowed bool, took time.Duration) {
	if m != nil {
		m.impersonation.attempts.WithLabelValues(mode, decisionLabel(allowed)).Inc()
		m.impersonation.attemptTimes.WithLabelValues(mode, decisionLabel(allowed)).Observe(took.Seconds())
	}
}

// impersonationAsked counts one question to the authorizer. m may be nil.
func (m *Metrics) impersonationAsked(mode string, allowed bool, took time.Duration) {
	if m != nil {
		m.impersonation.asked.WithLabelValues(mode, decisionLabel(allowed)).Inc()
		m.impersonation.askTime.WithLabelValues(mode, decisionLabel(allowed)).Observe(took.Seconds())
	}
}

func decisionLabel(allowed bool) string {
	if allowed {
		return "allowed"
	}
	return "denied"
}
