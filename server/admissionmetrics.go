package server

import (
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/registry/admission"
)

// admissionMetrics time what admission does, under Kubernetes' names.
type admissionMetrics struct{ steps, plugins *prometheus.HistogramVec }

func newAdmissionMetrics(reg prometheus.Registerer) (*admissionMetrics, error) {
	labels, buckets := []string{"type", "operation", "rejected"}, []float64{0.005, 0.025, 0.1, 0.5, 1, 2.5}
	m := &admissionMetrics{
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_admission_step_admission_duration_seconds",
			Help: "Time that all admission plugins together take about a write, in seconds.", Buckets: buckets}, labels),
		plugins: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_admission_controller_admission_duration_seconds",
			Help: "Time that an admission plugin takes about a write, in seconds.", Buckets: buckets}, slices.Concat([]string{"name"}, labels)),
	}
	return m, errors.Join(reg.Register(m.steps), reg.Register(m.plugins))
}

// admissionCall is what calls of a plugin are told apart by.
type admissionCall struct {
	validates bool
	op        admission.Operation
	rejected  bool
}

// observer is for admission.Chain. What belongs to a call is looked up when it first happens: those that there are not are not shown.
func (m *admissionMetrics) observer(plugin string) admission.Observer {
	vec, first := m.steps, []string(nil)
	if plugin != "" {
		vec, first = m.plugins, []string{plugin}
	}
	calls := map[admissionCall]func() prometheus.Observer{}
	for _, op := range []admission.Operation{admission.Create, admission.Update, admission.Delete, admission.Connect} {
		for _, step := range []string{"admit", "validate"} {
			for _, rejected := range []bool{false, true} {
				calls[admissionCall{step == "validate", op, rejected}] = sync.OnceValue(func() prometheus.Observer {
					return vec.WithLabelValues(slices.Concat(first, []string{step, string(op), strconv.FormatBool(rejected)})...)
				})
			}
		}
	}
	return func(validates bool, op admission.Operation, took time.Duration, rejected bool) {
		calls[admissionCall{validates, op, rejected}]().Observe(took.Seconds())
	}
}
