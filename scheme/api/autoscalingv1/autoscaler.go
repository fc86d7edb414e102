package autoscalingv1

import "github.com/coracle-project/coracle/scheme/meta"

// HorizontalPodAutoscaler changes the scale of another object between bounds, so that its pods use
// as much CPU as they should. What else it measures, and how fast it may go, stands in annotations.
type HorizontalPodAutoscaler struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// What is scaled, and between which bounds.
	Spec HorizontalPodAutoscalerSpec `json:"spec,omitempty" pb:"2" check:"required"`
	// What was last measured and done.
	Status HorizontalPodAutoscalerStatus `json:"status,omitempty" pb:"3"`
}

// HorizontalPodAutoscalerSpec tells what is scaled, and between which bounds.
type HorizontalPodAutoscalerSpec struct {
	// Object whose scale is changed.
	ScaleTargetRef CrossVersionObjectReference `json:"scaleTargetRef" pb:"1"`
	// Fewest replicas; 1 by default, which is also the least that is allowed.
	MinReplicas *int32 `json:"minReplicas,omitempty" pb:"2"`
	// Most replicas; not below the fewest.
	MaxReplicas int32 `json:"maxReplicas" pb:"3"`
	// How much CPU the pods should use on average, in percent of what they request; 80 by default
	// if nothing else is measured.
	TargetCPUUtilizationPercentage *int32 `json:"targetCPUUtilizationPercentage,omitempty" pb:"4"`
}

// CrossVersionObjectReference refers to an object in the same namespace.
type CrossVersionObjectReference struct {
	_ struct{} `struct:"atomic"`
	// Kind of the object.
	Kind string `json:"kind" pb:"1"`
	// Name of the object.
	Name string `json:"name" pb:"2"`
	// Group and version of the kind.
	APIVersion string `json:"apiVersion,omitempty" pb:"3"`
}

// HorizontalPodAutoscalerStatus is what was last measured and done.
type HorizontalPodAutoscalerStatus struct {
	// Generation of the autoscaler that the status is about.
	ObservedGeneration *int64 `json:"observedGeneration,omitempty" pb:"1"`
	// When the scale was last changed.
	LastScaleTime *meta.Time `json:"lastScaleTime,omitempty" pb:"2"`
	// Number of replicas that were last seen.
	CurrentReplicas int32 `json:"currentReplicas" pb:"3"`
	// Number of replicas that were last asked for.
	DesiredReplicas int32 `json:"desiredReplicas" pb:"4"`
	// How much CPU the pods used on average, in percent of what they request.
	CurrentCPUUtilizationPercentage *int32 `json:"currentCPUUtilizationPercentage,omitempty" pb:"5"`
}

// HorizontalPodAutoscalerList is a list of autoscalers.
type HorizontalPodAutoscalerList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []HorizontalPodAutoscaler `json:"items" pb:"2"`
}
