package filters

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// terminator is the component that refused a request to protect itself, instead of serving it.
type terminator uint8

const (
	notTerminated terminator = iota
	byServer
	byAggregator
)

// component returns the value of the label component.
func (t terminator) component() string {
	if t == byAggregator {
		return "aggregator"
	}
	return "apiserver"
}

// Terminated marks r as answered by the aggregator because the server behind it cannot be reached.
func Terminated(r *http.Request) { exchangeOf(r).response.terminated = byAggregator }

// newTerminations returns the counter of requests that were answered instead of served.
func newTerminations() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_request_terminations_total",
		Help: "Number of requests that the server refused to protect itself, that exceeded their time limit, " +
			"or whose server behind this one could not be reached.",
	}, []string{"verb", "group", "version", "resource", "subresource", "scope", "component", "code"})
}

// terminate counts a request that t answered with code.
func (m *Metrics) terminate(s *series, t terminator, code int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !s.gone {
		m.terminations.WithLabelValues(append(s.labels.values()[:6], t.component(), strconv.Itoa(code))...).Inc()
	}
}
