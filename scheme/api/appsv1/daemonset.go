package appsv1

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TemplateGenerationAnnotation counts the changes of the template of a daemon set. In
// extensions/v1beta1 it is the field spec.templateGeneration.
const TemplateGenerationAnnotation = "deprecated.daemonset.template.generation"

// DaemonSet keeps a pod running on each node, or on those that the template selects.
type DaemonSet struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Which pods there should be, and how they are replaced.
	Spec DaemonSetSpec `json:"spec,omitempty" pb:"2"`
	// What was last seen of them.
	Status DaemonSetStatus `json:"status,omitempty" pb:"3"`
}

// DaemonSetSpec tells which pods there should be, and how they are replaced.
type DaemonSetSpec struct {
	// Labels by which the set finds its pods; those of the template must match. It cannot be
	// changed.
	Selector *meta.LabelSelector `json:"selector" pb:"1"`
	// What the pods are made from; they always restart. There is one on each node that its node
	// selector and affinity allow.
	Template corev1.PodTemplateSpec `json:"template" pb:"2"`
	// How pods are replaced when the template changes.
	UpdateStrategy DaemonSetUpdateStrategy `json:"updateStrategy,omitempty" pb:"3"`
	// Seconds for which a pod must be ready before it counts as available; 0 by default.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty" pb:"4"`
	// How many old revisions are kept to go back to; 10 by default.
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty" pb:"6"`
}

// DaemonSetUpdateStrategy tells how pods are replaced when the template changes.
type DaemonSetUpdateStrategy struct {
	// RollingUpdate (the default) replaces them, OnDelete waits until somebody deletes them.
	Type DaemonSetUpdateStrategyType `json:"type,omitempty" pb:"1" enum:"OnDelete,RollingUpdate"`
	// Limits of a rolling update; only for that type.
	RollingUpdate *RollingUpdateDaemonSet `json:"rollingUpdate,omitempty" pb:"2"`
}

// DaemonSetUpdateStrategyType tells how the pods of a daemon set are replaced.
type DaemonSetUpdateStrategyType string

// How the pods of a daemon set are replaced.
const (
	OnDeleteDaemonSetStrategyType      DaemonSetUpdateStrategyType = "OnDelete"      // whenever somebody deletes them
	RollingUpdateDaemonSetStrategyType DaemonSetUpdateStrategyType = "RollingUpdate" // a few at a time
)

// RollingUpdateDaemonSet limits a rolling update. Exactly one of the limits is above 0.
type RollingUpdateDaemonSet struct {
	// On how many nodes the pod may be missing, as a number or a percentage of the nodes, rounded
	// up; 1 by default.
	MaxUnavailable *meta.IntOrString `json:"maxUnavailable,omitempty" pb:"1"`
	// On how many nodes there may be a second pod, as a number or a percentage of the nodes,
	// rounded up; 0 by default.
	MaxSurge *meta.IntOrString `json:"maxSurge,omitempty" pb:"2"`
}

// DaemonSetStatus is what was last seen of the pods of a daemon set.
type DaemonSetStatus struct {
	// Number of nodes that should have a pod and do.
	CurrentNumberScheduled int32 `json:"currentNumberScheduled" pb:"1"`
	// Number of nodes that have a pod and should not.
	NumberMisscheduled int32 `json:"numberMisscheduled" pb:"2"`
	// On how many nodes there should be a pod.
	DesiredNumberScheduled int32 `json:"desiredNumberScheduled" pb:"3"`
	// Number of nodes that should have a pod and have one that is ready.
	NumberReady int32 `json:"numberReady" pb:"4"`
	// Generation of the set that the status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" pb:"5"`
	// Number of nodes with a pod that is made from the present template.
	UpdatedNumberScheduled int32 `json:"updatedNumberScheduled,omitempty" pb:"6"`
	// Number of nodes that should have a pod and have one that has been ready for minReadySeconds.
	NumberAvailable int32 `json:"numberAvailable,omitempty" pb:"7"`
	// Number of nodes that should have a pod and have none that has been ready for minReadySeconds.
	NumberUnavailable int32 `json:"numberUnavailable,omitempty" pb:"8"`
	// How often the name of a revision was taken, which the next name is made from; it never falls.
	CollisionCount *int32 `json:"collisionCount,omitempty" pb:"9"`
	// Aspects of the state, one for each type.
	Conditions []DaemonSetCondition `json:"conditions,omitempty" pb:"10" list:"map,key=type" patch:"merge,key=type"`
}

// DaemonSetConditionType names an aspect of the state of a daemon set.
type DaemonSetConditionType string

// DaemonSetCondition is one aspect of the state of a daemon set.
type DaemonSetCondition struct {
	// Name of the aspect; Kubernetes defines none.
	Type DaemonSetConditionType `json:"type" pb:"1"`
	// True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" pb:"2"`
	// When its status last changed.
	LastTransitionTime meta.Time `json:"lastTransitionTime,omitempty" pb:"3"`
	// Why the status is as it is, in one word for programs.
	Reason string `json:"reason,omitempty" pb:"4"`
	// Why the status is as it is, for people.
	Message string `json:"message,omitempty" pb:"5"`
}

// DaemonSetList is a list of daemon sets.
type DaemonSetList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []DaemonSet `json:"items" pb:"2"`
}
