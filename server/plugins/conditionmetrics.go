package plugins

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// conditionMetrics measure the match conditions of policies and webhooks, under Kubernetes' names.
type conditionMetrics struct {
	times                *prometheus.HistogramVec
	failures, exclusions *prometheus.CounterVec
}

func newConditionMetrics(reg prometheus.Registerer) (*conditionMetrics, error) {
	labels := []string{"name", "kind", "type", "operation"}
	count := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: admissionMetric(name), Help: help}, labels)
	}
	m := &conditionMetrics{
		times: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    admissionMetric("match_condition_evaluation_seconds"),
			Help:    "Time of the evaluation of match conditions that excluded a request or failed, in seconds.",
			Buckets: []float64{0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25},
		}, labels),
		failures: count("match_condition_evaluation_errors_total",
			"Match conditions of admission policies and webhooks that failed."),
		exclusions: count("match_condition_exclusions_total",
			"Requests that match conditions have excluded from a webhook."),
	}
	return m, errors.Join(reg.Register(m.times), reg.Register(m.failures), reg.Register(m.exclusions))
}

// observe records an evaluation of all conditions of a policy or webhook that excluded a request or
// failed.
func (m *conditionMetrics) observe(labels []string, took time.Duration, failures int) {
	m.times.WithLabelValues(labels...).Observe(took.Seconds())
	if failures > 0 {
		m.failures.WithLabelValues(labels...).Add(float64(failures))
	}
}
