package autoscalingv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv2"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The forms that annotations have. They are those of versions before autoscaling/v2.

type metricSpec struct {
	Type              autoscalingv2.MetricSourceType `json:"type"`
	Object            *objectSource                  `json:"object,omitempty"`
	Pods              *podsSource                    `json:"pods,omitempty"`
	Resource          *resourceSource                `json:"resource,omitempty"`
	ContainerResource *containerSource               `json:"containerResource,omitempty"`
	External          *externalSource                `json:"external,omitempty"`
}

type objectSource struct {
	Target       CrossVersionObjectReference `json:"target"`
	MetricName   string                      `json:"metricName"`
	TargetValue  meta.Quantity               `json:"targetValue"`
	Selector     *meta.LabelSelector         `json:"selector,omitempty"`
	AverageValue *meta.Quantity              `json:"averageValue,omitempty"`
}

type podsSource struct {
	MetricName         string              `json:"metricName"`
	TargetAverageValue meta.Quantity       `json:"targetAverageValue"`
	Selector           *meta.LabelSelector `json:"selector,omitempty"`
}

type resourceSource struct {
	Name                     corev1.ResourceName `json:"name"`
	TargetAverageUtilization *int32              `json:"targetAverageUtilization,omitempty"`
	TargetAverageValue       *meta.Quantity      `json:"targetAverageValue,omitempty"`
}

type containerSource struct {
	resourceSource
	Container string `json:"container"`
}

type externalSource struct {
	MetricName         string              `json:"metricName"`
	MetricSelector     *meta.LabelSelector `json:"metricSelector,omitempty"`
	TargetValue        *meta.Quantity      `json:"targetValue,omitempty"`
	TargetAverageValue *meta.Quantity      `json:"targetAverageValue,omitempty"`
}

type metricStatus struct {
	Type              autoscalingv2.MetricSourceType `json:"type"`
	Object            *objectStatus                  `json:"object,omitempty"`
	Pods              *podsStatus                    `json:"pods,omitempty"`
	Resource          *resourceStatus                `json:"resource,omitempty"`
	ContainerResource *containerStatus               `json:"containerResource,omitempty"`
	External          *externalStatus                `json:"external,omitempty"`
}

type objectStatus struct {
	Target       CrossVersionObjectReference `json:"target"`
	MetricName   string                      `json:"metricName"`
	CurrentValue meta.Quantity               `json:"currentValue"`
	Selector     *meta.LabelSelector         `json:"selector,omitempty"`
	AverageValue *meta.Quantity              `json:"averageValue,omitempty"`
}

type podsStatus struct {
	MetricName          string              `json:"metricName"`
	CurrentAverageValue meta.Quantity       `json:"currentAverageValue"`
	Selector            *meta.LabelSelector `json:"selector,omitempty"`
}

type resourceStatus struct {
	Name                      corev1.ResourceName `json:"name"`
	CurrentAverageUtilization *int32              `json:"currentAverageUtilization,omitempty"`
	CurrentAverageValue       meta.Quantity       `json:"currentAverageValue"`
}

type containerStatus struct {
	resourceStatus
	Container string `json:"container"`
}

type externalStatus struct {
	MetricName          string              `json:"metricName"`
	MetricSelector      *meta.LabelSelector `json:"metricSelector,omitempty"`
	CurrentValue        meta.Quantity       `json:"currentValue"`
	CurrentAverageValue *meta.Quantity      `json:"currentAverageValue,omitempty"`
}

// behaviorNote is how a behavior is written: under the names of its fields in Go.
type behaviorNote struct{ ScaleUp, ScaleDown *rulesNote }

type rulesNote struct {
	StabilizationWindowSeconds *int32
	SelectPolicy               *autoscalingv2.ScalingPolicySelect
	Policies                   []policyNote
	Tolerance                  *meta.Quantity
}

type policyNote struct {
	Type          autoscalingv2.HPAScalingPolicyType
	Value         int32
	PeriodSeconds int32
}

