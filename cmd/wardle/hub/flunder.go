// Package hub declares the Flunder that the server itself works with. Clients never see it: the
// versions that they see convert to it and from it, so a new version needs conversions to one type
// only, and strategies are written once.
//
// A kind with one version, such as Fischer, needs no hub type: its version is the hub.
package hub

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
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Spec            FlunderSpec   `json:"spec,omitempty"`
	Status          FlunderStatus `json:"status,omitempty"`
}

// FlunderSpec is the wanted state. At most one of the references is set, and ReferenceType fits it.
type FlunderSpec struct {
	FlunderReference string        `json:"flunderReference,omitempty"`
	FischerReference string        `json:"fischerReference,omitempty"`
	ReferenceType    ReferenceType `json:"referenceType,omitempty" enum:"Flunder,Fischer" check:"enum"`
	Priority         string        `json:"priority,omitempty" enum:"low,high" check:"enum,immutable"`
}

// FlunderStatus is the observed state.
type FlunderStatus struct {
	Phase              string `json:"phase,omitempty"`
	ObservedGeneration int64  `json:"observedGeneration,omitempty"`
}
