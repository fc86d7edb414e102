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

// observed returns the world of policies with the metrics that make makes.
func (n *needs) observed(make func(*conditionMetrics) *policyMetrics) (*admissionpolicy.World, error) {
	m := make(n.hooks.conditions)
	w := *n.policies
	w.Observe = m
	return &w, errors.Join(n.Metrics.Register(m.checks), n.Metrics.Register(m.times))
}
