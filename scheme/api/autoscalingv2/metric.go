package autoscalingv2

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// MetricSpec is something that is measured, and what it should be. Exactly the field that belongs
// to the type is set.
type MetricSpec struct {
	// Object, Pods, Resource, ContainerResource or External.
	Type MetricSourceType `json:"type" pb:"1"`
	// Measurement of one object.
	Object *ObjectMetricSource `json:"object,omitempty" pb:"2"`
	// Measurement of each pod, averaged.
	Pods *PodsMetricSource `json:"pods,omitempty" pb:"3"`
	// Resource that each pod uses.
	Resource *ResourceMetricSource `json:"resource,omitempty" pb:"4"`
	// Resource that one container of each pod uses.
	ContainerResource *ContainerResourceMetricSource `json:"containerResource,omitempty" pb:"7"`
	// Measurement of something outside of the cluster.
	External *ExternalMetricSource `json:"external,omitempty" pb:"5"`
}

// MetricSourceType tells what is measured.
type MetricSourceType string

// What is measured.
const (
	ObjectMetricSourceType            MetricSourceType = "Object"
	PodsMetricSourceType              MetricSourceType = "Pods"
	ResourceMetricSourceType          MetricSourceType = "Resource"
	ContainerResourceMetricSourceType MetricSourceType = "ContainerResource"
	ExternalMetricSourceType          MetricSourceType = "External"
)

// ObjectMetricSource is a measurement of one object.
type ObjectMetricSource struct {
	// The object that is measured.
	DescribedObject CrossVersionObjectReference `json:"describedObject" pb:"1"`
	// What the measurement should be.
	Target MetricTarget `json:"target" pb:"2"`
	// Which measurement of the object it is.
	Metric MetricIdentifier `json:"metric" pb:"3"`
}

// PodsMetricSource is a measurement of each pod.
type PodsMetricSource struct {
	// Which measurement of the pods it is.
	Metric MetricIdentifier `json:"metric" pb:"1"`
	// What its average should be.
	Target MetricTarget `json:"target" pb:"2"`
}

// ResourceMetricSource is the use of a resource by each pod.
type ResourceMetricSource struct {
	// Resource whose use is measured, such as cpu or memory.
	Name corev1.ResourceName `json:"name" pb:"1"`
	// How much the pods should use.
	Target MetricTarget `json:"target" pb:"2"`
}

// ContainerResourceMetricSource is the use of a resource by one container of each pod.
type ContainerResourceMetricSource struct {
	// Resource whose use is measured, such as cpu or memory.
	Name corev1.ResourceName `json:"name" pb:"1"`
	// How much the containers should use.
	Target MetricTarget `json:"target" pb:"2"`
	// The container of each pod whose use is measured.
	Container string `json:"container" pb:"3"`
}

// ExternalMetricSource is a measurement of something outside of the cluster.
type ExternalMetricSource struct {
	// Which measurement it is, as those who provide it know it.
	Metric MetricIdentifier `json:"metric" pb:"1"`
	// What the measurement should be.
	Target MetricTarget `json:"target" pb:"2"`
}

// MetricIdentifier names a measurement.
type MetricIdentifier struct {
	// Name of the measurement.
	Name string `json:"name" pb:"1"`
	// Labels that narrow it down.
	Selector *meta.LabelSelector `json:"selector,omitempty" pb:"2"`
}

// MetricTarget tells what a measurement should be.
type MetricTarget struct {
	// Which of the other fields holds: Utilization (averageUtilization), Value (value) or
	// AverageValue (averageValue).
	Type MetricTargetType `json:"type" pb:"1"`
	// What the measurement itself should be.
	Value *meta.Quantity `json:"value,omitempty" pb:"2"`
	// What it should be, divided by the number of pods.
	AverageValue *meta.Quantity `json:"averageValue,omitempty" pb:"3"`
	// What the average use of a resource should be, in percent of what the pods request; above 0.
	AverageUtilization *int32 `json:"averageUtilization,omitempty" pb:"4"`
}

// MetricTargetType tells how a measurement is compared with what it should be.
type MetricTargetType string

// How a measurement is compared with what it should be.
const (
	UtilizationMetricType  MetricTargetType = "Utilization"  // as a percentage of what is requested
	ValueMetricType        MetricTargetType = "Value"        // as it is
	AverageValueMetricType MetricTargetType = "AverageValue" // divided by the number of pods
)
