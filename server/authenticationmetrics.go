package server

import (
	"errors"
	"sync"
	"time"

	"github.com/coracle-project/coracle/server/reload"
	"github.com/prometheus/client_golang/prometheus"
)

// certificateLeft are the times between which the ends of client certificates are told apart, in seconds.
var certificateLeft = []float64{
	0, 30 * 60, 3600, 2 * 3600, 6 * 3600, 12 * 3600, day, 2 * day, 4 * day, 7 * day, 30 * day, 90 * day, 180 * day, 360 * day,
}

const day = 24 * 3600 // seconds

// newCertificateMetrics returns what notes how long client certificates are still good that are shown.
func newCertificateMetrics(reg prometheus.Registerer) (func(left time.Duration), error) {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "apiserver_client_certificate_expiration_seconds", Buckets: certificateLeft,
		Help: "How long the client certificates are still good that requests come with, in seconds."})
	return func(left time.Duration) { h.Observe(left.Seconds()) }, reg.Register(h)
}

// cacheMetrics are an authn.CacheMeter under Kubernetes' names.
type cacheMetrics struct {
	hits, misses       prometheus.Counter
	hitTime, missTime  prometheus.Observer
	waiting, fetching  prometheus.Gauge
	fetched, unfetched prometheus.Counter
}

func newCacheMetrics(reg prometheus.Registerer) (*cacheMetrics, error) {
	const prefix = "authentication_token_cache_"
	status := []string{"status"}
	asked := prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "request_total",
		Help: "Tokens whose user was asked for, by whether that was remembered."}, status)
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + "request_duration_seconds",
		Help: "Time until the user of a token was known, in seconds, by whether that was remembered."}, status)
	active := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "active_fetch_count",
		Help: "Tokens that others are being asked about, and requests that wait for that."}, status)
	fetched := prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "fetch_total",
		Help: "Tokens that others were asked about, by how that went."}, status)
	return &cacheMetrics{
		hits: asked.WithLabelValues("hit"), misses: asked.WithLabelValues("miss"),
		hitTime: took.WithLabelValues("hit"), missTime: took.WithLabelValues("miss"),
		waiting: active.WithLabelValues("blocked"), fetching: active.WithLabelValues("in_flight"),
		fetched: fetched.WithLabelValues("ok"), unfetched: fetched.WithLabelValues("error"),
	}, errors.Join(reg.Register(asked), reg.Register(took), reg.Register(active), reg.Register(fetched))
}

// Asked implements authn.CacheMeter. Times are in whole milliseconds, as kube-apiserver has them.
func (m *cacheMetrics) Asked(remembered bool, took time.Duration) {
	seconds := took.Truncate(time.Millisecond).Seconds()
	if remembered {
		m.hits.Inc()
		m.hitTime.Observe(seconds)
		return
	}
	m.misses.Inc()
	m.missTime.Observe(seconds)
}

// Waiting implements authn.CacheMeter.
func (m *cacheMetrics) Waiting(more int) { m.waiting.Add(float64(more)) }

// Fetching implements authn.CacheMeter.
func (m *cacheMetrics) Fetching(more int) { m.fetching.Add(float64(more)) }

// Fetched implements authn.CacheMeter.
func (m *cacheMetrics) Fetched(ok bool) {
	if ok {
		m.fetched.Inc()
	} else {
		m.unfetched.Inc()
	}
}

// issuerMetrics are what becomes of tokens of issuers, and of their keys, under Kubernetes' names. They are one Collector.
type issuerMetrics struct {
	judged  *prometheus.HistogramVec
	fetched *prometheus.GaugeVec
	info    *prometheus.Desc

	mu   sync.Mutex
	keys map[string]string // by hash of the issuer: the hash of its keys
}

func newIssuerMetrics() *issuerMetrics {
	const prefix = "apiserver_authentication_jwt_authenticator_"
	server := prometheus.Labels{"apiserver_id_hash": reload.ServerHash()}
	return &issuerMetrics{
		judged: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + "latency_seconds",
			Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
			Help:    "Time to judge a token that nobody remembers, in seconds, by issuer."}, []string{"result", "jwt_issuer_hash"}),
		fetched: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "jwks_fetch_last_timestamp_seconds", ConstLabels: server,
			Help: "When an issuer was asked for its keys last, by how that went."}, []string{"result", "jwt_issuer_hash"}),
		info: prometheus.NewDesc(prefix+"jwks_fetch_last_key_set_info", "The keys that an issuer has answered last, by their hash.",
			[]string{"jwt_issuer_hash", "hash"}, server),
		keys: map[string]string{},
	}
}

// tokenJudged is for jwt.Options.
func (m *issuerMetrics) tokenJudged(issuer string, took time.Duration, err error) {
	m.judged.WithLabelValues(reload.Result(err), reload.HashLabel(issuer)).Observe(took.Seconds())
}

// keysFetched is for jwt.Options.
func (m *issuerMetrics) keysFetched(issuer string, keys []byte, err error) {
	hash := reload.HashLabel(issuer)
	m.fetched.WithLabelValues(reload.Result(err), hash).SetToCurrentTime()
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.keys[hash] = reload.HashLabel(keys)
	}
}

// forget deletes what is told of the keys of an issuer.
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