func noteRules(r *autoscalingv2.HPAScalingRules) *rulesNote {
	if r == nil {
		return nil
	}
	note := &rulesNote{
		StabilizationWindowSeconds: r.StabilizationWindowSeconds, SelectPolicy: r.SelectPolicy, Tolerance: r.Tolerance,
	}
	if r.Policies != nil {
		note.Policies = make([]policyNote, len(r.Policies))
	}
	for i, p := range r.Policies {
		note.Policies[i] = policyNote(p)
	}
	return note
}

// v1Spec is how a measurement is written. It shares memory with m.
func v1Spec(m *autoscalingv2.MetricSpec) metricSpec {
	out := metricSpec{Type: m.Type}
	if s := m.Object; s != nil {
		out.Object = &objectSource{
			v1Reference(s.DescribedObject), s.Metric.Name, scheme.OrZero(s.Target.Value),
			s.Metric.Selector, s.Target.AverageValue,
		}
	}
	if s := m.Pods; s != nil {
		out.Pods = &podsSource{s.Metric.Name, scheme.OrZero(s.Target.AverageValue), s.Metric.Selector}
	}
	if s := m.Resource; s != nil {
		out.Resource = &resourceSource{s.Name, s.Target.AverageUtilization, s.Target.AverageValue}
	}
	if s := m.ContainerResource; s != nil {
		out.ContainerResource = &containerSource{
			resourceSource{s.Name, s.Target.AverageUtilization, s.Target.AverageValue}, s.Container,
		}
	}
	if s := m.External; s != nil {
		out.External = &externalSource{s.Metric.Name, s.Metric.Selector, s.Target.Value, s.Target.AverageValue}
	}
	return out
}

// hub is the measurement that is written so. It may share memory with m.
func (m *metricSpec) hub() autoscalingv2.MetricSpec {
	out := autoscalingv2.MetricSpec{Type: m.Type}
	if s := m.Object; s != nil {
		out.Object = &autoscalingv2.ObjectMetricSource{
			DescribedObject: hubReference(s.Target), Target: s.target(),
			Metric: autoscalingv2.MetricIdentifier{Name: s.MetricName, Selector: s.Selector},
		}
	}
	if s := m.Pods; s != nil {
		out.Pods = &autoscalingv2.PodsMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: s.MetricName, Selector: s.Selector},
			Target: autoscalingv2.MetricTarget{
				Type: autoscalingv2.AverageValueMetricType, AverageValue: &s.TargetAverageValue,
			},
		}
	}
	if s := m.Resource; s != nil {
		out.Resource = &autoscalingv2.ResourceMetricSource{Name: s.Name, Target: s.target()}
	}
	if s := m.ContainerResource; s != nil {
		out.ContainerResource = &autoscalingv2.ContainerResourceMetricSource{
			Name: s.Name, Target: s.target(), Container: s.Container,
		}
	}
	if s := m.External; s != nil {
		target := autoscalingv2.MetricTarget{
			Type: autoscalingv2.ValueMetricType, Value: s.TargetValue, AverageValue: s.TargetAverageValue,
		}
		if s.TargetValue == nil {
			target.Type = autoscalingv2.AverageValueMetricType
		}
		out.External = &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: s.MetricName, Selector: s.MetricSelector}, Target: target,
		}
	}
	return out
}

// target leaves out a value of 0 beside an average: it could not be left out when it was written.
func (s *objectSource) target() autoscalingv2.MetricTarget {
	if s.AverageValue == nil {
		return autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: &s.TargetValue}
	}
	t := autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: s.AverageValue}
	if s.TargetValue.Sign() != 0 {
		t.Value = &s.TargetValue
	}
	return t
}

