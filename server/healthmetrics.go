package server

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// healthMetrics count what comes of the checks that endpoints of health make, under Kubernetes' names. They are at /metrics/slis, apart from
// all others, so that they can be asked for often.
type healthMetrics struct {
	last *prometheus.GaugeVec
	all  *prometheus.CounterVec
	http.Handler
}

func newHealthMetrics() *healthMetrics {
	m := &healthMetrics{
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kubernetes_healthcheck",
			Help: "1 if a check was good when it was made last, by an endpoint, else 0."}, []string{"name", "type"}),
		all: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "kubernetes_healthchecks_total",
			Help: "Checks that endpoints have made, by what came of them."}, []string{"name", "type", "status"}),
	}
	start := prometheus.NewGauge(prometheus.GaugeOpts{Name: "process_start_time_seconds",
		Help: "When the process began, in seconds of Unix time."})
	start.Set(float64(processStart.UnixMilli()) / 1000)
	reg := prometheus.NewRegistry()
	reg.MustRegister(m.last, m.all, start) // of a registry that has nothing else
	m.Handler = promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	return m
}

// made counts a check of an endpoint.
func (m *healthMetrics) made(check, endpoint string, err error) {
	good, status := 1.0, "success"
	if err != nil {
		good, status = 0, "error"
	}
	m.last.WithLabelValues(check, endpoint).Set(good)
	m.all.WithLabelValues(check, endpoint, status).Inc()
}
