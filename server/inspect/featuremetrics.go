package inspect

import "github.com/prometheus/client_golang/prometheus"

// Feature is a feature gate, as the metric kubernetes_feature_enabled shows it.
type Feature struct {
	Name string
	// Stage is ALPHA, BETA or DEPRECATED, or "" for a feature that is generally available.
	Stage   string
	Enabled bool
}

// registerFeatures registers the metric kubernetes_feature_enabled, with a series for each feature.
// If features is nil, it registers nothing.
func registerFeatures(reg prometheus.Registerer, features func() []Feature) error {
	if features == nil {
		return nil
	}
	enabled := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kubernetes_feature_enabled",
		Help: "1 for each feature gate whose feature this server has, else 0, by name and stage (empty: generally available)."},
		[]string{"name", "stage"})
	for _, f := range features() {
		value := 0.0
		if f.Enabled {
			value = 1
		}
		enabled.WithLabelValues(f.Name, f.Stage).Set(value)
	}
	return reg.Register(enabled)
}
