package appsv1

import "github.com/coracle-project/coracle/scheme/meta"

// ControllerRevision keeps the state that an owner of pods had, so that it can go back to it.
type ControllerRevision struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The state, in the owner's form. It cannot be changed.
	Data meta.RawExtension `json:"data,omitempty" pb:"2"`
	// Number of the state among those of the same owner.
	Revision int64 `json:"revision" pb:"3"`
}

// ControllerRevisionList is a list of revisions.
type ControllerRevisionList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []ControllerRevision `json:"items" pb:"2"`
}
