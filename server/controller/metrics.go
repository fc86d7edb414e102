package controller

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Queues counts the work of all loops of a server, under Kubernetes' names of the metrics. A Loop
// finds the Queues in its context (WithQueues), so those who make loops need not hand it on.
// Queues implements prometheus.Collector. All methods may be called at once.
//
// A name costs nothing until the first name has been added to its queue. From then on it has all
// series.
type Queues struct {
	adds, retries  *prometheus.CounterVec
	waited, worked *prometheus.HistogramVec
	depth          *prometheus.Desc
	unfinished     *prometheus.Desc
	longest        *prometheus.Desc

	mu   sync.Mutex
	used map[measured]string // the queues in use, with their names
}

// measured is a Queue of any type.
type measured interface {
	// load returns the number of names that are due and that nobody has taken, and for how long
	// each taken name has been worked on: the sum and the longest time. used is false if no name
	// was ever added.
	load() (depth int, sum, longest time.Duration, used bool)
}

// NewQueues registers the metrics with reg.
func NewQueues(reg prometheus.Registerer) (*Queues, error) {
	const prefix = "workqueue_"
	label := []string{"name"}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, label)
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + name, Help: help,
			Buckets: prometheus.ExponentialBuckets(10e-9, 10, 10)}, label)
	}
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(prefix+name, help, label, nil) }
	q := &Queues{
		adds:    counter("adds_total", "Number of times that an object became due in the queue of a loop."),
		retries: counter("retries_total", "Number of times that an object was queued again for a later time, after a failure or as planned."),
		waited: histogram("queue_duration_seconds",
			"Time from when an object became due until a worker of the loop took it, in seconds."),
		worked:     histogram("work_duration_seconds", "Time that a loop worked on an object, in seconds."),
		depth:      desc("depth", "Number of objects that are due and wait for a worker of the loop."),
		unfinished: desc("unfinished_work_seconds", "Time since the loop began to work on the objects that it works on now, in seconds, added up."),
		longest: desc("longest_running_processor_seconds",
			"Time since the loop began to work on the object that it has worked on longest now, in seconds."),
		used: map[measured]string{},
	}
	return q, errors.Join(reg.Register(q.adds), reg.Register(q.retries), reg.Register(q.waited), reg.Register(q.worked),
		reg.Register(q))
}

// queuesKey is the key of the Queues in a context.
type queuesKey struct{}

// WithQueues returns a context whose loops count their work in q.
func WithQueues(ctx context.Context, q *Queues) context.Context {
	return context.WithValue(ctx, queuesKey{}, q)
}

// Measure counts the work of q under a name, in the Queues of ctx. It does nothing if ctx has none
// or if name is "". The caller calls end when nobody works on q any more. Loop.Run measures the
// queue of a Loop. A controller that calls RunWorker itself calls Measure before that.
func Measure[K comparable](ctx context.Context, name string, q *Queue[K]) (end func()) {
	all, _ := ctx.Value(queuesKey{}).(*Queues)
	if all == nil || name == "" {
		return func() {}
	}
	q.measure(&queueMeter{of: all, name: name})
	all.mu.Lock()
	defer all.mu.Unlock()
	all.used[q] = name
	return func() {
		all.mu.Lock()
		defer all.mu.Unlock()
		delete(all.used, q)
	}
}

// queueMeter has the series of one queue. The lock of the queue guards it.
type queueMeter struct {
	of             *Queues
	name           string
	adds, retries  prometheus.Counter // nil until the first name has been added
	waited, worked prometheus.Observer
}

// added counts a name that has become due.
func (m *queueMeter) added() {
	if m == nil {
		return
	}
	if m.adds == nil {
		m.adds, m.retries = m.of.adds.WithLabelValues(m.name), m.of.retries.WithLabelValues(m.name)
		m.waited, m.worked = m.of.waited.WithLabelValues(m.name), m.of.worked.WithLabelValues(m.name)
	}
	m.adds.Inc()
}

// taken counts a name that a worker takes. waited is the time since the name became due. added says
// whether added has counted the name. A name that was queued for a later time has not been counted.
func (m *queueMeter) taken(waited time.Duration, added bool) {
	if m == nil {
		return
	}
	if !added || m.adds == nil {
		m.added()
	}
	m.waited.Observe(waited.Seconds())
}

// done counts the end of the work on a name. retried says that the name is queued for a later time.
func (m *queueMeter) done(took time.Duration, retried bool) {
	if m == nil || m.adds == nil {
		return
	}
	m.worked.Observe(took.Seconds())
	if retried {
		m.retries.Inc()
	}
}

// Describe implements prometheus.Collector.
func (q *Queues) Describe(to chan<- *prometheus.Desc) {
	to <- q.depth
	to <- q.unfinished
	to <- q.longest
}

// Collect implements prometheus.Collector. The queues of loops that have the same name are added
// up.
func (q *Queues) Collect(to chan<- prometheus.Metric) {
	type sums struct {
		depth        int
		sum, longest time.Duration
	}
	q.mu.Lock()
	queues := maps.Clone(q.used)
	q.mu.Unlock()
	named := map[string]sums{}
	for of, name := range queues {
		depth, sum, longest, used := of.load()
		if s, had := named[name]; used || had {
			named[name] = sums{s.depth + depth, s.sum + sum, max(s.longest, longest)}
		}
	}
	for name, s := range named {
		gauge := func(d *prometheus.Desc, v float64) {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, name)
		}
		gauge(q.depth, float64(s.depth))
		gauge(q.unfinished, s.sum.Seconds())
		gauge(q.longest, s.longest.Seconds())
	}
}
