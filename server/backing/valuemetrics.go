package backing

import (
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/scheme/meta"
)

// valueMetrics counts and times the encryption and decryption of values, under Kubernetes' names.
type valueMetrics struct {
	values  *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	misses  prometheus.Counter
	made    prometheus.Histogram
}

func newValueMetrics(reg prometheus.Registerer) (*valueMetrics, error) {
	const prefix = "apiserver_storage_"
	m := &valueMetrics{
		values: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "transformation_operations_total",
			Help: "Values that were encrypted or decrypted, by resource and by what did that."},
			[]string{"resource", "transformation_type", "transformer_prefix", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + "transformation_duration_seconds",
			Help: "Time that it took to encrypt or decrypt a value, in seconds.", Buckets: prometheus.ExponentialBuckets(5e-6, 2, 25)},
			[]string{"transformation_type", "transformer_prefix"}),
		misses: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "envelope_transformation_cache_misses_total",
			Help: "How often a KMS plugin had to be asked for a seed.",
		}),
		made: prometheus.NewHistogram(prometheus.HistogramOpts{Name: prefix + "data_key_generation_duration_seconds",
			Help: "Time that it took to make a seed for a KMS plugin, in seconds.", Buckets: prometheus.ExponentialBuckets(5e-6, 2, 14)}),
	}
	unmade := prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + "data_key_generation_failures_total",
		Help: "How often no seed could be made for a KMS plugin, which does not happen."})
	return m, errors.Join(reg.Register(m.values), reg.Register(m.seconds), reg.Register(m.misses), reg.Register(m.made),
		reg.Register(unmade))
}

// direction returns the value of Kubernetes' label transformation_type.
func direction(written bool) string {
	if written {
		return "to_storage"
	}
	return "from_storage"
}

// transforms implements encryption.Hooks.Transforms. It looks the metrics up at the first value, so
// that a provider that nobody uses has no series, and later values cost no look-up.
func (m *valueMetrics) transforms(resource, provider string, written bool) func(time.Duration, error) {
	way := direction(written)
	good := sync.OnceValues(func() (prometheus.Counter, prometheus.Observer) {
		return m.values.WithLabelValues(resource, way, provider, callout.CodeOf(nil)),
			m.seconds.WithLabelValues(way, provider)
	})
	return func(took time.Duration, err error) {
		if err != nil {
			m.values.WithLabelValues(resource, way, provider, callout.CodeOf(err)).Inc()
			return
		}
		values, seconds := good()
		values.Inc()
		seconds.Observe(took.Seconds())
	}
}

// forget deletes the counters of the values of a resource.
func (m *valueMetrics) forget(gr meta.GroupResource) {
	m.values.DeletePartialMatch(prometheus.Labels{"resource": gr.String()})
}
