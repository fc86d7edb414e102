package appsv1

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// ReplicaSet keeps a number of equal pods running. A change of its template concerns only pods that
// are made later.
type ReplicaSet struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have. Labels are those of the template by default.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Which pods there should be.
	Spec ReplicaSetSpec `json:"spec,omitempty" pb:"2"`
	// What was last seen of them.
	Status ReplicaSetStatus `json:"status,omitempty" pb:"3"`
}

// ReplicaSetSpec tells which pods there should be.
type ReplicaSetSpec struct {
	// How many pods there should be; 1 by default.
	Replicas *int32 `json:"replicas,omitempty" pb:"1"`
	// Seconds for which a pod must be ready before it counts as available; 0 by default.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty" pb:"4"`
	// Labels by which the set finds its pods; those of the template must match. It cannot be
	// changed.
	Selector *meta.LabelSelector `json:"selector" pb:"2"`
	// What the pods are made from; they always restart.
	Template corev1.PodTemplateSpec `json:"template,omitempty" pb:"3"`
}

// ReplicaSetStatus is what was last seen of the pods of a replica set.
type ReplicaSetStatus struct {
	// Number of pods that are not going away.
	Replicas int32 `json:"replicas" pb:"1"`
	// Number of pods that have all labels of the template.
	FullyLabeledReplicas int32 `json:"fullyLabeledReplicas,omitempty" pb:"2"`
	// Number of pods that are ready.
	ReadyReplicas int32 `json:"readyReplicas,omitempty" pb:"4"`
	// Number of pods that have been ready for minReadySeconds.
	AvailableReplicas int32 `json:"availableReplicas,omitempty" pb:"5"`
	// Number of pods that are going away; unset if nobody counts them.
	TerminatingReplicas *int32 `json:"terminatingReplicas,omitempty" pb:"7"`
	// Generation of the set that the status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" pb:"3"`
	// Aspects of the state, one for each type.
	Conditions []ReplicaSetCondition `json:"conditions,omitempty" pb:"6" list:"map,key=type" patch:"merge,key=type"`
}

// ReplicaSetConditionType names an aspect of the state of a replica set.
type ReplicaSetConditionType string

// ReplicaSetReplicaFailure tells that a pod could not be made or deleted.
const ReplicaSetReplicaFailure ReplicaSetConditionType = "ReplicaFailure"

// ReplicaSetCondition is one aspect of the state of a replica set.
type ReplicaSetCondition struct {
	// Name of the aspect: ReplicaFailure, if pods could not be made or deleted.
	Type ReplicaSetConditionType `json:"type" pb:"1"`
	// True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" pb:"2"`
	// When its status last changed.
	LastTransitionTime meta.Time `json:"lastTransitionTime,omitempty" pb:"3"`
	// Why the status is as it is, in one word for programs.
	Reason string `json:"reason,omitempty" pb:"4"`
	// Why the status is as it is, for people.
	Message string `json:"message,omitempty" pb:"5"`
}

// ReplicaSetList is a list of replica sets.
type ReplicaSetList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []ReplicaSet `json:"items" pb:"2"`
}
