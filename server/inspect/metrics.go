package inspect

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"
)

// Metrics says which metrics and labels /metrics shows.
type Metrics struct {
	// Disabled are the names of metrics that /metrics leaves out. (--disabled-metrics)
	Disabled []string
	// LabelValues are the allowed values of a label, by the name of the metric and of the label.
	// All series with other values are added up in one with the value "unexpected".
	// (--allow-metric-labels)
	LabelValues map[string]map[string][]string
	// Hidden also shows the deprecated metrics that Kubernetes hides.
	// (--show-hidden-metrics-for-version)
	Hidden bool
}

// shownMetrics is a registry as /metrics shows it by its config.
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

// hiddenMetrics maps a metric to the deprecated one that it replaces, which has the same values and
// which Kubernetes hides, with the release of its deprecation.
var hiddenMetrics = map[string]struct{ name, since string }{
	"apiserver_request_sli_duration_seconds": {"apiserver_request_slo_duration_seconds", "1.27.0"},
}

// withHidden adds the hidden metrics, as copies of the metrics that replace them.
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

// unexpected replaces the label values that are not allowed, as in Kubernetes.
const unexpected = "unexpected"

// constrained returns the series of a family with allowed label values only: values has them by
// label. It adds up series whose labels have become equal:
//
//	{verb="GET"} 2, {verb="X"} 1, {verb="Y"} 4  becomes  {verb="GET"} 2, {verb="unexpected"} 5
func constrained(metrics []*dto.Metric, values map[string][]string) []*dto.Metric {
	var list []*dto.Metric
	known := map[string]*dto.Metric{}
	for _, m := range metrics {
		labels := make([]*dto.LabelPair, len(m.Label)) // m's own belong to the registry
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

// addMetric adds the value of m to sum, which is of the same family. It deletes the quantiles of a
// summary, because quantiles cannot be added.
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
