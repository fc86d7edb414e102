package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// ObjectReference names another object, or a part of it. New kinds should use a narrower reference
// of their own.
type ObjectReference struct {
	_ struct{} `struct:"atomic"`

	// Kind of the object.
	Kind string `json:"kind,omitempty" pb:"1"`
	// Namespace of the object; empty if it is in none.
	Namespace string `json:"namespace,omitempty" pb:"2"`
	// Name of the object.
	Name string `json:"name,omitempty" pb:"3"`
	// UID of the object, which tells it from others of the same name.
	UID meta.UID `json:"uid,omitempty" pb:"4"`
	// Group and version of the object, such as apps/v1.
	APIVersion string `json:"apiVersion,omitempty" pb:"5"`
	// Version of the object that is meant, if a particular one is.
	ResourceVersion string `json:"resourceVersion,omitempty" pb:"6"`
	// A part of the object, if not all of it is meant, such as spec.containers{name}.
	FieldPath string `json:"fieldPath,omitempty" pb:"7"`
}

// LocalObjectReference names an object in the same namespace.
type LocalObjectReference struct {
	_ struct{} `struct:"atomic"`

	// Name of the object. An empty one is accepted where it always was, and names nothing.
	Name string `json:"name,omitempty" pb:"1" default:""`
}

// TypedLocalObjectReference names an object of some kind in the same namespace.
type TypedLocalObjectReference struct {
	_ struct{} `struct:"atomic"`

	// API group of the object; unset for the core group.
	APIGroup *string `json:"apiGroup" pb:"1" check:"optional"`
	// Kind of the object.
	Kind string `json:"kind" pb:"2"`
	// Name of the object.
	Name string `json:"name" pb:"3"`
}

// TypedObjectReference names an object of some kind, possibly in another namespace.
type TypedObjectReference struct {
	// API group of the object; unset for the core group.
	APIGroup *string `json:"apiGroup" pb:"1" check:"optional"`
	// Kind of the object.
	Kind string `json:"kind" pb:"2"`
	// Name of the object.
	Name string `json:"name" pb:"3"`
	// Namespace of the object; a ReferenceGrant there must allow it. Alpha.
	Namespace *string `json:"namespace,omitempty" pb:"4"`
}
