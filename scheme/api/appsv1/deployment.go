package appsv1

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Deployment keeps a number of equal pods running, and replaces them step by step when they are to
// change.
type Deployment struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Which pods there should be, and how they are replaced.
	Spec DeploymentSpec `json:"spec,omitempty" pb:"2"`
	// What was last seen of them.
	Status DeploymentStatus `json:"status,omitempty" pb:"3"`
}

// DeploymentSpec tells which pods there should be, and how they are replaced.
type DeploymentSpec struct {
	// How many pods there should be; 1 by default.
	Replicas *int32 `json:"replicas,omitempty" pb:"1"`
	// Labels by which the deployment finds its pods; those of the template must match. It cannot be
	// changed.
	Selector *meta.LabelSelector `json:"selector" pb:"2"`
	// What the pods are made from; they always restart.
	Template corev1.PodTemplateSpec `json:"template" pb:"3"`
	// How pods are replaced when the template changes.
	Strategy DeploymentStrategy `json:"strategy,omitempty" pb:"4" patch:"retainKeys"`
	// Seconds for which a pod must be ready before it counts as available; 0 by default.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty" pb:"5"`
	// How many old replica sets are kept to go back to; 10 by default.
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty" pb:"6"`
	// Changes of the template have no effect while this is true; false by default.
	Paused bool `json:"paused,omitempty" pb:"7"`
	// Seconds without progress after which a rollout is reported to have failed; 600 by default. A
	// pause does not count.
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty" pb:"9"`
}

// DeploymentStrategy tells how pods are replaced when the template changes.
type DeploymentStrategy struct {
	// RollingUpdate (the default) replaces them bit by bit, Recreate ends all of them first.
	Type DeploymentStrategyType `json:"type,omitempty" pb:"1" enum:"Recreate,RollingUpdate"`
	// Limits of a rolling update; only for that type.
	RollingUpdate *RollingUpdateDeployment `json:"rollingUpdate,omitempty" pb:"2"`
}

// DeploymentStrategyType tells how the pods of a deployment are replaced.
type DeploymentStrategyType string

// How the pods of a deployment are replaced.
const (
	RecreateDeploymentStrategyType      DeploymentStrategyType = "Recreate"      // all old ones go before new ones come
	RollingUpdateDeploymentStrategyType DeploymentStrategyType = "RollingUpdate" // a few at a time
)

// RollingUpdateDeployment limits how far the number of pods may deviate from the wanted number
// during a rolling update. The limits cannot both be 0.
type RollingUpdateDeployment struct {
	// How many pods may be missing, as a number or a percentage of the wanted number, rounded down;
	// 25% by default.
	MaxUnavailable *meta.IntOrString `json:"maxUnavailable,omitempty" pb:"1"`
	// How many pods there may be above the wanted number, as a number or a percentage of it,
	// rounded up; 25% by default.
	MaxSurge *meta.IntOrString `json:"maxSurge,omitempty" pb:"2"`
}

// DeploymentStatus is what was last seen of the pods of a deployment.
type DeploymentStatus struct {
	// Generation of the deployment that the status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" pb:"1"`
	// Number of pods that are not going away.
	Replicas int32 `json:"replicas,omitempty" pb:"2"`
	// Number of pods that are made from the present template.
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty" pb:"3"`
	// Number of pods that are ready.
	ReadyReplicas int32 `json:"readyReplicas,omitempty" pb:"7"`
	// Number of pods that have been ready for minReadySeconds.
	AvailableReplicas int32 `json:"availableReplicas,omitempty" pb:"4"`
	// Number of pods that are missing before all are available.
	UnavailableReplicas int32 `json:"unavailableReplicas,omitempty" pb:"5"`
	// Number of pods that are going away; unset if nobody counts them.
	TerminatingReplicas *int32 `json:"terminatingReplicas,omitempty" pb:"9"`
	// Aspects of the state, one for each type.
	Conditions []DeploymentCondition `json:"conditions,omitempty" pb:"6" list:"map,key=type" patch:"merge,key=type"`
	// How often the name of a replica set was taken, which the next name is made from; it never
	// falls.
	CollisionCount *int32 `json:"collisionCount,omitempty" pb:"8"`
}

// DeploymentConditionType names an aspect of the state of a deployment.
type DeploymentConditionType string

// Aspects of the state of a deployment.
const (
	DeploymentAvailable      DeploymentConditionType = "Available"      // enough pods are available
	DeploymentProgressing    DeploymentConditionType = "Progressing"    // a rollout makes progress, or has ended well
	DeploymentReplicaFailure DeploymentConditionType = "ReplicaFailure" // a pod could not be made or deleted
)

// DeploymentCondition is one aspect of the state of a deployment.
type DeploymentCondition struct {
	// Name of the aspect: Available, Progressing or ReplicaFailure.
	Type DeploymentConditionType `json:"type" pb:"1"`
	// True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" pb:"2"`
	// When the condition was last written.
	LastUpdateTime meta.Time `json:"lastUpdateTime,omitempty" pb:"6"`
	// When its status last changed.
	LastTransitionTime meta.Time `json:"lastTransitionTime,omitempty" pb:"7"`
	// Why the status is as it is, in one word for programs.
	Reason string `json:"reason,omitempty" pb:"4"`
	// Why the status is as it is, for people.
	Message string `json:"message,omitempty" pb:"5"`
}

// DeploymentList is a list of deployments.
type DeploymentList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []Deployment `json:"items" pb:"2"`
}
