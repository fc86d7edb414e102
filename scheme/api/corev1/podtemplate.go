package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// PodTemplateSpec describes the pods that somebody makes.
type PodTemplateSpec struct {
	// Labels, annotations and finalizers of the pods; the rest of the metadata is not used.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// What the pods run.
	Spec PodSpec `json:"spec,omitempty" pb:"2"`
}

// PodTemplate keeps a description of pods for those who make some.
type PodTemplate struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// What pods are made from.
	Template PodTemplateSpec `json:"template,omitempty" pb:"2"`
}

// PodTemplateList is a list of pod templates.
type PodTemplateList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []PodTemplate `json:"items" pb:"2"`
}
