package backing

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// The metrics of operations on the store. New puts a metered over each engine and below the
// encryption, so that the time of a KMS plugin does not count.

// The operations on the store that are measured, as indices of opNames.
const (
	opGet = iota
	opList
	opWrite
	opDelete
	opCount
)

// opNames are the values of the label operation, as in Kubernetes.
var opNames = [opCount]string{"get", "list", "write", "delete"}

// storeBuckets are in seconds. They are fewer than kube-apiserver's, because every resource has two
// or three such histograms, and go lower, because the embedded store is in the same process. The
// values from 0.005 on are also kube-apiserver's.
var storeBuckets = []float64{0.001, 0.005, 0.025, 0.1, 0.4, 1, 5, 30}

// Metrics counts and times the operations on the store. The names are Kubernetes' for every engine:
// etcd_requests_total also for a store of files.
type Metrics struct {
	seconds *prometheus.HistogramVec
	total   *prometheus.CounterVec
	errors  *prometheus.CounterVec
	events  *prometheus.CounterVec
}

// operation holds the metrics of one operation on one resource, so that an operation costs no
// look-up of labels.
type operation struct {
	seconds prometheus.Observer
	total   prometheus.Counter
}

// series makes the metrics of one resource, those of each operation when it is first used.
type series struct {
	resource meta.GroupResource
	made     [opCount]atomic.Pointer[operation]
	events   atomic.Pointer[prometheus.Counter] // nil until the first event
	mu       sync.Mutex
	gone     bool // forget was called: no metrics are made
}

// NewMetrics registers the metrics of stores in reg.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	labels := []string{"operation", "group", "resource"}
	m := &Metrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "etcd_request_duration_seconds",
			Help:    "Time of an operation on the store, in seconds, by operation and resource.",
			Buckets: storeBuckets}, labels),
		total: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "etcd_requests_total",
			Help: "Number of operations on the store, by operation and resource."}, labels),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "etcd_request_errors_total",
			Help: "Number of operations on the store that failed; an absent key or an unmet precondition is no failure."}, labels),
	}
	m.events = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_storage_events_received_total",
		Help: "Number of changes that the store has reported, by resource."}, labels[1:])
	return m, errors.Join(reg.Register(m.seconds), reg.Register(m.total), reg.Register(m.errors),
		reg.Register(m.events))
}

// operation returns the metrics of an operation on a resource, or nil after forget.
func (m *Metrics) operation(s *series, op int) *operation {
	if made := s.made[op].Load(); made != nil {
		return made
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return nil
	}
	made := &operation{
		seconds: m.seconds.WithLabelValues(opNames[op], s.resource.Group, s.resource.Resource),
		total:   m.total.WithLabelValues(opNames[op], s.resource.Group, s.resource.Resource),
	}
	s.made[op].Store(made)
	return made
}

// failed counts an operation that failed.
func (m *Metrics) failed(s *series, op int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gone {
		m.errors.WithLabelValues(opNames[op], s.resource.Group, s.resource.Resource).Inc()
	}
}

// forget deletes the metrics of a resource. Operations that end later are not counted.
func (m *Metrics) forget(s *series) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	for _, name := range opNames {
		for _, vec := range []interface{ DeleteLabelValues(...string) bool }{m.seconds, m.total, m.errors} {
			vec.DeleteLabelValues(name, s.resource.Group, s.resource.Resource)
		}
	}
	m.events.DeleteLabelValues(s.resource.Group, s.resource.Resource)
}

