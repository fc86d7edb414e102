package autoscalingv1

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv2"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Annotations hold what this version has no fields for. The conversion to this version makes them,
// and the conversion back removes them and ignores those that it cannot read.
const (
	metricsAnnotation        = "autoscaling.alpha.kubernetes.io/metrics"
	behaviorAnnotation       = "autoscaling.alpha.kubernetes.io/behavior"
	currentMetricsAnnotation = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation     = "autoscaling.alpha.kubernetes.io/conditions"
)

// note sets an annotation to the JSON of a value.
func note(m *meta.ObjectMeta, key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if m.Annotations == nil {
		m.Annotations = make(map[string]string)
	}
	m.Annotations[key] = string(text)
	return nil
}

// noted reads an annotation, and reports whether it is there and fits.
func noted(m *meta.ObjectMeta, key string, value any) bool {
	text, ok := m.Annotations[key]
	return ok && json.Unmarshal([]byte(text), value) == nil
}

// addConversions registers the conversions of autoscalers and of the structs that differ.
func addConversions(s *scheme.Scheme) {
	scheme.AddConversion(s, func(in *HorizontalPodAutoscaler, out *autoscalingv2.HorizontalPodAutoscaler) error {
		if err := scheme.ConvertFields(s, in, out); err != nil {
			return err
		}
		fromNotes(&in.ObjectMeta, out)
		return nil
	})
	scheme.AddConversion(s, func(in *autoscalingv2.HorizontalPodAutoscaler, out *HorizontalPodAutoscaler) error {
		if err := scheme.ConvertFields(s, in, out); err != nil {
			return err
		}
		return toNotes(&out.ObjectMeta, in)
	})
	scheme.AddConversion(s,
		func(in *HorizontalPodAutoscalerSpec, out *autoscalingv2.HorizontalPodAutoscalerSpec) error {
			if percent := in.TargetCPUUtilizationPercentage; percent != nil {
				out.Metrics = []autoscalingv2.MetricSpec{autoscalingv2.CPUUtilization(*percent)}
			}
			return scheme.ConvertFields(s, in, out)
		},
	)
	scheme.AddConversion(s,
		func(in *autoscalingv2.HorizontalPodAutoscalerSpec, out *HorizontalPodAutoscalerSpec) error {
			if i := slices.IndexFunc(in.Metrics, isCPU); i >= 0 {
				out.TargetCPUUtilizationPercentage = scheme.DeepCopy(in.Metrics[i].Resource.Target.AverageUtilization)
			}
			return scheme.ConvertFields(s, in, out)
		},
	)
	scheme.AddConversion(s,
		func(in *HorizontalPodAutoscalerStatus, out *autoscalingv2.HorizontalPodAutoscalerStatus) error {
			if percent := in.CurrentCPUUtilizationPercentage; percent != nil {
				out.CurrentMetrics = []autoscalingv2.MetricStatus{cpuUse(*percent)}
			}
			return scheme.ConvertFields(s, in, out)
		},
	)
	scheme.AddConversion(s,
		func(in *autoscalingv2.HorizontalPodAutoscalerStatus, out *HorizontalPodAutoscalerStatus) error {
			for i := range in.CurrentMetrics {
				if m := &in.CurrentMetrics[i]; isCPUUse(m) {
					out.CurrentCPUUtilizationPercentage = scheme.DeepCopy(m.Resource.Current.AverageUtilization)
				}
			}
			return scheme.ConvertFields(s, in, out)
		},
	)
}

// isCPU reports whether a measurement is the one that this version has a field for.
func isCPU(m autoscalingv2.MetricSpec) bool {
	return m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil &&
		m.Resource.Name == corev1.ResourceCPU && m.Resource.Target.AverageUtilization != nil
}

// isCPUUse is isCPU for what was measured.
func isCPUUse(m *autoscalingv2.MetricStatus) bool {
	return m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil &&
		m.Resource.Name == corev1.ResourceCPU && m.Resource.Current.AverageUtilization != nil
}

func cpuUse(percent int32) autoscalingv2.MetricStatus {
	return autoscalingv2.MetricStatus{
		Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricStatus{
			Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{AverageUtilization: &percent},
		},
	}
}

// toNotes writes what this version has no fields for into annotations: measurements other than the
// use of CPU, all of what was measured, the behavior and the conditions.
func toNotes(m *meta.ObjectMeta, in *autoscalingv2.HorizontalPodAutoscaler) error {
	autoscalingv2.DropConversionAnnotations(m)
	var metrics []metricSpec
	for i := range in.Spec.Metrics {
		if !isCPU(in.Spec.Metrics[i]) {
			metrics = append(metrics, v1Spec(&in.Spec.Metrics[i]))
		}
	}
	var current []metricStatus
	for i := range in.Status.CurrentMetrics {
		current = append(current, v1Status(&in.Status.CurrentMetrics[i]))
	}
	var errs []error
	if len(metrics) > 0 {
		errs = append(errs, note(m, metricsAnnotation, metrics))
	}
	if len(current) > 0 {
		errs = append(errs, note(m, currentMetricsAnnotation, current))
	}
	if b := in.Spec.Behavior; b != nil {
		errs = append(errs, note(m, behaviorAnnotation, behaviorNote{noteRules(b.ScaleUp), noteRules(b.ScaleDown)}))
	}
	if list := in.Status.Conditions; len(list) > 0 {
		errs = append(errs, note(m, conditionsAnnotation, list))
	}
	return errors.Join(errs...)
}

// fromNotes completes an autoscaler with what annotations in m say. The use of CPU, which a field
// has brought along, becomes the last measurement, and the only one if there is none.
func fromNotes(m *meta.ObjectMeta, out *autoscalingv2.HorizontalPodAutoscaler) {
	spec, status := &out.Spec, &out.Status
	var metrics []metricSpec
	if noted(m, metricsAnnotation, &metrics) {
		var list []autoscalingv2.MetricSpec
		for i := range metrics {
			list = append(list, metrics[i].hub())
		}
		spec.Metrics = append(list, spec.Metrics...)
	}
	if len(spec.Metrics) == 0 {
		spec.Metrics = []autoscalingv2.MetricSpec{autoscalingv2.CPUUtilization(autoscalingv2.DefaultCPUUtilization)}
	}
	// The names of fields in JSON and in Go differ only in the case of letters, which does not
	// count.
	var behavior autoscalingv2.HorizontalPodAutoscalerBehavior
	if noted(m, behaviorAnnotation, &behavior) && behavior != (autoscalingv2.HorizontalPodAutoscalerBehavior{}) {
		spec.Behavior = &behavior
	}
	var current []metricStatus
	if noted(m, currentMetricsAnnotation, &current) {
		status.CurrentMetrics = make([]autoscalingv2.MetricStatus, len(current))
		for i := range current {
			status.CurrentMetrics[i] = current[i].hub()
		}
	}
	var conditions []autoscalingv2.HorizontalPodAutoscalerCondition
	if noted(m, conditionsAnnotation, &conditions) {
		status.Conditions = conditions
	}
	autoscalingv2.DropConversionAnnotations(&out.ObjectMeta)
}
