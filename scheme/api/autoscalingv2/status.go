package autoscalingv2

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// HorizontalPodAutoscalerStatus is what was last measured and done.
type HorizontalPodAutoscalerStatus struct {
	// Generation of the autoscaler that the status is about.
	ObservedGeneration *int64 `json:"observedGeneration,omitempty" pb:"1"`
	// When the scale was last changed.
	LastScaleTime *meta.Time `json:"lastScaleTime,omitempty" pb:"2"`
	// Number of replicas that were last seen.
	CurrentReplicas int32 `json:"currentReplicas,omitempty" pb:"3"`
	// Number of replicas that were last asked for.
	DesiredReplicas int32 `json:"desiredReplicas" pb:"4"`
	// What was last measured.
	CurrentMetrics []MetricStatus `json:"currentMetrics" pb:"5" check:"optional" list:"atomic"`
	// Aspects of the state, one for each type.
	Conditions []HorizontalPodAutoscalerCondition `json:"conditions,omitempty" pb:"6" list:"map,key=type" patch:"merge,key=type"`
}

// HorizontalPodAutoscalerConditionType names an aspect of the state of an autoscaler.
type HorizontalPodAutoscalerConditionType string

// Aspects of the state of an autoscaler.
const (
	AbleToScale    HorizontalPodAutoscalerConditionType = "AbleToScale"    // the scale can be read and changed
	ScalingActive  HorizontalPodAutoscalerConditionType = "ScalingActive"  // there are measurements to go by
	ScalingLimited HorizontalPodAutoscalerConditionType = "ScalingLimited" // the wanted scale is outside the bounds
)

// HorizontalPodAutoscalerCondition is one aspect of the state of an autoscaler.
type HorizontalPodAutoscalerCondition struct {
	// Name of the aspect: AbleToScale, ScalingActive or ScalingLimited.
	Type HorizontalPodAutoscalerConditionType `json:"type" pb:"1"`
	// True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" pb:"2"`
	// When its status last changed.
	LastTransitionTime meta.Time `json:"lastTransitionTime,omitempty" pb:"3"`
	// Why the status is as it is, in one word for programs.
	Reason string `json:"reason,omitempty" pb:"4"`
	// Why the status is as it is, for people.
	Message string `json:"message,omitempty" pb:"5"`
}

// MetricStatus is something that was measured. Exactly the field that belongs to the type is set.
type MetricStatus struct {
	// Object, Pods, Resource, ContainerResource or External.
	Type MetricSourceType `json:"type" pb:"1"`
	// Measurement of one object.
	Object *ObjectMetricStatus `json:"object,omitempty" pb:"2"`
	// Measurement of each pod, averaged.
	Pods *PodsMetricStatus `json:"pods,omitempty" pb:"3"`
	// Resource that each pod uses.
	Resource *ResourceMetricStatus `json:"resource,omitempty" pb:"4"`
	// Resource that one container of each pod uses.
	ContainerResource *ContainerResourceMetricStatus `json:"containerResource,omitempty" pb:"7"`
	// Measurement of something outside of the cluster.
	External *ExternalMetricStatus `json:"external,omitempty" pb:"5"`
}

// ObjectMetricStatus is what was measured of one object.
type ObjectMetricStatus struct {
	// Which measurement of the object it is.
	Metric MetricIdentifier `json:"metric" pb:"1"`
	// What was measured last.
	Current MetricValueStatus `json:"current" pb:"2"`
	// The object that was measured.
	DescribedObject CrossVersionObjectReference `json:"describedObject" pb:"3"`
}

// PodsMetricStatus is what was measured of the pods.
type PodsMetricStatus struct {
	// Which measurement of the pods it is.
	Metric MetricIdentifier `json:"metric" pb:"1"`
	// What was measured last, on average.
	Current MetricValueStatus `json:"current" pb:"2"`
}

// ResourceMetricStatus is how much of a resource the pods used.
type ResourceMetricStatus struct {
	// Resource whose use was measured, such as cpu or memory.
	Name corev1.ResourceName `json:"name" pb:"1"`
	// How much was used when it was last measured.
	Current MetricValueStatus `json:"current" pb:"2"`
}

// ContainerResourceMetricStatus is how much of a resource one container of each pod used.
type ContainerResourceMetricStatus struct {
	// Resource whose use was measured, such as cpu or memory.
	Name corev1.ResourceName `json:"name" pb:"1"`
	// How much was used when it was last measured.
	Current MetricValueStatus `json:"current" pb:"2"`
	// The container of each pod whose use was measured.
	Container string `json:"container" pb:"3"`
}

// ExternalMetricStatus is what was measured outside of the cluster.
type ExternalMetricStatus struct {
	// Which measurement it is, as those who provide it know it.
	Metric MetricIdentifier `json:"metric" pb:"1"`
	// What was measured last.
	Current MetricValueStatus `json:"current" pb:"2"`
}

// MetricValueStatus is what a measurement was.
type MetricValueStatus struct {
	// The measurement itself.
	Value *meta.Quantity `json:"value,omitempty" pb:"1"`
	// The measurement, divided by the number of pods.
	AverageValue *meta.Quantity `json:"averageValue,omitempty" pb:"2"`
	// The average use of a resource, in percent of what the pods request.
	AverageUtilization *int32 `json:"averageUtilization,omitempty" pb:"3"`
}
