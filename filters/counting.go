package filters

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// register registers c with reg, or returns the collector that reg has in its place already:
// chains with one registry count together. reg may be nil: then nobody sees what c counts.
func register[C prometheus.Collector](reg prometheus.Registerer, c C) C {
	if reg == nil {
		return c
	}
	err := reg.Register(c)
	if before := (prometheus.AlreadyRegisteredError{}); errors.As(err, &before) {
		return before.ExistingCollector.(C)
	}
	if err != nil {
		panic(err) // two filters have metrics of one name, with different labels or help
	}
	return c
}

// attempts count and time what a filter tries to do, by labels that say how it ended.
type attempts struct {
	total   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

// attempt counts the attempts that ended in one way.
type attempt struct {
	total   prometheus.Counter
	seconds prometheus.Observer
}

func newAttempts(reg prometheus.Registerer, labels []string, total, totalHelp, seconds, secondsHelp string) attempts {
	return attempts{
		register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{Name: total, Help: totalHelp}, labels)),
		register(reg, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: seconds, Help: secondsHelp,
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15)}, labels)),
	}
}

// of returns what counts attempts with these values of the labels. Looking it up costs more
// than to count.
func (a *attempts) of(values ...string) attempt {
	return attempt{a.total.WithLabelValues(values...), a.seconds.WithLabelValues(values...)}
}

func (a attempt) took(d time.Duration) {
	a.total.Inc()
	a.seconds.Observe(d.Seconds())
}
