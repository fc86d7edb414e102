package autoscalingv1

import "github.com/coracle-project/coracle/scheme/meta"

// Scale shows how many replicas an object of another kind has, and should have.
type Scale struct {
	meta.TypeMeta `json:",inline"`
	// What identifies the object that is scaled.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// How many replicas there should be.
	Spec ScaleSpec `json:"spec,omitempty" pb:"2"`
	// How many there are.
	Status ScaleStatus `json:"status,omitempty" pb:"3"`
}

// ScaleSpec tells how many replicas there should be.
type ScaleSpec struct {
	// Number of replicas that are wanted; at least 0.
	Replicas int32 `json:"replicas,omitempty" pb:"1" default:"0"`
}

// ScaleStatus tells how many replicas there are.
type ScaleStatus struct {
	// Number of replicas that were last counted.
	Replicas int32 `json:"replicas" pb:"1"`
	// Selector of the pods that are counted, as in the query of a list.
	Selector string `json:"selector,omitempty" pb:"2"`
}
