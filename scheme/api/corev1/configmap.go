package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// ConfigMap holds configuration for pods and other readers, as texts and bytes by key.
type ConfigMap struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// If true, data cannot be changed any more (only metadata can); cannot be undone.
	Immutable *bool `json:"immutable,omitempty" pb:"4"`
	// Texts by key. Keys consist of letters, digits, '-', '_' and '.', and must not repeat in
	// binaryData.
	Data map[string]string `json:"data,omitempty" pb:"2"`
	// Bytes by key, for what is not UTF-8 text. Keys follow the same rule and must not repeat in
	// data.
	BinaryData map[string][]byte `json:"binaryData,omitempty" pb:"3"`
}

// ConfigMapList is a list of config maps.
type ConfigMapList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []ConfigMap `json:"items" pb:"2"`
}
