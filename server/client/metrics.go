package client

import (
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts and times the requests of a Client, under Kubernetes' names. All methods may be
// called at once.
type Metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	series   sync.Map // answers -> *answered
}

// answers are the label values of a request.
type answers struct {
	method, host string
	code         int
}

// answered holds the series of requests with the same labels.
type answered struct {
	requests prometheus.Counter
	seconds  prometheus.Observer
}

// NewMetrics registers the metrics with reg.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rest_client_requests_total",
			Help: "Number of requests of the server's own loops to the API, by method and status code; <error> if there was no answer."},
			[]string{"code", "method", "host"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "rest_client_request_duration_seconds",
			Help:    "Time until a request of the server's own loops was answered, in seconds, by method.",
			Buckets: []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60}}, []string{"verb", "host"}),
	}
	return m, errors.Join(reg.Register(m.requests), reg.Register(m.seconds))
}

// Answered implements Config.Answered.
func (m *Metrics) Answered(method, host string, code int, took time.Duration) {
	labels := answers{method, host, code}
	known, ok := m.series.Load(labels)
	if !ok {
		label := "<error>"
		if code != 0 {
			label = strconv.Itoa(code)
		}
		known, _ = m.series.LoadOrStore(labels,
			&answered{m.requests.WithLabelValues(label, method, host), m.seconds.WithLabelValues(method, host)})
	}
	s := known.(*answered)
	s.requests.Inc()
	s.seconds.Observe(took.Seconds())
}
