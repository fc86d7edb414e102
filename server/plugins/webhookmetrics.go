package plugins

import (
	"errors"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/registry/admission/webhooks"
)

// webhookMetrics measure webhooks, under Kubernetes' names.
type webhookMetrics struct {
	times                          *prometheus.HistogramVec
	requests, rejections, failOpen *prometheus.CounterVec
	conditions                     *conditionMetrics
}

// admissionMetric returns the name of a metric of admission.
func admissionMetric(name string) string { return "apiserver_admission_" + name }

func newWebhookMetrics(reg prometheus.Registerer) (*webhookMetrics, error) {
	conditions, err := newConditionMetrics(reg)
	count := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: admissionMetric(name), Help: help}, labels)
	}
	m := &webhookMetrics{
		times: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    admissionMetric("webhook_admission_duration_seconds"),
			Help:    "Time that a webhook takes about a write, in seconds.",
			Buckets: []float64{0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25},
		}, []string{"name", "type", "operation", "rejected"}),
		requests: count("webhook_request_total", "Calls of a webhook, by the HTTP status of the outcome.",
			"name", "type", "operation", "code", "rejected"),
		rejections: count("webhook_rejection_count", "Writes that are refused because of a webhook.",
			"name", "type", "operation", "error_type", "rejection_code"),
		failOpen:   count("webhook_fail_open_count", "Writes that pass although a webhook failed.", "name", "type"),
		conditions: conditions,
	}
	return m, errors.Join(err,
		reg.Register(m.times), reg.Register(m.requests), reg.Register(m.rejections), reg.Register(m.failOpen))
}

// maxCode is the largest HTTP status that labels have. A webhook chooses the status of a refusal.
const maxCode = 600

// observer returns the functions that record what webhooks do.
func (m *webhookMetrics) observer() webhooks.Observer {
	return webhooks.Observer{Called: m.called, Evaluated: m.evaluated}
}

// called records a call of a webhook. If a call failed because the client had gone, it counts
// neither as a rejection nor as failing open.
func (m *webhookMetrics) called(c webhooks.Call) {
	step, op, code := phase(c.Validates, "validating"), string(c.Operation), strconv.Itoa(min(c.Code, maxCode))
	rejected := strconv.FormatBool(c.Outcome != webhooks.Passed && c.Outcome != webhooks.FailedOpen)
	m.times.WithLabelValues(c.Webhook, step, op, rejected).Observe(c.Took.Seconds())
	m.requests.WithLabelValues(c.Webhook, step, op, code, rejected).Inc()
	why := ""
	switch {
	case c.Canceled:
		return
	case c.Outcome == webhooks.FailedOpen:
		m.failOpen.WithLabelValues(c.Webhook, step).Inc()
		return
	case c.Outcome == webhooks.Passed:
		return
	case c.Outcome == webhooks.Refused:
		why = "no_error"
	case c.Outcome == webhooks.FailedClose:
		why = "calling_webhook_error"
	case c.Outcome == webhooks.Broken:
		why = "apiserver_internal_error"
	}
	m.rejections.WithLabelValues(c.Webhook, step, op, why, code).Inc()
}

// evaluated records an evaluation of the match conditions of a webhook, unless all of them matched.
// Kubernetes calls the validating phase by another name where it counts exclusions.
func (m *webhookMetrics) evaluated(e webhooks.Evaluation) {
	const kind = "webhook"
	op := string(e.Operation)
	if e.Failures > 0 || e.Excluded {
		m.conditions.observe([]string{e.Webhook, kind, phase(e.Validates, "validating"), op}, e.Took, e.Failures)
	}
	if e.Excluded {
		m.conditions.exclusions.WithLabelValues(e.Webhook, kind, phase(e.Validates, "validate"), op).Inc()
	}
}

// phase returns the label for a phase of admission. validating is the name of the validating phase,
// which differs between metrics.
func phase(validates bool, validating string) string {
	if validates {
		return validating
	}
	return "admit"
}
