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
			Help: "Number of values that were encrypted or decrypted, by resource, direction, provider and gRPC code."},
			[]string{"resource", "transformation_type", "transformer_prefix", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + "transformation_duration_seconds",
			Help:    "Time to encrypt or decrypt a value, in seconds.",
			Buckets: prometheus.ExponentialBuckets(5e-6, 2, 25)},
			[]string{"transformation_type", "transformer_prefix"}),
		misses: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "envelope_transformation_cache_misses_total",
			Help: "Number of times that the seed of a data key was not in the cache, so that a KMS plugin decrypted it.",
		}),
		made: prometheus.NewHistogram(prometheus.HistogramOpts{Name: prefix + "data_key_generation_duration_seconds",
			Help:    "Time to make the seed of data keys, in seconds.",
			Buckets: prometheus.ExponentialBuckets(5e-6, 2, 14)}),
	}
	unmade := prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + "data_key_generation_failures_total",
		Help: "Number of failed attempts to make the seed of data keys; always 0, because making one cannot fail."})
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
