package plugins

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/admissionpolicy"
)

// policyMetrics measure the expressions of admission policies, under Kubernetes' names. They
// implement admissionpolicy.Observer.
type policyMetrics struct {
	checks     *prometheus.CounterVec
	times      *prometheus.HistogramVec
	conditions *conditionMetrics
}

// newMutatingMetrics returns the metrics of mutating policies, and newValidatingMetrics those of
// validating policies, which also say what was done.
func newMutatingMetrics(c *conditionMetrics) *policyMetrics { return newPolicyMetrics("mutating", c) }
func newValidatingMetrics(c *conditionMetrics) *policyMetrics {
	return newPolicyMetrics("validating", c, "enforcement_action")
}

func newPolicyMetrics(sort string, c *conditionMetrics, more ...string) *policyMetrics {
	labels := append([]string{"policy", "policy_binding", "error_type"}, more...)
	name := "apiserver_" + sort + "_admission_policy_"
	return &policyMetrics{
		checks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: name + "check_total", Help: "Evaluations of expressions of " + sort + " admission policies.",
		}, labels),
		times: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: name + "check_duration_seconds", Buckets: []float64{0.0000005, 0.001, 0.01, 0.1, 1},
			Help: "Time of the evaluation of an expression of a " + sort + " admission policy, in seconds.",
		}, labels),
		conditions: c,
	}
}

// Checked implements admissionpolicy.Observer.
func (m *policyMetrics) Checked(c admissionpolicy.Check) {
	labels := []string{c.Policy, c.Binding, string(c.Failure)}
	if !c.Mutates {
		labels = append(labels, string(c.Action))
	}
	m.checks.WithLabelValues(labels...).Inc()
	m.times.WithLabelValues(labels...).Observe(c.Took.Seconds())
}

// Conditions implements admissionpolicy.Observer. As in Kubernetes, the type is "validate" for
// mutating policies, too.
func (m *policyMetrics) Conditions(policy string, op admission.Operation, took time.Duration, failures int) {
	m.conditions.observe([]string{policy, "policy", "validate", string(op)}, took, failures)
}

// conditionMetrics measure the match conditions of policies and webhooks.
type conditionMetrics struct {
	failures *prometheus.CounterVec
	times    *prometheus.HistogramVec
}

func newConditionMetrics(reg prometheus.Registerer) (*conditionMetrics, error) {
	labels := []string{"name", "kind", "type", "operation"}
	m := &conditionMetrics{
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "apiserver_admission_match_condition_evaluation_errors_total",
			Help: "Match conditions of admission policies and webhooks that failed.",
		}, labels),
		times: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "apiserver_admission_match_condition_evaluation_seconds",
			Help:    "Time of the evaluation of match conditions that excluded a request or failed, in seconds.",
			Buckets: []float64{0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25},
		}, labels),
	}
	return m, errors.Join(reg.Register(m.failures), reg.Register(m.times))
}

// observe records an evaluation of all conditions of a policy or webhook.
func (m *conditionMetrics) observe(labels []string, took time.Duration, failures int) {
	m.times.WithLabelValues(labels...).Observe(took.Seconds())
	if failures > 0 {
		m.failures.WithLabelValues(labels...).Add(float64(failures))
	}
}

// observed returns the world of policies with the metrics that make makes.
func (n *needs) observed(make func(*conditionMetrics) *policyMetrics) (*admissionpolicy.World, error) {
	m := make(n.conditions)
	w := *n.policies
	w.Observe = m
	return &w, errors.Join(n.metrics.Register(m.checks), n.metrics.Register(m.times))
}
