package inspect

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"
)

// Metrics says what /metrics shows.
type Metrics struct {
	// Disabled are the names of metrics that are not shown. (--disabled-metrics)
	Disabled []string
	// LabelValues are the values that a label of a metric may have, by the names of both. Metrics
	// with other values are shown as one, with the value "unexpected". (--allow-metric-labels)
	LabelValues map[string]map[string][]string
	// Hidden also shows the metrics that Kubernetes hides, because others have taken their place.
	// (--show-hidden-metrics-for-version)
	Hidden bool
}

// shownMetrics is what /metrics shows of everything that is counted.
type shownMetrics struct {
	prometheus.Gatherer
	config *Metrics
}

// Gather implements prometheus.Gatherer.
func (s shownMetrics) Gather() ([]*dto.MetricFamily, error) {
	families, err := s.Gatherer.Gather()
	if s.config.Hidden {
		families = withHidden(families)
	}
	shown := families[:0]
	for _, f := range families {
		if slices.Contains(s.config.Disabled, f.GetName()) {
			continue
		}
		if values := s.config.LabelValues[f.GetName()]; values != nil {
			f.Metric = constrained(f.Metric, values)
		}
		shown = append(shown, f)
	}
	return shown, err
}

// hiddenMetrics are the metrics that Kubernetes hides, by the names of those that have taken their
// place and say the same.
var hiddenMetrics = map[string]struct{ name, since string }{
	"apiserver_request_sli_duration_seconds": {"apiserver_request_slo_duration_seconds", "1.27.0"},
}

// withHidden adds the hidden metrics to those whose place they had.
func withHidden(families []*dto.MetricFamily) []*dto.MetricFamily {
	for _, f := range families {
		if old, is := hiddenMetrics[f.GetName()]; is {
			f = proto.Clone(f).(*dto.MetricFamily)
			f.Name, f.Help = &old.name, new("(Deprecated since "+old.since+") "+f.GetHelp())
			families = append(families, f)
		}
	}
	return families
}

// unexpected is the value that Kubernetes gives a label in place of those that it may not have.
const unexpected = "unexpected"

// constrained returns the metrics of a family with the values of labels that they may have. Metrics
// that only differed in other values become one.
func constrained(metrics []*dto.Metric, values map[string][]string) []*dto.Metric {
	var list []*dto.Metric
	known := map[string]*dto.Metric{}
	for _, m := range metrics {
		labels := make([]*dto.LabelPair, len(m.Label)) // those of m are the registry's
		var key strings.Builder
		for i, l := range m.Label {
			if allowed, are := values[l.GetName()]; are && !slices.Contains(allowed, l.GetValue()) {
				l = &dto.LabelPair{Name: l.Name, Value: new(unexpected)}
			}
			labels[i] = l
			key.WriteString(l.GetName() + "\xff" + l.GetValue() + "\xff")
		}
		if sum := known[key.String()]; sum != nil {
			addMetric(sum, m)
			continue
		}
		m.Label = labels
		known[key.String()] = m
		list = append(list, m)
	}
	return list
}

// addMetric adds what m counts to sum, which is of the same family. Quantiles cannot be added.
func addMetric(sum, m *dto.Metric) {
	switch {
	case sum.Counter != nil:
		sum.Counter.Value = new(sum.Counter.GetValue() + m.Counter.GetValue())
	case sum.Gauge != nil:
		sum.Gauge.Value = new(sum.Gauge.GetValue() + m.Gauge.GetValue())
	case sum.Summary != nil:
		sum.Summary.SampleCount = new(sum.Summary.GetSampleCount() + m.Summary.GetSampleCount())
		sum.Summary.SampleSum = new(sum.Summary.GetSampleSum() + m.Summary.GetSampleSum())
		sum.Summary.Quantile = nil
	case sum.Histogram != nil:
		sum.Histogram.SampleCount = new(sum.Histogram.GetSampleCount() + m.Histogram.GetSampleCount())
		sum.Histogram.SampleSum = new(sum.Histogram.GetSampleSum() + m.Histogram.GetSampleSum())
		for i, b := range sum.Histogram.Bucket {
			b.CumulativeCount = new(b.GetCumulativeCount() + m.Histogram.Bucket[i].GetCumulativeCount())
		}
	}
}
