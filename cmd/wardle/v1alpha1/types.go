// Package v1alpha1 declares the first version of wardle.example.com. Its Flunder has one field for
// references of both kinds, which is why it needs conversion functions.
//
// Comments of types and fields are what kubectl explain prints; the tags are explained in
// scheme/typeinfo.
//
// Read: types.go, register.go.
package v1alpha1

import "github.com/coracle-project/coracle/scheme/meta"

// ReferenceType says what a Flunder refers to.
type ReferenceType string

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
	// Name of a Flunder or Fischer.
	Reference string `json:"reference,omitempty" pb:"1"`
	// Kind of the object that is referred to, by default Flunder.
	ReferenceType *ReferenceType `json:"referenceType,omitempty" pb:"2" enum:"Flunder,Fischer"`
	// How soon somebody has a look at the Flunder. Cannot be changed.
	Priority string `json:"priority,omitempty" pb:"3" enum:"low,high" default:"low"`
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

// Fischer decides which names Flunders may have.
type Fischer struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and the other metadata that all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Names that no new Flunder may have.
	DisallowedFlunders []string `json:"disallowedFlunders,omitempty" pb:"2" list:"set"`
}

// FischerList is a list of Fischers.
type FischerList struct {
	meta.TypeMeta `json:",inline"`
	// The revision of the list and, if the list is one page of several, the token for the next
	// page.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The Fischers in the list.
	Items []Fischer `json:"items" pb:"2"`
}
