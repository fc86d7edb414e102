package identity

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/server/reload"
)

// issuerMetrics counts the tokens of issuers and shows when their keys were fetched, under
// Kubernetes' names of the metrics. Labels hold hashes of issuers and keys, not the values. It is
// one Collector, because info has a series for each issuer that is in force.
type issuerMetrics struct {
	judged  *prometheus.HistogramVec
	fetched *prometheus.GaugeVec
	info    *prometheus.Desc

	mu   sync.Mutex
	keys map[string]string // hash of the issuer -> hash of its last key set
}

func newIssuerMetrics() *issuerMetrics {
	const prefix = "apiserver_authentication_jwt_authenticator_"
	server := prometheus.Labels{"apiserver_id_hash": reload.ServerHash()}
	return &issuerMetrics{
		judged: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + "latency_seconds",
			Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
			Help:    "Time to verify a token of an issuer, in seconds, by result and issuer."}, []string{"result", "jwt_issuer_hash"}),
		fetched: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name:        prefix + "jwks_fetch_last_timestamp_seconds",
			ConstLabels: server,
			Help:        "Time of the last attempt to fetch the key set of an issuer, in Unix seconds, by result and issuer.",
		}, []string{"result", "jwt_issuer_hash"}),
		info: prometheus.NewDesc(prefix+"jwks_fetch_last_key_set_info",
			"1 for the key set that was last fetched from an issuer; the label hash identifies the key set.",
			[]string{"jwt_issuer_hash", "hash"}, server),
		keys: map[string]string{},
	}
}

// tokenJudged implements jwt.Options.Observe: it observes one verification.
func (m *issuerMetrics) tokenJudged(issuer string, took time.Duration, err error) {
	m.judged.WithLabelValues(reload.ResultLabel(err), reload.HashLabel(issuer)).Observe(took.Seconds())
}

// keysFetched implements jwt.Options.Keys: it notes one attempt to fetch an issuer's keys.
func (m *issuerMetrics) keysFetched(issuer string, keys []byte, err error) {
	hash := reload.HashLabel(issuer)
	m.fetched.WithLabelValues(reload.ResultLabel(err), hash).SetToCurrentTime()
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.keys[hash] = reload.HashLabel(keys)
	}
}

// forget deletes the series about the keys of an issuer that is no longer configured.
func (m *issuerMetrics) forget(issuer string) {
	hash := reload.HashLabel(issuer)
	m.fetched.DeletePartialMatch(prometheus.Labels{"jwt_issuer_hash": hash})
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.keys, hash)
}

// Describe implements prometheus.Collector.
func (m *issuerMetrics) Describe(to chan<- *prometheus.Desc) {
	m.judged.Describe(to)
	m.fetched.Describe(to)
	to <- m.info
}

// Collect implements prometheus.Collector.
func (m *issuerMetrics) Collect(to chan<- prometheus.Metric) {
	m.judged.Collect(to)
	m.fetched.Collect(to)
	m.mu.Lock()
	defer m.mu.Unlock()
	for issuer, keys := range m.keys {
		to <- prometheus.MustNewConstMetric(m.info, prometheus.GaugeValue, 1, issuer, keys)
	}
}