// received counts an event of a resource.
func (m *Metrics) received(s *series) {
	if events := s.events.Load(); events != nil {
		(*events).Inc()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gone {
		events := m.events.WithLabelValues(s.resource.Group, s.resource.Resource)
		events.Inc()
		s.events.Store(&events)
	}
}

// metered measures reads and writes of keys, and counts the events of watches. An operation for a
// request is also a span of the request. metered does not measure Revision, which is called too
// often. Revision is a span only if the engine is remote, because otherwise it returns too quickly.
type metered struct {
	storage.Store
	remote  bool
	keys    Keys
	metrics *Metrics
}

// spanNames are the names of the spans of operations. Kubernetes' spans end in etcd3 as well,
// whatever serves its store.
var spanNames = [opCount]string{"Get etcd3", "List etcd3", "Txn etcd3", "Delete etcd3"}

// Unwrap implements storage.Wrapper.
func (s *metered) Unwrap() storage.Store { return s.Store }

// done counts an operation on key that has ended now, and ends its span. Errors that answer the
// question, such as a missing key or a failed precondition, do not count as failures.
func (s *metered) done(op int, key string, began time.Time, span *request.Span, err error) {
	r := s.keys.RecordOf(key)
	if r == nil { // a key of no resource
		span.End()
		return
	}
	span.Note("resource", r.series.resource.Resource)
	span.End()
	m := s.metrics.operation(r.series, op)
	if m == nil {
		return
	}
	m.total.Inc()
	m.seconds.Observe(time.Since(began).Seconds())
	switch storage.KindOf(err) {
	case storage.NotFound, storage.Exists, storage.Conflict, storage.Fenced, storage.Compacted:
	default:
		if err != nil {
			s.metrics.failed(r.series, op)
		}
	}
}

// Revision implements storage.Store.
func (s *metered) Revision(ctx context.Context) (storage.Revision, error) {
	if !s.remote {
		return s.Store.Revision(ctx)
	}
	ctx, span := request.Begin(ctx, request.SpanStorage, "GetCurrentResourceVersion etcd3")
	defer span.End()
	return s.Store.Revision(ctx)
}

// Get implements storage.Store.
func (s *metered) Get(ctx context.Context, key string) (storage.Entry, error) {
	began := time.Now()
	ctx, span := request.Begin(ctx, request.SpanStorage, spanNames[opGet])
	e, err := s.Store.Get(ctx, key)
	s.done(opGet, key, began, &span, err)
	return e, err
}

// Range implements storage.Store.
func (s *metered) Range(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
	began := time.Now()
	ctx, span := request.Begin(ctx, request.SpanStorage, spanNames[opList])
	res, err := s.Store.Range(ctx, req)
	s.done(opList, req.Prefix, began, &span, err)
	return res, err
}

// Put implements storage.Store.
func (s *metered) Put(ctx context.Context, key string, value []byte, pre storage.Pre,
	lease storage.LeaseID) (storage.Entry, error) {
	began := time.Now()
	ctx, span := request.Begin(ctx, request.SpanStorage, spanNames[opWrite])
	e, err := s.Store.Put(ctx, key, value, pre, lease)
	s.done(opWrite, key, began, &span, err)
	return e, err
}

// Delete implements storage.Store.
func (s *metered) Delete(ctx context.Context, key string, pre storage.Pre) (storage.Revision, error) {
	began := time.Now()
	ctx, span := request.Begin(ctx, request.SpanStorage, spanNames[opDelete])
	rev, err := s.Store.Delete(ctx, key, pre)
	s.done(opDelete, key, began, &span, err)
	return rev, err
}

// Watch implements storage.Store.
func (s *metered) Watch(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
	cursor, err := s.Store.Watch(ctx, req)
	if err != nil {
		return nil, err
	}
	return &meteredCursor{cursor, s}, nil
}

// meteredCursor counts the events of a cursor.
type meteredCursor struct {
	storage.Cursor
	of *metered
}

// Next implements storage.Cursor.
func (c *meteredCursor) Next(ctx context.Context) (storage.Batch, error) {
	batch, err := c.Cursor.Next(ctx)
	for i := range batch.Events {
		if r := c.of.keys.RecordOf(batch.Events[i].Key); r != nil {
			c.of.metrics.received(r.series)
		}
	}
	return batch, err
}
