package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// Secret holds a small amount of sensitive data, such as a password, token or key.
type Secret struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// If true, data cannot be changed any more (only metadata can); cannot be undone.
	Immutable *bool `json:"immutable,omitempty" pb:"5"`
	// The secret bytes by key, base64 encoded in JSON. Keys consist of letters, digits, '-', '_'
	// and '.'.
	Data map[string][]byte `json:"data,omitempty" pb:"2"`
	// Texts to be written into data, replacing keys of the same name; a convenience for writing
	// that is never returned.
	StringData map[string]string `json:"stringData,omitempty" pb:"4"`
	// Tells programs how to read the data, such as kubernetes.io/tls; "Opaque" by default. It
	// cannot be changed.
	Type SecretType `json:"type,omitempty" pb:"3"`
}

// SecretType tells which keys a secret must have and what they mean.
type SecretType string

// SecretList is a list of secrets.
type SecretList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []Secret `json:"items" pb:"2"`
}

// What a secret of SecretTypeServiceAccountToken has: annotations that name the service account,
// and keys of its data.
const (
	ServiceAccountNameKey      = "kubernetes.io/service-account.name"
	ServiceAccountUIDKey       = "kubernetes.io/service-account.uid"
	ServiceAccountTokenKey     = "token"
	ServiceAccountRootCAKey    = "ca.crt"
	ServiceAccountNamespaceKey = "namespace"
)
