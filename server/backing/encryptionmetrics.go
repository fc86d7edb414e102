package backing

import (
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/server/reload"
	"github.com/coracle-project/coracle/storage/encryption"
)

// encryptionMetrics counts the reloads of an EncryptionConfiguration, the calls of its KMS plugins
// and the use of their keys, under Kubernetes' names. Keys appear in labels as hashes.
type encryptionMetrics struct {
	*reload.Metrics
	calls  *prometheus.HistogramVec // calls of plugins
	used   *prometheus.CounterVec   // values read and written, by key
	usedAt *prometheus.GaugeVec
	named  *prometheus.GaugeVec   // when a plugin last named a key in its status
	wrong  *prometheus.CounterVec // invalid keys in a status
	seeds  *prometheus.GaugeVec   // cached seeds of data keys
	*valueMetrics
	usedLabels, namedLabels recent   // of used and usedAt; of named
	unwell                  sync.Map // names of plugins whose last check failed, so that the log tells only changes
}

// newEncryptionMetrics makes the metrics and registers them with reg.
func newEncryptionMetrics(reg prometheus.Registerer) (*encryptionMetrics, error) {
	const envelope = "apiserver_envelope_encryption_"
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	values, err := newValueMetrics(reg)
	m := &encryptionMetrics{
		Metrics: reload.NewMetrics("encryption"), valueMetrics: values,
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    envelope + "kms_operations_latency_seconds",
			Help:    "Time of a call of a KMS plugin, in seconds, by plugin, method and gRPC code.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 20),
		}, []string{"provider_name", "method_name", "grpc_status_code"}),
		used: counter(envelope+"key_id_hash_total", "Number of values that were decrypted or encrypted with a key of a KMS plugin.",
			"transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash"),
		usedAt: gauge(envelope+"key_id_hash_last_timestamp_seconds", "Time at which a value was last decrypted or encrypted with a key of a KMS plugin, in Unix seconds.", "transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash"),
		named: gauge(envelope+"key_id_hash_status_last_timestamp_seconds",
			"Time at which a KMS plugin last named a key in its status, in Unix seconds.", "provider_name", "key_id_hash",
			"apiserver_id_hash"),
		wrong: counter(envelope+"invalid_key_id_from_status_total",
			"Number of times that a KMS plugin named an invalid key in its status, by error.", "provider_name", "error"),
		seeds: gauge(envelope+"dek_source_cache_size",
			"Number of seeds of data keys in the cache, by KMS plugin.", "provider_name"),
	}
	m.usedLabels.forget = func(labels []string) {
		m.used.DeleteLabelValues(labels...)
		m.usedAt.DeleteLabelValues(labels...)
	}
	m.namedLabels.forget = func(labels []string) { m.named.DeleteLabelValues(labels...) }
	errs := []error{err}
	for _, c := range []prometheus.Collector{m.Metrics, m.calls, m.used, m.usedAt, m.named, m.wrong, m.seeds} {
		errs = append(errs, reg.Register(c))
	}
	return m, errors.Join(errs...)
}

// called returns a function that observes how long a call of a plugin took.
func (m *encryptionMetrics) called(plugin string) func(method string, took time.Duration, err error) {
	return func(method string, took time.Duration, err error) {
		m.calls.WithLabelValues(plugin, method, callout.CodeOf(err)).Observe(took.Seconds())
	}
}

// hooks returns the hooks by which providers report to the metrics and the log.
func (m *encryptionMetrics) hooks(log *zap.Logger) encryption.Hooks {
	return encryption.Hooks{
		Checked: func(plugin string, err error) {
			if err == nil {
				if _, was := m.unwell.LoadAndDelete(plugin); was {
					log.Info("a KMS plugin is healthy again", zap.String("name", plugin))
				}
			} else if _, before := m.unwell.LoadOrStore(plugin, nil); !before {
				log.Warn("a KMS plugin failed its health check", zap.String("name", plugin), zap.Error(err))
			}
		},
		KeyNamed: func(plugin, key, wrong string) {
			if wrong != "" {
				m.wrong.WithLabelValues(plugin, wrong).Inc()
				return
			}
			m.named.WithLabelValues(m.namedLabels.seen(plugin, reload.HashLabel(key),
				reload.ServerHash())...).SetToCurrentTime()
		},
		KeyUsed: func(plugin, key string, written bool) {
			labels := m.usedLabels.seen(direction(written), plugin, reload.HashLabel(key), reload.ServerHash())
			m.used.WithLabelValues(labels...).Inc()
			m.usedAt.WithLabelValues(labels...).SetToCurrentTime()
		},
		Missed:     func(string) { m.misses.Inc() },
		Seeds:      func(plugin string, n int) { m.seeds.WithLabelValues(plugin).Set(float64(n)) },
		SeedMade:   func(took time.Duration) { m.made.Observe(took.Seconds()) },
		Transforms: m.transforms,
	}
}

// recent remembers the sets of labels that were used last, up to a bound, and forgets the series of
// older ones: plugins rotate keys, and each key would leave a series for ever.
type recent struct {
	forget func(labels []string)

	mu   sync.Mutex
	last map[string]time.Time
}

// maxRecent is the bound of recent, as in kube-apiserver.
const maxRecent = 100

// seen notes a use of labels and returns them. If there are more than maxRecent sets, seen forgets
// the set that was used longest ago.
func (r *recent) seen(labels ...string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		r.last = map[string]time.Time{}
	}
	r.last[strings.Join(labels, "\x00")] = time.Now()
	if len(r.last) <= maxRecent {
		return labels
	}
	oldest := ""
	for set, at := range r.last {
		if oldest == "" || at.Before(r.last[oldest]) {
			oldest = set
		}
	}
	delete(r.last, oldest)
	r.forget(strings.Split(oldest, "\x00"))
	return labels
}
