package filters

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// register registers c with reg. If reg already has an equal collector, it returns that one, so
// chains with one registry share their metrics. If reg is nil, c counts without being shown.
func register[C prometheus.Collector](reg prometheus.Registerer, c C) C {
	if reg == nil {
		return c
	}
	err := reg.Register(c)
	if before := (prometheus.AlreadyRegisteredError{}); errors.As(err, &before) {
		return before.ExistingCollector.(C)
	}
	if err != nil {
		panic(err) // two filters use one metric name with different labels or help
	}
	return c
}

// attempts count and time what a filter tries to do, for each combination of label values.
type attempts struct {
	total   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

// attempt counts and times the attempts with one combination of label values.
type attempt struct {
	total   prometheus.Counter
	seconds prometheus.Observer
}

// newAttempts registers a counter and a histogram with the same labels.
func newAttempts(reg prometheus.Registerer, labels []string, total, totalHelp, seconds, secondsHelp string) attempts {
	return attempts{
		register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{Name: total, Help: totalHelp}, labels)),
		register(reg, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: seconds, Help: secondsHelp,
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15)}, labels)),
	}
}

// with returns the attempt for the given label values. The lookup costs more than counting, so
// callers keep the result.
func (a *attempts) with(values ...string) attempt {
	return attempt{a.total.WithLabelValues(values...), a.seconds.WithLabelValues(values...)}
}

// took counts one attempt that took d.
func (a attempt) took(d time.Duration) {
	a.total.Inc()
	a.seconds.Observe(d.Seconds())
}
