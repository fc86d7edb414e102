package filters

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// terminator is who has answered a request in place of what it was for, in self-defence.
type terminator uint8

const (
	nobody terminator = iota
	byServer
	byAggregator
)

// component is what metrics call it.
func (t terminator) component() string {
	if t == byAggregator {
		return "aggregator"
	}
	return "apiserver"
}

// Terminated has a request counted as one that is answered in place of the server behind, which cannot be asked.
func Terminated(r *http.Request) { of(r).response.terminated = byAggregator }

func newTerminations() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_request_terminations_total",
		Help: "Requests that the server has answered in place of what they were for: there was no room, no time, or nobody to hand them on to.",
	}, []string{"verb", "group", "version", "resource", "subresource", "scope", "component", "code"})
}

// terminate counts a request that was answered with code by t.
func (m *Metrics) terminate(s *series, t terminator, code int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !s.gone {
		m.terminations.WithLabelValues(append(s.labels.values()[:6], t.component(), strconv.Itoa(code))...).Inc()
	}
}
