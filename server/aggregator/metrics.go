package aggregator

import (
	"errors"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
)

// metrics shows the availability of servers behind, under Kubernetes' names of the metrics.
type metrics struct {
	unavailable *prometheus.GaugeVec
	lost        *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		unavailable: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "aggregator_unavailable_apiservice",
			Help: "1 for each API service whose status does not say that it is available, else 0."}, []string{"name"}),
		lost: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "aggregator_unavailable_apiservice_total",
			Help: "Number of times that an available API service became unavailable, by API service and reason."},
			[]string{"name", "reason"}),
	}
	return m, errors.Join(reg.Register(m.unavailable), reg.Register(m.lost))
}

// show sets the gauge of an APIService from its condition Available.
func (m *metrics) show(s *apiregistrationv1.APIService) {
	unavailable := 1.0
	if isAvailable(s) {
		unavailable = 0
	}
	// The name is cloned because it shares the memory of the whole object.
	m.unavailable.WithLabelValues(strings.Clone(s.Name)).Set(unavailable)
}

// forget deletes the series of an APIService that is gone.
func (m *metrics) forget(name string) {
	m.unavailable.DeleteLabelValues(name)
	m.lost.DeletePartialMatch(prometheus.Labels{"name": name})
}
