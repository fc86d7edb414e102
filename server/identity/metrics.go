package identity

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/filters/authn"
)

// certificateLeft are the buckets, in seconds, of the remaining lifetimes of client certificates,
// as in kube-apiserver.
var certificateLeft = []float64{
	0, 30 * 60, 3600, 2 * 3600, 6 * 3600, 12 * 3600,
	day, 2 * day, 4 * day, 7 * day, 30 * day, 90 * day, 180 * day, 360 * day,
}

const day = 24 * 3600 // seconds

// newCertificateMetrics returns a function that observes the remaining lifetime of a client
// certificate that a request has shown.
func newCertificateMetrics(reg prometheus.Registerer) (func(left time.Duration), error) {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "apiserver_client_certificate_expiration_seconds",
		Buckets: certificateLeft,
		Help:    "Remaining lifetime of the client certificates of requests, in seconds.",
	})
	return func(left time.Duration) { h.Observe(left.Seconds()) }, reg.Register(h)
}

// cacheMetrics implements authn.CacheMeter with Kubernetes' metrics. The counters of each label are
// looked up once, so that a request costs no map access.
type cacheMetrics struct {
	hits, misses       prometheus.Counter
	hitTime, missTime  prometheus.Observer
	waiting, fetching  prometheus.Gauge
	fetched, unfetched prometheus.Counter
}

// newCacheMetrics registers the metrics of the cache of tokens.
func newCacheMetrics(reg prometheus.Registerer) (*cacheMetrics, error) {
	const prefix = "authentication_token_cache_"
	status := []string{"status"}
	asked := prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "request_total",
		Help: "Number of look-ups of a token in the cache of authenticated tokens, by status (hit or miss)."}, status)
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + "request_duration_seconds",
		Help: "Time to find the user of a token, in seconds, by status of the cache (hit or miss)."}, status)
	active := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "active_fetch_count",
		Help: "Number of tokens being authenticated (in_flight), and of requests that wait for one of these (blocked)."}, status)
	fetched := prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "fetch_total",
		Help: "Number of tokens that were not in the cache and were authenticated, by status (ok or error)."}, status)
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

// tokenUses holds, for each use of a service account token that is counted, the name of the metric
// in kube-apiserver without its prefix, and the help text.
var tokenUses = map[authn.TokenUse][2]string{
	authn.UsedLegacy:      {"legacy_tokens_total", "Number of uses of legacy service account tokens."},
	authn.UsedStale:       {"stale_tokens_total", "Number of uses of bound service account tokens that the client should have replaced by a newer one."},
	authn.UsedExtended:    {"valid_tokens_total", "Number of uses of bound service account tokens with an extended lifetime that the client need not have replaced yet."},
	authn.UsedAutomatic:   {"legacy_auto_token_uses_total", "Number of uses of generated legacy tokens."},
	authn.UsedManual:      {"legacy_manual_token_uses_total", "Number of uses of legacy tokens that users made."},
	authn.UsedInvalidated: {"invalid_legacy_auto_token_uses_total", "Number of uses of invalidated legacy tokens."},
}

// newTokenMetrics returns a function that counts a use of a service account token.
func newTokenMetrics(reg prometheus.Registerer) (func(authn.TokenUse), error) {
	counters := map[authn.TokenUse]prometheus.Counter{}
	var errs []error
	for use, m := range tokenUses {
		counters[use] = prometheus.NewCounter(prometheus.CounterOpts{Name: "serviceaccount_" + m[0], Help: m[1]})
		errs = append(errs, reg.Register(counters[use]))
	}
	return func(use authn.TokenUse) { counters[use].Inc() }, errors.Join(errs...)
}
