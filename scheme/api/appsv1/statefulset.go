package appsv1

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// StatefulSet keeps a number of pods running. Each of them has a name and storage of its own, which
// its replacement gets, too.
type StatefulSet struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Which pods there should be, and how they are replaced.
	Spec StatefulSetSpec `json:"spec,omitempty" pb:"2"`
	// What was last seen of them.
	Status StatefulSetStatus `json:"status,omitempty" pb:"3"`
}

// StatefulSetSpec tells which pods there should be, and how they are replaced.
type StatefulSetSpec struct {
	// How many pods there should be; 1 by default.
	Replicas *int32 `json:"replicas,omitempty" pb:"1"`
	// Labels by which the set finds its pods; those of the template must match. It cannot be
	// changed.
	Selector *meta.LabelSelector `json:"selector" pb:"2"`
	// What the pods are made from; they always restart. Names, host names and volumes for the
	// claims are filled in for each.
	Template corev1.PodTemplateSpec `json:"template" pb:"3"`
	// Claims that each pod gets, as volumes of their names. They cannot be changed.
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty" pb:"4" list:"atomic"`
	// Headless service that gives the pods their names in DNS. It cannot be changed.
	ServiceName string `json:"serviceName" pb:"5" check:"optional"`
	// Whether pods come and go one after the other (OrderedReady, the default) or all at once
	// (Parallel). It cannot be changed.
	PodManagementPolicy PodManagementPolicyType `json:"podManagementPolicy,omitempty" pb:"6" enum:"OrderedReady,Parallel"`
	// How pods are replaced when the template changes.
	UpdateStrategy StatefulSetUpdateStrategy `json:"updateStrategy,omitempty" pb:"7"`
	// How many old revisions are kept to go back to; 10 by default.
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty" pb:"8"`
	// Seconds for which a pod must be ready before it counts as available; 0 by default.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty" pb:"9"`
	// What becomes of the claims when the set is deleted or made smaller; they are kept by default.
	PersistentVolumeClaimRetentionPolicy *StatefulSetPersistentVolumeClaimRetentionPolicy `json:"persistentVolumeClaimRetentionPolicy,omitempty" pb:"10"`
	// How the pods are numbered; from 0 by default.
	Ordinals *StatefulSetOrdinals `json:"ordinals,omitempty" pb:"11"`
}

// PodManagementPolicyType tells in which order the pods of a stateful set come and go.
type PodManagementPolicyType string

// In which order the pods of a stateful set come and go.
const (
	OrderedReadyPodManagement PodManagementPolicyType = "OrderedReady" // one after the other
	ParallelPodManagement     PodManagementPolicyType = "Parallel"     // all at once
)

// StatefulSetUpdateStrategy tells how pods are replaced when the template changes.
type StatefulSetUpdateStrategy struct {
	// RollingUpdate (the default) replaces them, OnDelete waits until somebody deletes them.
	Type StatefulSetUpdateStrategyType `json:"type,omitempty" pb:"1" enum:"OnDelete,RollingUpdate"`
	// Limits of a rolling update; only for that type.
	RollingUpdate *RollingUpdateStatefulSetStrategy `json:"rollingUpdate,omitempty" pb:"2"`
}

// StatefulSetUpdateStrategyType tells how the pods of a stateful set are replaced.
type StatefulSetUpdateStrategyType string

// How the pods of a stateful set are replaced.
const (
	OnDeleteStatefulSetStrategyType      StatefulSetUpdateStrategyType = "OnDelete"      // when somebody deletes them
	RollingUpdateStatefulSetStrategyType StatefulSetUpdateStrategyType = "RollingUpdate" // from the last to the first
)

// RollingUpdateStatefulSetStrategy limits a rolling update.
type RollingUpdateStatefulSetStrategy struct {
	// Number of the first pod that is replaced; those below keep their revision. 0 by default.
	Partition *int32 `json:"partition,omitempty" pb:"1"`
	// How many pods may be missing, as a number or a percentage of the wanted number, rounded up; 1
	// by default.
	MaxUnavailable *meta.IntOrString `json:"maxUnavailable,omitempty" pb:"2"`
}

// StatefulSetPersistentVolumeClaimRetentionPolicy tells what becomes of claims that pods no longer
// need.
type StatefulSetPersistentVolumeClaimRetentionPolicy struct {
	// When the set is deleted: Retain (the default) or Delete.
	WhenDeleted PersistentVolumeClaimRetentionPolicyType `json:"whenDeleted,omitempty" pb:"1"`
	// When the set is made smaller: Retain (the default) or Delete.
	WhenScaled PersistentVolumeClaimRetentionPolicyType `json:"whenScaled,omitempty" pb:"2"`
}

// PersistentVolumeClaimRetentionPolicyType tells whether claims are kept.
type PersistentVolumeClaimRetentionPolicyType string

// Whether claims are kept.
const (
	RetainPersistentVolumeClaimRetentionPolicyType PersistentVolumeClaimRetentionPolicyType = "Retain"
	DeletePersistentVolumeClaimRetentionPolicyType PersistentVolumeClaimRetentionPolicyType = "Delete"
)

// StatefulSetOrdinals tells how the pods of a stateful set are numbered.
type StatefulSetOrdinals struct {
	// Number of the first pod, at least 0; 0 by default.
	Start int32 `json:"start" pb:"1" check:"optional"`
}

// StatefulSetStatus is what was last seen of the pods of a stateful set.
type StatefulSetStatus struct {
	// Generation of the set that the status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" pb:"1"`
	// Number of pods, ready or not.
	Replicas int32 `json:"replicas" pb:"2"`
	// Number of pods that are ready.
	ReadyReplicas int32 `json:"readyReplicas,omitempty" pb:"3"`
	// Number of pods that are of currentRevision.
	CurrentReplicas int32 `json:"currentReplicas,omitempty" pb:"4"`
	// Number of pods that are of updateRevision.
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty" pb:"5"`
	// Revision of the pods that an update has not reached yet, those with the lowest numbers.
	CurrentRevision string `json:"currentRevision,omitempty" pb:"6"`
	// Revision that an update leads to, which pods with the highest numbers get first.
	UpdateRevision string `json:"updateRevision,omitempty" pb:"7"`
	// How often the name of a revision was taken, which the next name is made from; it never falls.
	CollisionCount *int32 `json:"collisionCount,omitempty" pb:"9"`
	// Aspects of the state, one for each type.
	Conditions []StatefulSetCondition `json:"conditions,omitempty" pb:"10" list:"map,key=type" patch:"merge,key=type"`
	// Number of pods that have been ready for minReadySeconds.
	AvailableReplicas int32 `json:"availableReplicas" pb:"11" check:"optional"`
}

// StatefulSetConditionType names an aspect of the state of a stateful set.
type StatefulSetConditionType string

// StatefulSetCondition is one aspect of the state of a stateful set.
type StatefulSetCondition struct {
	// Name of the aspect; Kubernetes defines none.
	Type StatefulSetConditionType `json:"type" pb:"1"`
	// True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" pb:"2"`
	// When its status last changed.
	LastTransitionTime meta.Time `json:"lastTransitionTime,omitempty" pb:"3"`
	// Why the status is as it is, in one word for programs.
	Reason string `json:"reason,omitempty" pb:"4"`
	// Why the status is as it is, for people.
	Message string `json:"message,omitempty" pb:"5"`
}

// StatefulSetList is a list of stateful sets.
type StatefulSetList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []StatefulSet `json:"items" pb:"2"`
}
