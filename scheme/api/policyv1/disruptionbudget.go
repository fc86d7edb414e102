package policyv1

import "github.com/coracle-project/coracle/scheme/meta"

// PodDisruptionBudget limits how many of some pods may be evicted at a time.
type PodDisruptionBudget struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Which pods these are, and how many of them must be left.
	Spec PodDisruptionBudgetSpec `json:"spec,omitempty" pb:"2"`
	// What was last seen of them.
	Status PodDisruptionBudgetStatus `json:"status,omitempty" pb:"3"`
}

// PodDisruptionBudgetSpec tells how many of some pods must be left. It has minAvailable or
// maxUnavailable, not both.
type PodDisruptionBudgetSpec struct {
	// How many pods must be available after an eviction, as a number or a percentage; 100% prevents
	// all evictions.
	MinAvailable *meta.IntOrString `json:"minAvailable,omitempty" pb:"1"`
	// Labels by which the pods are found. An empty selector selects all pods of the namespace, none
	// at all no pod.
	Selector *meta.LabelSelector `json:"selector,omitempty" pb:"2" patch:"replace"`
	// How many pods may be unavailable after an eviction, as a number or a percentage; 0 prevents
	// all evictions.
	MaxUnavailable *meta.IntOrString `json:"maxUnavailable,omitempty" pb:"3"`
	// When pods that run but are not ready may be evicted: whenever enough others are healthy
	// (IfHealthyBudget, the default), or always (AlwaysAllow).
	UnhealthyPodEvictionPolicy *UnhealthyPodEvictionPolicyType `json:"unhealthyPodEvictionPolicy,omitempty" pb:"4" enum:"AlwaysAllow,IfHealthyBudget"`
}

// UnhealthyPodEvictionPolicyType tells when pods that run but are not ready may be evicted.
type UnhealthyPodEvictionPolicyType string

// When pods that run but are not ready may be evicted.
const (
	IfHealthyBudget UnhealthyPodEvictionPolicyType = "IfHealthyBudget" // while enough others are healthy
	AlwaysAllow     UnhealthyPodEvictionPolicyType = "AlwaysAllow"
)

// PodDisruptionBudgetStatus is what was last seen of the pods of a budget.
type PodDisruptionBudgetStatus struct {
	// Generation of the budget that the status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" pb:"1"`
	// Names of pods whose eviction has been allowed and that have not been seen to go since, with
	// the time of that.
	DisruptedPods map[string]meta.Time `json:"disruptedPods,omitempty" pb:"2"`
	// How many pods may be evicted now.
	DisruptionsAllowed int32 `json:"disruptionsAllowed" pb:"3" check:"optional"`
	// Number of pods that are healthy, which those are that are ready.
	CurrentHealthy int32 `json:"currentHealthy" pb:"4" check:"optional"`
	// How many pods must be healthy after an eviction.
	DesiredHealthy int32 `json:"desiredHealthy" pb:"5" check:"optional"`
	// Number of pods that the budget counts.
	ExpectedPods int32 `json:"expectedPods" pb:"6" check:"optional"`
	// Aspects of the state, one for each type; DisruptionAllowed tells whether pods may be evicted.
	Conditions []meta.Condition `json:"conditions,omitempty" pb:"7" list:"map,key=type" patch:"merge,key=type"`
}

// PodDisruptionBudgetList is a list of budgets.
type PodDisruptionBudgetList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []PodDisruptionBudget `json:"items" pb:"2"`
}
