package server

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/router/callout"
)

// flawMetrics counts requests to servers behind this one and to webhooks whose certificates have an
// outdated property (callout.Flaw), under Kubernetes' names of the metrics.
type flawMetrics struct {
	behind, webhooks func(callout.Flaw)
}

// newFlawMetrics registers the counters, one for each sort of server and flaw.
func newFlawMetrics(reg prometheus.Registerer) (*flawMetrics, error) {
	var errs []error
	of := func(whom, prefix string) func(callout.Flaw) {
		counters := [...]prometheus.Counter{
			callout.NoNames: prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + "x509_missing_san_total",
				Help: "Number of requests to " + whom + " whose certificate has no subject alternative name."}),
			callout.SHA1: prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + "x509_insecure_sha1_total",
				Help: "Number of requests to " + whom + " whose certificate has a SHA-1 signature."}),
		}
		for _, c := range counters {
			errs = append(errs, reg.Register(c))
		}
		return func(f callout.Flaw) { counters[f].Inc() }
	}
	m := &flawMetrics{
		behind:   of("servers behind this one", "apiserver_kube_aggregator_"),
		webhooks: of("webhooks", "apiserver_webhooks_"),
	}
	return m, errors.Join(errs...)
}
