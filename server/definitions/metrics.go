package definitions

import (
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/scheme/cel/rules"
	"github.com/coracle-project/coracle/scheme/meta"
)

// metrics count and time the calls of conversion webhooks, and time the rules of custom resources,
// under Kubernetes' names.
type metrics struct {
	definitions *prometheus.HistogramVec // seconds, by definition and versions
	seconds     *prometheus.HistogramVec // by result, over all definitions
	total       *prometheus.CounterVec   // by result, over all definitions

	compiled, ran prometheus.Histogram // seconds, of the rules
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	m := &metrics{
		definitions: histogram("apiserver_crd_conversion_webhook_duration_seconds",
			"Time of a call of the conversion webhook of a custom resource, in seconds, by definition, versions and success.",
			prometheus.ExponentialBuckets(0.001, 2, 15), "crd_name", "from_version", "to_version", "succeeded"),
		seconds: histogram("apiserver_conversion_webhook_duration_seconds",
			"Time of a call of a conversion webhook, in seconds, by result and type of failure.",
			[]float64{0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60}, "result", "failure_type"),
		total: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_conversion_webhook_request_total",
			Help: "Number of calls of conversion webhooks, by result and type of failure."}, []string{"result", "failure_type"}),
	}
	cel := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "apiserver_cel_" + name + "_duration_seconds", Help: help, Buckets: prometheus.DefBuckets,
		})
	}
	m.compiled = cel("compilation", "Time to compile the validation rules of one schema of a custom resource, in seconds.")
	m.ran = cel("evaluation", "Time to run the validation rules of one schema on a value in a custom resource, in seconds.")
	return m, errors.Join(reg.Register(m.definitions), reg.Register(m.seconds), reg.Register(m.total),
		reg.Register(m.compiled), reg.Register(m.ran))
}

// timing returns the functions that observe rules.
func (m *metrics) timing() *rules.Timing {
	return &rules.Timing{
		Compiled: func(took time.Duration) { m.compiled.Observe(took.Seconds()) },
		Ran:      func(took time.Duration) { m.ran.Observe(took.Seconds()) },
	}
}

// observer returns the function that records a conversion of a definition.
func (m *metrics) observer(definition string) func(extensions.WebhookConversion) {
	return func(c extensions.WebhookConversion) {
		result, took := "success", c.Took.Seconds()
		if c.Failure != "" {
			result = "failure"
		}
		m.definitions.WithLabelValues(definition, c.From, c.To, strconv.FormatBool(c.Failure == "")).Observe(took)
		m.seconds.WithLabelValues(result, c.Failure).Observe(took)
		m.total.WithLabelValues(result, c.Failure).Inc()
	}
}

// forget deletes the series of the definition of a resource. The crd_name label is the name of the
// definition, which equals the string form of its resource.
func (m *metrics) forget(gr meta.GroupResource) {
	m.definitions.DeletePartialMatch(prometheus.Labels{"crd_name": gr.String()})
}