func (s *resourceSource) target() autoscalingv2.MetricTarget {
	t := autoscalingv2.MetricTarget{
		Type:         autoscalingv2.UtilizationMetricType,
		AverageValue: s.TargetAverageValue, AverageUtilization: s.TargetAverageUtilization,
	}
	if s.TargetAverageUtilization == nil {
		t.Type = autoscalingv2.AverageValueMetricType
	}
	return t
}

// v1Status is how something that was measured is written. It shares memory with m.
func v1Status(m *autoscalingv2.MetricStatus) metricStatus {
	out := metricStatus{Type: m.Type}
	if s := m.Object; s != nil {
		out.Object = &objectStatus{
			v1Reference(s.DescribedObject), s.Metric.Name, scheme.OrZero(s.Current.Value),
			s.Metric.Selector, s.Current.AverageValue,
		}
	}
	if s := m.Pods; s != nil {
		out.Pods = &podsStatus{s.Metric.Name, scheme.OrZero(s.Current.AverageValue), s.Metric.Selector}
	}
	if s := m.Resource; s != nil {
		out.Resource = &resourceStatus{s.Name, s.Current.AverageUtilization, scheme.OrZero(s.Current.AverageValue)}
	}
	if s := m.ContainerResource; s != nil {
		out.ContainerResource = &containerStatus{
			resourceStatus{s.Name, s.Current.AverageUtilization, scheme.OrZero(s.Current.AverageValue)}, s.Container,
		}
	}
	if s := m.External; s != nil {
		out.External = &externalStatus{
			s.Metric.Name, s.Metric.Selector, scheme.OrZero(s.Current.Value), s.Current.AverageValue,
		}
	}
	return out
}

// hub is what was measured that is written so. It may share memory with m.
func (m *metricStatus) hub() autoscalingv2.MetricStatus {
	out := autoscalingv2.MetricStatus{Type: m.Type}
	if s := m.Object; s != nil {
		out.Object = &autoscalingv2.ObjectMetricStatus{
			Metric:          autoscalingv2.MetricIdentifier{Name: s.MetricName, Selector: s.Selector},
			Current:         autoscalingv2.MetricValueStatus{Value: &s.CurrentValue, AverageValue: s.AverageValue},
			DescribedObject: hubReference(s.Target),
		}
	}
	if s := m.Pods; s != nil {
		out.Pods = &autoscalingv2.PodsMetricStatus{
			Metric:  autoscalingv2.MetricIdentifier{Name: s.MetricName, Selector: s.Selector},
			Current: autoscalingv2.MetricValueStatus{AverageValue: &s.CurrentAverageValue},
		}
	}
	if s := m.Resource; s != nil {
		out.Resource = &autoscalingv2.ResourceMetricStatus{Name: s.Name, Current: s.current()}
	}
	if s := m.ContainerResource; s != nil {
		out.ContainerResource = &autoscalingv2.ContainerResourceMetricStatus{
			Name: s.Name, Current: s.current(), Container: s.Container,
		}
	}
	if s := m.External; s != nil {
		out.External = &autoscalingv2.ExternalMetricStatus{
			Metric:  autoscalingv2.MetricIdentifier{Name: s.MetricName, Selector: s.MetricSelector},
			Current: autoscalingv2.MetricValueStatus{Value: &s.CurrentValue, AverageValue: s.CurrentAverageValue},
		}
	}
	return out
}

func (s *resourceStatus) current() autoscalingv2.MetricValueStatus {
	return autoscalingv2.MetricValueStatus{
		AverageValue: &s.CurrentAverageValue, AverageUtilization: s.CurrentAverageUtilization,
	}
}

func v1Reference(r autoscalingv2.CrossVersionObjectReference) CrossVersionObjectReference {
	return CrossVersionObjectReference{Kind: r.Kind, Name: r.Name, APIVersion: r.APIVersion}
}

func hubReference(r CrossVersionObjectReference) autoscalingv2.CrossVersionObjectReference {
	return autoscalingv2.CrossVersionObjectReference{Kind: r.Kind, Name: r.Name, APIVersion: r.APIVersion}
}
