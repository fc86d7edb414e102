package inspect

import (
	"errors"
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
	// LabelValues has the allowed values of labels, by the name of the metric and then of the
	// label. A label that it lacks may have any value. All series with values that are not allowed
	// are added up in one series with the value "unexpected". (--allow-metric-labels)
	LabelValues map[string]map[string][]string
	// Hidden says that /metrics also shows the deprecated metrics that Kubernetes hides.
	// (--show-hidden-metrics-for-version)
	Hidden bool
}

// shownMetrics is a registry that shows what config selects. /metrics serves it.
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

// hiddenMetrics has the deprecated metrics that Kubernetes hides, each with the release that
// deprecated it. The key is the metric that replaces the deprecated one and has the same values.
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

// registerCounts registers the metrics about what config leaves out of /metrics.
func registerCounts(reg prometheus.Registerer, config *Metrics) error {
	disabled := prometheus.NewCounter(prometheus.CounterOpts{Name: "disabled_metrics_total",
		Help: "Number of metrics that are left out because they are disabled."})
	disabled.Add(float64(len(config.Disabled)))
	hidden := prometheus.NewCounter(prometheus.CounterOpts{Name: "hidden_metrics_total",
		Help: "Number of deprecated metrics that are left out."})
	if !config.Hidden {
		hidden.Add(float64(len(hiddenMetrics)))
	}
	return errors.Join(reg.Register(disabled), reg.Register(hidden))
}

// unexpected replaces the label values that are not allowed, as in Kubernetes.
const unexpected = "unexpected"

// constrained returns the series of a family with allowed label values only. values has the allowed
// values by label; other values become "unexpected". It adds up series whose labels have become
// equal:
//
//	{verb="GET"} 2, {verb="X"} 1, {verb="Y"} 4  becomes  {verb="GET"} 2, {verb="unexpected"} 5
func constrained(metrics []*dto.Metric, values map[string][]string) []*dto.Metric {
	var list []*dto.Metric
	sums := map[string]*dto.Metric{}
	for _, m := range metrics {
		labels := make([]*dto.LabelPair, len(m.Label)) // the registry keeps m.Label, so nobody may change it
		var key strings.Builder
		for i, l := range m.Label {
			if allowed, are := values[l.GetName()]; are && !slices.Contains(allowed, l.GetValue()) {
				l = &dto.LabelPair{Name: l.Name, Value: new(unexpected)}
			}
			labels[i] = l
			key.WriteString(l.GetName() + "\xff" + l.GetValue() + "\xff")
		}
		if sum := sums[key.String()]; sum != nil {
			addMetric(sum, m)
			continue
		}
		m.Label = labels
		sums[key.String()] = m
		list = append(list, m)
	}
	return list
}

// addMetric adds the value of m to sum. Both are series of one family, so the buckets of histograms
// are the same. It deletes the quantiles of a summary, because quantiles cannot be added.
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
