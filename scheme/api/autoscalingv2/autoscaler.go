package autoscalingv2

import "github.com/coracle-project/coracle/scheme/meta"

// HorizontalPodAutoscaler changes the scale of another object between bounds, as measurements ask
// for it.
type HorizontalPodAutoscaler struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// What is scaled, between which bounds, and by which measurements.
	Spec HorizontalPodAutoscalerSpec `json:"spec,omitempty" pb:"2" check:"required"`
	// What was last measured and done.
	Status HorizontalPodAutoscalerStatus `json:"status,omitempty" pb:"3"`
}

// HorizontalPodAutoscalerSpec tells what is scaled, between which bounds, and by which
// measurements.
type HorizontalPodAutoscalerSpec struct {
	// Object whose scale is changed.
	ScaleTargetRef CrossVersionObjectReference `json:"scaleTargetRef" pb:"1"`
	// Fewest replicas; 1 by default, which is also the least that is allowed.
	MinReplicas *int32 `json:"minReplicas,omitempty" pb:"2"`
	// Most replicas; not below the fewest.
	MaxReplicas int32 `json:"maxReplicas" pb:"3"`
	// What is measured, and should be. Of the numbers of replicas that they ask for, the highest
	// counts. By default the pods should use 80 % of the CPU that they request.
	Metrics []MetricSpec `json:"metrics,omitempty" pb:"4" list:"atomic"`
	// How fast the scale may change.
	Behavior *HorizontalPodAutoscalerBehavior `json:"behavior,omitempty" pb:"5"`
}

// CrossVersionObjectReference refers to an object in the same namespace.
type CrossVersionObjectReference struct {
	// Kind of the object.
	Kind string `json:"kind" pb:"1"`
	// Name of the object.
	Name string `json:"name" pb:"2"`
	// Group and version of the kind.
	APIVersion string `json:"apiVersion,omitempty" pb:"3"`
}

// HorizontalPodAutoscalerBehavior tells how fast the scale may change.
type HorizontalPodAutoscalerBehavior struct {
	// How fast it may rise. By default it doubles in 15 seconds, or rises by 4 if that is more.
	ScaleUp *HPAScalingRules `json:"scaleUp,omitempty" pb:"1"`
	// How fast it may fall. By default it falls to the fewest replicas, once that has been asked
	// for over 5 minutes.
	ScaleDown *HPAScalingRules `json:"scaleDown,omitempty" pb:"2"`
}

// HPAScalingRules tells how fast the scale may change in one direction.
type HPAScalingRules struct {
	// Seconds over which what was asked for is remembered; the mildest of it counts. From 0 to
	// 3600; 0 by default to rise, 300 to fall.
	StabilizationWindowSeconds *int32 `json:"stabilizationWindowSeconds,omitempty" pb:"3"`
	// Which of the policies counts: Max (the default), Min, or Disabled, which lets nothing change.
	SelectPolicy *ScalingPolicySelect `json:"selectPolicy,omitempty" pb:"1"`
	// Limits of a change; at least one.
	Policies []HPAScalingPolicy `json:"policies,omitempty" pb:"2" list:"atomic"`
	// How far a measurement may be off, as a part of what it should be, before the scale changes;
	// 10 % by default.
	Tolerance *meta.Quantity `json:"tolerance,omitempty" pb:"4"`
}

// ScalingPolicySelect tells which of several policies counts.
type ScalingPolicySelect string

// Which of several policies counts.
const (
	MaxChangePolicySelect ScalingPolicySelect = "Max"      // the one that allows most
	MinChangePolicySelect ScalingPolicySelect = "Min"      // the one that allows least
	DisabledPolicySelect  ScalingPolicySelect = "Disabled" // none: nothing changes
)

// HPAScalingPolicy limits how far the scale may change in a time.
type HPAScalingPolicy struct {
	// Whether value is a number of pods (Pods) or a percentage of the present ones (Percent).
	Type HPAScalingPolicyType `json:"type" pb:"1"`
	// How far the scale may change; above 0.
	Value int32 `json:"value" pb:"2"`
	// How many seconds back the change is counted, from 1 to 1800.
	PeriodSeconds int32 `json:"periodSeconds" pb:"3"`
}

// HPAScalingPolicyType tells what the value of a policy counts.
type HPAScalingPolicyType string

// What the value of a policy counts.
const (
	PodsScalingPolicy    HPAScalingPolicyType = "Pods"
	PercentScalingPolicy HPAScalingPolicyType = "Percent"
)

// HorizontalPodAutoscalerList is a list of autoscalers.
type HorizontalPodAutoscalerList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []HorizontalPodAutoscaler `json:"items" pb:"2"`
}
