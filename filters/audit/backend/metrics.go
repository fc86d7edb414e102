package backend

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters/audit"
)

// Metrics counts audit events for Prometheus, under Kubernetes' names. Any goroutine may use it.
type Metrics struct {
	events, rejected prometheus.Counter
	errors, levels   *prometheus.CounterVec
	byLevel          [audit.RequestResponse + 1]series // of levels
}

// series is one series of a family. It does not exist until it counts something.
type series struct {
	made atomic.Pointer[prometheus.Counter]
}

// of returns the counter with the label's value. It must be called with the same arguments always.
func (s *series) of(family *prometheus.CounterVec, label string) prometheus.Counter {
	if counter := s.made.Load(); counter != nil {
		return *counter
	}
	counter := family.WithLabelValues(label)
	s.made.Store(&counter)
	return counter
}

// NewMetrics makes the metrics and registers them with reg.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	opts := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Name: "apiserver_audit_" + name, Help: help}
	}
	m := &Metrics{
		events: prometheus.NewCounter(opts("event_total", "Number of audit events that were made.")),
		rejected: prometheus.NewCounter(opts("requests_rejected_total",
			"Number of requests that were refused because their audit event could not be stored.")),
		errors: prometheus.NewCounterVec(opts("error_total",
			"Number of audit events that were not stored, by the plugin that failed or dropped them."), []string{"plugin"}),
		levels: prometheus.NewCounterVec(opts("level_total",
			"Number of requests, by the level at which the audit policy records them."), []string{"level"}),
	}
	return m, errors.Join(reg.Register(m.events), reg.Register(m.rejected), reg.Register(m.errors),
		reg.Register(m.levels))
}

// Event counts an event that was made.
func (m *Metrics) Event() { m.events.Inc() }

// Rejected counts a request that was refused because Process reported a failure.
func (m *Metrics) Rejected() { m.rejected.Inc() }

// Level counts a request for which the policy has decided the level.
func (m *Metrics) Level(l audit.Level) { m.byLevel[l].of(m.levels, l.String()).Inc() }

// The plugins that events can fail in, as the label of errors. They are Kubernetes' names.
const (
	logName      = "log"      // the log
	webhookName  = "webhook"  // the webhook
	bufferedName = "buffered" // the mode batch: events that were dropped
	truncateName = "truncate" // events that are too large
)

// linePause is the shortest time between two lines of the log about failures of one plugin.
const linePause = 10 * time.Second

// failures counts and logs the events that one plugin does not store. Any goroutine may use it.
type failures struct {
	plugin string
	errors *prometheus.CounterVec
	log    *zap.Logger
	count  series
	untold atomic.Int64 // events since the last line
	since  atomic.Int64 // when the last line was written, in ns since 1970; 0: never
}

func newFailures(plugin string, c *Config) *failures {
	return &failures{plugin: plugin, errors: c.Metrics.errors, log: c.Logger}
}

// add counts events that are not stored, and logs why if the last line is old enough.
func (f *failures) add(events int, err error) {
	f.count.of(f.errors, f.plugin).Add(float64(events))
	f.untold.Add(int64(events))
	last, now := f.since.Load(), time.Now()
	if now.UnixNano()-last >= int64(linePause) && f.since.CompareAndSwap(last, now.UnixNano()) {
		f.tell(err)
	}
}

// tell logs the number of events that no line has told yet.
func (f *failures) tell(err error) {
	if events := f.untold.Swap(0); events > 0 {
		f.log.Error("audit events were not stored", zap.String("plugin", f.plugin), zap.Int64("events", events),
			zap.Error(err))
	}
}
