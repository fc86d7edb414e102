package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// ReplicationController keeps a number of pods running that are all alike. ReplicaSets and
// Deployments of apps/v1 have taken its place.
type ReplicationController struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have. Labels: those of the pods if there are none.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Which pods there should be, and how many.
	Spec ReplicationControllerSpec `json:"spec,omitempty" pb:"2"`
	// What was last observed.
	Status ReplicationControllerStatus `json:"status,omitempty" pb:"3"`
}

// ReplicationControllerSpec says how many pods there are to be, and of what kind.
type ReplicationControllerSpec struct {
	// Number of pods. Default: 1.
	Replicas *int32 `json:"replicas,omitempty" pb:"1" default:"1"`
	// Seconds that a new pod must be ready for to count as available. Default: 0.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty" pb:"4" default:"0"`
	// Labels of the pods, which those of the template must have. Default: all labels of the
	// template.
	Selector map[string]string `json:"selector,omitempty" pb:"2" map:"atomic"`
	// What new pods are made from.
	Template *PodTemplateSpec `json:"template,omitempty" pb:"3"`
}

// ReplicationControllerStatus tells of the pods that there are.
type ReplicationControllerStatus struct {
	// Number of pods, ready or not.
	Replicas int32 `json:"replicas" pb:"1"`
	// Number of pods that have all labels of the template.
	FullyLabeledReplicas int32 `json:"fullyLabeledReplicas,omitempty" pb:"2"`
	// Number of pods that are ready.
	ReadyReplicas int32 `json:"readyReplicas,omitempty" pb:"4"`
	// Number of pods that have been ready for at least minReadySeconds.
	AvailableReplicas int32 `json:"availableReplicas,omitempty" pb:"5"`
	// The generation that this was observed of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" pb:"3"`
	// Details, such as why pods cannot be made.
	Conditions []ReplicationControllerCondition `json:"conditions,omitempty" pb:"6" list:"map,key=type" patch:"merge,key=type"`
}

// ReplicationControllerConditionType is what a condition is about, such as ReplicaFailure.
type ReplicationControllerConditionType string

// ReplicationControllerCondition is one thing that is known of the state.
type ReplicationControllerCondition struct {
	// What it is about: ReplicaFailure, if pods could not be made or deleted.
	Type ReplicationControllerConditionType `json:"type" pb:"1"`
	// True, False or Unknown.
	Status ConditionStatus `json:"status" pb:"2"`
	// When the status last changed.
	LastTransitionTime meta.Time `json:"lastTransitionTime,omitempty" pb:"3"`
	// A word, for programs, that says why it last changed.
	Reason string `json:"reason,omitempty" pb:"4"`
	// Why it last changed, for people.
	Message string `json:"message,omitempty" pb:"5"`
}

// ReplicationControllerList is a list of replication controllers.
type ReplicationControllerList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []ReplicationController `json:"items" pb:"2"`
}
