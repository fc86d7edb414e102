package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// ObjectReference names another object, or a part of it. New kinds should use a narrower reference of their own.
type ObjectReference struct {
	_ struct{} `struct:"atomic"`

	// Kind of the referent.
	Kind string `json:"kind,omitempty" pb:"1"`
	// Namespace of the referent.
	Namespace string `json:"namespace,omitempty" pb:"2"`
	// Name of the referent.
	Name string `json:"name,omitempty" pb:"3"`
	// UID of the referent.
	UID meta.UID `json:"uid,omitempty" pb:"4"`
	// API version of the referent.
	APIVersion string `json:"apiVersion,omitempty" pb:"5"`
	// Version of the referent that is meant, if a particular one is.
	ResourceVersion string `json:"resourceVersion,omitempty" pb:"6"`
	// A part of the referent as a JSON or Go field path, such as spec.containers{name}.
	FieldPath string `json:"fieldPath,omitempty" pb:"7"`
}

// LocalObjectReference names an object in the same namespace.
type LocalObjectReference struct {
	_ struct{} `struct:"atomic"`

	// Name of the referent.
	Name string `json:"name,omitempty" pb:"1" default:""`
}

// TypedLocalObjectReference names an object of some kind in the same namespace.
type TypedLocalObjectReference struct {
	_ struct{} `struct:"atomic"`

	// API group of the referent; the core group if unset.
	APIGroup *string `json:"apiGroup" pb:"1" check:"optional"`
	// Kind of the referent.
	Kind string `json:"kind" pb:"2"`
	// Name of the referent.
	Name string `json:"name" pb:"3"`
}

// TypedObjectReference names an object of some kind, possibly in another namespace.
type TypedObjectReference struct {
	// API group of the referent; the core group if unset.
	APIGroup *string `json:"apiGroup" pb:"1" check:"optional"`
	// Kind of the referent.
	Kind string `json:"kind" pb:"2"`
	// Name of the referent.
	Name string `json:"name" pb:"3"`
	// Namespace of the referent; a ReferenceGrant there must allow it. Alpha.
	Namespace *string `json:"namespace,omitempty" pb:"4"`
}
