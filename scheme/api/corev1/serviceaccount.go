package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// ServiceAccount is an identity for what runs inside pods.
type ServiceAccount struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Secrets that pods of this account may use when the enforce-mountable-secrets annotation is
	// "true".
	Secrets []ObjectReference `json:"secrets,omitempty" pb:"2" list:"map,key=name" patch:"merge,key=name"`
	// Secrets with registry credentials that pods of this account get for pulling their images.
	ImagePullSecrets []LocalObjectReference `json:"imagePullSecrets,omitempty" pb:"3" list:"atomic"`
	// Whether pods of this account get a token mounted; a pod may decide otherwise for itself.
	AutomountServiceAccountToken *bool `json:"automountServiceAccountToken,omitempty" pb:"4"`
}

// ServiceAccountList is a list of service accounts.
type ServiceAccountList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []ServiceAccount `json:"items" pb:"2"`
}
