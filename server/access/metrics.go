package access

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/server/reload"
)

// metrics counts the decisions of authorizers and the calls of webhooks, under Kubernetes' names.
type metrics struct {
	decisions                    *prometheus.CounterVec
	evaluations, failedOpen      *prometheus.CounterVec
	duration, matching           *prometheus.HistogramVec
	matchErrors, matchExclusions *prometheus.CounterVec
	config                       *reload.Metrics
}

// newMetrics makes the metrics and registers them with reg. If no webhooks can be called, the
// metrics of webhooks and of the reloads of the configuration are made but not registered.
func newMetrics(reg prometheus.Registerer, webhooks bool) (*metrics, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "apiserver_authorization_" + name,
			Help: help,
		}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		opts := prometheus.HistogramOpts{Name: "apiserver_authorization_" + name, Help: help, Buckets: buckets}
		return prometheus.NewHistogramVec(opts, labels)
	}
	m := &metrics{
		decisions: counter("decisions_total", "Number of requests that an authorizer has allowed or denied, by authorizer and decision.",
			"type", "name", "decision"),
		evaluations: counter("webhook_evaluations_total", "Number of calls of authorization webhooks, by webhook and result.",
			"name", "result"),
		failedOpen: counter("webhook_evaluations_fail_open_total",
			"Number of failed calls of authorization webhooks after which the next authorizer decided, by webhook and result.",
			"name", "result"),
		duration: histogram("webhook_duration_seconds", "Time of a call of an authorization webhook, in seconds, by webhook and result.",
			prometheus.DefBuckets, "name", "result"),
		matching: histogram("match_condition_evaluation_seconds", "Time to evaluate the match conditions of an authorization webhook for a request, in seconds.",
			[]float64{0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25}, "type", "name"),
		matchErrors: counter("match_condition_evaluation_errors_total",
			"Number of requests for which the match conditions of an authorization webhook failed with an error.",
			"type", "name"),
		matchExclusions: counter("match_condition_exclusions_total",
			"Number of requests for which an authorization webhook was not called, because a match condition was false.",
			"type", "name"),
		config: reload.NewMetrics("authorization"),
	}
	errs := []error{reg.Register(m.decisions)}
	if webhooks {
		for _, c := range []prometheus.Collector{
			m.evaluations, m.failedOpen, m.duration, m.matching, m.matchErrors, m.matchExclusions, m.config,
		} {
			errs = append(errs, reg.Register(c))
		}
	}
	return m, errors.Join(errs...)
}

// counted wraps a so that its decisions are counted. The result is a RuleResolver if a is one.
func (m *metrics) counted(configured *authz.AuthorizerConfiguration, a request.Authorizer) request.Authorizer {
	decided := func(how string) prometheus.Counter {
		return m.decisions.WithLabelValues(configured.Type, configured.Name, how)
	}
	c := counted{a, decided("allowed"), decided("denied")}
	if rules, ok := a.(request.RuleResolver); ok {
		return countedRules{c, rules}
	}
	return c
}

// counted is an authorizer whose decisions are counted. NoOpinion is not counted, as in
// kube-apiserver.
type counted struct {
	request.Authorizer
	allowed, denied prometheus.Counter
}

func (c counted) Authorize(ctx context.Context, a *request.Attributes) (request.Decision, string, error) {
	decision, reason, err := c.Authorizer.Authorize(ctx, a)
	switch decision {
	case request.Allow:
		c.allowed.Inc()
	case request.Deny:
		c.denied.Inc()
	}
	return decision, reason, err
}

// countedRules is a counted authorizer that can list rules.
type countedRules struct {
	counted
	rules request.RuleResolver
}

func (c countedRules) RulesFor(
	ctx context.Context, user *request.User, namespace string,
) (rules []rbacv1.PolicyRule, incomplete bool, err error) {
	return c.rules.RulesFor(ctx, user, namespace)
}

// tried implements callout.Hooks.Tried: it counts and times one call of a webhook.
func (m *metrics) tried(name string, kind callout.Kind, took time.Duration) {
	result := resultOf(kind)
	m.evaluations.WithLabelValues(name, result).Inc()
	m.duration.WithLabelValues(name, result).Observe(took.Seconds())
}

// resultOf returns the value of Kubernetes' label result for the end of a call.
func resultOf(kind callout.Kind) string {
	switch kind {
	case callout.OK:
		return "success"
	case callout.Canceled:
		return "canceled"
	case callout.TimedOut:
		return "timeout"
	}
	return "error"
}

// events returns the hooks that count the events of one webhook.
func (m *metrics) events(name string) authz.WebhookEvents {
	const kind = Webhook
	return authz.WebhookEvents{
		FailedOpen: func(err error) {
			result := resultOf(callout.KindOf(err))
			if result == "success" { // the call succeeded, but its answer was unusable
				result = "error"
			}
			m.failedOpen.WithLabelValues(name, result).Inc()
		},
		Matched: func(took time.Duration, excluded bool, err error) {
			m.matching.WithLabelValues(kind, name).Observe(took.Seconds())
			switch {
			case err != nil:
				m.matchErrors.WithLabelValues(kind, name).Inc()
			case excluded:
				m.matchExclusions.WithLabelValues(kind, name).Inc()
			}
		},
	}
}
