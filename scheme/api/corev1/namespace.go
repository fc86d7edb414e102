package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// Namespace isolates the names of the objects inside it and is the unit of access rules and quotas.
type Namespace struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// What the namespace should be like.
	Spec NamespaceSpec `json:"spec,omitempty" pb:"2"`
	// What has been observed of the namespace.
	Status NamespaceStatus `json:"status,omitempty" pb:"3"`
}

// NamespaceSpec describes what keeps a namespace from being removed.
type NamespaceSpec struct {
	// Opaque names that must all be gone before the namespace is removed from storage.
	Finalizers []FinalizerName `json:"finalizers,omitempty" pb:"1" list:"atomic"`
}

// FinalizerName names a party that has to finish its work before a namespace is removed.
type FinalizerName string

// NamespaceStatus tells where in its life a namespace is.
type NamespaceStatus struct {
	// Active, or Terminating once the namespace has been deleted and waits for its content to go.
	Phase NamespacePhase `json:"phase,omitempty" pb:"1" enum:"Active,Terminating"`
	// Latest observations, mostly about what hinders the deletion.
	Conditions []NamespaceCondition `json:"conditions,omitempty" pb:"2" list:"map,key=type" patch:"merge,key=type"`
}

// NamespacePhase is a step in the life of a namespace.
type NamespacePhase string

// NamespaceCondition is one observation about a namespace.
type NamespaceCondition struct {
	// What is observed, such as NamespaceContentRemaining or NamespaceFinalizersRemaining.
	Type NamespaceConditionType `json:"type" pb:"1"`
	// True, False or Unknown.
	Status ConditionStatus `json:"status" pb:"2"`
	// When status last changed.
	LastTransitionTime meta.Time `json:"lastTransitionTime,omitempty" pb:"4"`
	// One CamelCase word that says why.
	Reason string `json:"reason,omitempty" pb:"5"`
	// Details for people.
	Message string `json:"message,omitempty" pb:"6"`
}

// NamespaceConditionType names an aspect of a namespace's state.
type NamespaceConditionType string

// ConditionStatus is the value of a condition.
type ConditionStatus string

// NamespaceList is a list of namespaces.
type NamespaceList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []Namespace `json:"items" pb:"2"`
}
