package plugins

import (
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/registry/admission"
)

// metrics measure the time of admission, under Kubernetes' names: steps that of all plugins of a
// phase together, plugins that of each plugin.
type metrics struct{ steps, plugins *prometheus.HistogramVec }

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	labels, buckets := []string{"type", "operation", "rejected"}, []float64{0.005, 0.025, 0.1, 0.5, 1, 2.5}
	times := func(of, help string, labels []string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "apiserver_admission_" + of + "_admission_duration_seconds", Help: help, Buckets: buckets}, labels)
	}
	m := &metrics{
		steps: times("step", "Time of all admission plugins together for a write, in seconds, by type of step, operation and rejection.", labels),
		plugins: times("controller", "Time of one admission plugin for a write, in seconds, by plugin, type of step, operation and rejection.",
			slices.Concat([]string{"name"}, labels)),
	}
	return m, errors.Join(reg.Register(m.steps), reg.Register(m.plugins))
}

// call has the labels of one call, apart from the plugin's name.
type call struct {
	validates bool // or else it mutates
	op        admission.Operation
	rejected  bool
}

// observer returns the function that records the calls of a plugin, or of all plugins together if
// plugin is "". admission.Chain.Observed calls observer once for each plugin. The map of calls is
// complete from the start and never changes, so it needs no lock. A series appears in the metrics
// when its first call is recorded.
func (m *metrics) observer(plugin string) admission.Observer {
	vec, first := m.steps, []string(nil)
	if plugin != "" {
		vec, first = m.plugins, []string{plugin}
	}
	calls := map[call]func() prometheus.Observer{}
	for _, op := range []admission.Operation{admission.Create, admission.Update, admission.Delete, admission.Connect} {
		for _, step := range []string{"admit", "validate"} {
			for _, rejected := range []bool{false, true} {
				calls[call{step == "validate", op, rejected}] = sync.OnceValue(func() prometheus.Observer {
					return vec.WithLabelValues(
						slices.Concat(first, []string{step, string(op), strconv.FormatBool(rejected)})...)
				})
			}
		}
	}
	return func(validates bool, op admission.Operation, took time.Duration, rejected bool) {
		calls[call{validates, op, rejected}]().Observe(took.Seconds())
	}
}
