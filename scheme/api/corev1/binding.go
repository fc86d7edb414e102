package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// Binding assigns a pod to a node. It is sent, and not stored.
type Binding struct {
	meta.TypeMeta `json:",inline"`
	// Metadata of the pod, by its name; annotations and labels are added to the pod's.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The node, by its name; the kind is Node or left out.
	Target ObjectReference `json:"target" pb:"2"`
}
