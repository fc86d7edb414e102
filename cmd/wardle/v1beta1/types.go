// Package v1beta1 declares the preferred version of wardle.example.com. Its Flunder has the fields
// of the hub, so that the conversions between the two are derived.
//
// Comments of types and fields are what kubectl explain prints; the tags are explained in
// scheme/typeinfo.
//
// Read: types.go, register.go.
package v1beta1

import "github.com/coracle-project/coracle/scheme/meta"

// ReferenceType says what a Flunder refers to.
type ReferenceType string

// The kinds that a Flunder can refer to.
const (
	FlunderReference ReferenceType = "Flunder"
	FischerReference ReferenceType = "Fischer"
)

// Flunder refers to another Flunder or to a Fischer.
type Flunder struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and the other metadata that all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The wanted state.
	Spec FlunderSpec `json:"spec,omitempty" pb:"2"`
	// The observed state, which is written through the status subresource.
	Status FlunderStatus `json:"status,omitempty" pb:"3"`
}

// FlunderSpec is the wanted state of a Flunder.
type FlunderSpec struct {
	// Name of a Flunder. Must not be set together with fischerReference.
	FlunderReference string `json:"flunderReference,omitempty" pb:"1"`
	// Name of a Fischer.
	FischerReference string `json:"fischerReference,omitempty" pb:"2"`
	// Kind of the object that is referred to. By default it follows from the reference that is set.
	ReferenceType ReferenceType `json:"referenceType,omitempty" pb:"3" enum:"Flunder,Fischer"`
	// How soon somebody has a look at the Flunder. Cannot be changed.
	Priority string `json:"priority,omitempty" pb:"4" enum:"low,high" default:"low"`
}

// FlunderStatus is the state of a Flunder.
type FlunderStatus struct {
	// What the Flunder is doing.
	Phase string `json:"phase,omitempty" pb:"1"`
	// The generation that the status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" pb:"2"`
}

// FlunderList is a list of Flunders.
type FlunderList struct {
	meta.TypeMeta `json:",inline"`
	// The revision of the list and, if the list is one page of several, the token for the next
	// page.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The Flunders in the list.
	Items []Flunder `json:"items" pb:"2"`
}
