package health

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics count the results of the checks that endpoints make, under Kubernetes' names (KEP-3466).
// They have a small registry of their own, so /metrics/slis, where the Handler shows it, can be
// scraped often. A request to the path of a single check does not count.
type metrics struct {
	last *prometheus.GaugeVec   // 1 if the last result was good, else 0; by check and endpoint
	all  *prometheus.CounterVec // the number of results, by check, endpoint and status
	http.Handler
}

// newMetrics returns the metrics of a process that began at started.
func newMetrics(started time.Time) *metrics {
	m := &metrics{
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kubernetes_healthcheck",
			Help: "1 if the last run of a health check succeeded, else 0, by check (name) and endpoint (type)."},
			[]string{"name", "type"}),
		all: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "kubernetes_healthchecks_total",
			Help: "Number of runs of health checks, by check (name), endpoint (type) and status."},
			[]string{"name", "type", "status"}),
	}
	start := prometheus.NewGauge(prometheus.GaugeOpts{Name: "process_start_time_seconds",
		Help: "Time at which the process started, in Unix seconds."})
	start.Set(float64(started.UnixMilli()) / 1000)
	reg := prometheus.NewRegistry()
	reg.MustRegister(m.last, m.all, start) // the registry has nothing else
	m.Handler = promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	return m
}

// count counts the result of a check that an endpoint, such as "readyz", has made.
func (m *metrics) count(check, endpoint string, err error) {
	good, status := 1.0, "success"
	if err != nil {
		good, status = 0, "error"
	}
	m.last.WithLabelValues(check, endpoint).Set(good)
	m.all.WithLabelValues(check, endpoint, status).Inc()
}
