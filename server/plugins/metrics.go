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

// metrics measure the time of admission, under Kubernetes' names. steps has the time of all plugins
// of a phase together, and plugins has the time of each plugin.
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

// operations are the operations of writes. The index of an operation selects its series.
var operations = []admission.Operation{admission.Create, admission.Update, admission.Delete, admission.Connect}

// observer returns the function that records the calls of a plugin, or of all plugins together if
// plugin is "". admission.Chain.WithObserver calls observer once for each plugin. The array of
// series never changes, so it needs no lock. A series appears in the metrics when its first call is
// recorded.
func (m *metrics) observer(plugin string) admission.Observer {
	vec, first := m.steps, []string(nil)
	if plugin != "" {
		vec, first = m.plugins, []string{plugin}
	}
	var series [4][2][2]func() prometheus.Observer // by operation, validates, rejected
	for i, op := range operations {
		for j, step := range []string{"admit", "validate"} {
			for k := range 2 {
				series[i][j][k] = sync.OnceValue(func() prometheus.Observer {
					return vec.WithLabelValues(
						slices.Concat(first, []string{step, string(op), strconv.FormatBool(k == 1)})...)
				})
			}
		}
	}
	return func(validates bool, op admission.Operation, took time.Duration, rejected bool) {
		series[slices.Index(operations, op)][index(validates)][index(rejected)]().Observe(took.Seconds())
	}
}

// index is 1 for true and 0 for false.
func index(b bool) int {
	if b {
		return 1
	}
	return 0
}
