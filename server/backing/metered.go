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

// Metrics counts and times the operations on the store. The names are Kubernetes' for every engine:
// etcd_requests_total also for a store of files.
type Metrics struct {
	seconds *prometheus.HistogramVec
	total   *prometheus.CounterVec
	errors  *prometheus.CounterVec
}

// operations holds the metrics of one resource, so that an operation costs no look-up of labels.
type operations [opCount]struct {
	seconds       prometheus.Observer
	total, failed prometheus.Counter
}

// series makes the metrics of one resource at its first operation: resources that nobody uses have
// none.
type series struct {
	resource meta.GroupResource
	made     atomic.Pointer[operations]
	mu       sync.Mutex
	gone     bool // forget was called: no metrics are made
}

// NewMetrics registers the metrics of stores in reg.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	labels := []string{"operation", "group", "resource"}
	m := &Metrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "etcd_request_duration_seconds",
			Help: "Time of an operation on the store, in seconds, by operation and resource.",
			Buckets: []float64{
				0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
			}}, labels),
		total: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "etcd_requests_total",
			Help: "Number of operations on the store, by operation and resource."}, labels),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "etcd_request_errors_total",
			Help: "Number of operations on the store that failed; an absent key or an unmet precondition is no failure."}, labels),
	}
	return m, errors.Join(reg.Register(m.seconds), reg.Register(m.total), reg.Register(m.errors))
}

// operationsOf returns the metrics of a resource, or nil after forget.
func (m *Metrics) operationsOf(s *series) *operations {
	if ops := s.made.Load(); ops != nil {
		return ops
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return nil
	}
	ops, gr := &operations{}, s.resource
	for i, name := range opNames {
		ops[i].seconds = m.seconds.WithLabelValues(name, gr.Group, gr.Resource)
		ops[i].total = m.total.WithLabelValues(name, gr.Group, gr.Resource)
		ops[i].failed = m.errors.WithLabelValues(name, gr.Group, gr.Resource)
	}
	s.made.Store(ops)
	return ops
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
}

// metered measures reads and writes of keys. An operation for a request is also a span of the
// request. metered does not count Revision, which is called too often. It is a span only if the
// engine is remote, because otherwise it returns too quickly.
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
	ops := s.metrics.operationsOf(r.series)
	if ops == nil {
		return
	}
	m := &ops[op]
	m.total.Inc()
	m.seconds.Observe(time.Since(began).Seconds())
	switch storage.KindOf(err) {
	case storage.NotFound, storage.Exists, storage.Conflict, storage.Fenced, storage.Compacted:
	default:
		if err != nil {
			m.failed.Inc()
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
