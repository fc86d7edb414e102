package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// DownwardAPIVolumeSource makes files from facts about the pod.
type DownwardAPIVolumeSource struct {
	// The files, each with one fact.
	Items []DownwardAPIVolumeFile `json:"items,omitempty" pb:"1" list:"atomic"`
	// Mode bits of created files that set none of their own, between 0000 and 0777; 0644 by
	// default.
	DefaultMode *int32 `json:"defaultMode,omitempty" pb:"2"`
}

// DownwardAPIVolumeFile is a file with a fact about the pod.
type DownwardAPIVolumeFile struct {
	// Relative path of the file; must not contain "..".
	Path string `json:"path" pb:"1"`
	// A field of the pod: metadata.name, metadata.namespace, metadata.uid, metadata.labels,
	// metadata.annotations, or one of the last two's, as metadata.labels['key'].
	FieldRef *ObjectFieldSelector `json:"fieldRef,omitempty" pb:"2"`
	// A resource request or limit of a container.
	ResourceFieldRef *ResourceFieldSelector `json:"resourceFieldRef,omitempty" pb:"3"`
	// Mode bits of this file, between 0000 and 0777; the volume's default mode if unset.
	Mode *int32 `json:"mode,omitempty" pb:"4"`
}

// ObjectFieldSelector is the path of a field in some version.
type ObjectFieldSelector struct {
	_ struct{} `struct:"atomic"`

	// Version that the path is written in; v1 by default.
	APIVersion string `json:"apiVersion,omitempty" pb:"1"`
	// Path of the field, such as metadata.name; each use has its own list of those that it allows.
	FieldPath string `json:"fieldPath" pb:"2"`
}

// ResourceFieldSelector names a resource request or limit of a container.
type ResourceFieldSelector struct {
	_ struct{} `struct:"atomic"`

	// Name of the container; required in volumes, optional in environment variables.
	ContainerName string `json:"containerName,omitempty" pb:"1"`
	// The resource: limits or requests, a dot, and cpu, memory, ephemeral-storage or
	// hugepages-<size>, as in limits.cpu.
	Resource string `json:"resource" pb:"2"`
	// Unit in which the amount is shown, rounded up; 1 by default. For cpu 1 or 1m, for bytes 1k,
	// 1Ki and so on.
	Divisor meta.Quantity `json:"divisor,omitempty" pb:"3"`
}

// ProjectedVolumeSource puts several sources into one directory.
type ProjectedVolumeSource struct {
	// The sources. Each entry has one of its members set.
	Sources []VolumeProjection `json:"sources" pb:"1" check:"optional" list:"atomic"`
	// Mode bits of created files that set none of their own, between 0000 and 0777; 0644 by
	// default.
	DefaultMode *int32 `json:"defaultMode,omitempty" pb:"2"`
}

// VolumeProjection is one source of a projected volume: one member must be set.
type VolumeProjection struct {
	// Data of a secret.
	Secret *SecretProjection `json:"secret,omitempty" pb:"1"`
	// Facts about the pod.
	DownwardAPI *DownwardAPIProjection `json:"downwardAPI,omitempty" pb:"2"`
	// Data of a config map.
	ConfigMap *ConfigMapProjection `json:"configMap,omitempty" pb:"3"`
	// A token of the pod's service account.
	ServiceAccountToken *ServiceAccountTokenProjection `json:"serviceAccountToken,omitempty" pb:"4"`
	// Trust anchors of a cluster trust bundle.
	ClusterTrustBundle *ClusterTrustBundleProjection `json:"clusterTrustBundle,omitempty" pb:"5"`
	// A private key with its certificate chain, kept fresh.
	PodCertificate *PodCertificateProjection `json:"podCertificate,omitempty" pb:"6"`
}

// SecretProjection makes files from the data of a secret.
type SecretProjection struct {
	// Names the object to read, in the same namespace.
	LocalObjectReference `json:",inline" pb:"1"`
	// Keys to show, with their paths; all keys if empty.
	Items []KeyToPath `json:"items,omitempty" pb:"2" list:"atomic"`
	// Whether the secret, or a key that items names, may be missing; false by default.
	Optional *bool `json:"optional,omitempty" pb:"4"`
}

// DownwardAPIProjection makes files from facts about the pod.
type DownwardAPIProjection struct {
	// The files, each with one fact.
	Items []DownwardAPIVolumeFile `json:"items,omitempty" pb:"1" list:"atomic"`
}

// ConfigMapProjection makes files from the data of a config map.
type ConfigMapProjection struct {
	// Names the object to read, in the same namespace.
	LocalObjectReference `json:",inline" pb:"1"`
	// Keys to show, with their paths; all keys if empty.
	Items []KeyToPath `json:"items,omitempty" pb:"2" list:"atomic"`
	// Whether the config map, or a key that items names, may be missing; false by default.
	Optional *bool `json:"optional,omitempty" pb:"4"`
}

// ServiceAccountTokenProjection makes a file with a service account token.
type ServiceAccountTokenProjection struct {
	// Whom the token is for; the API server by default.
	Audience string `json:"audience,omitempty" pb:"1"`
	// Wished lifetime in seconds; 3600 by default, at least 600.
	ExpirationSeconds *int64 `json:"expirationSeconds,omitempty" pb:"2"`
	// Relative path of the file.
	Path string `json:"path" pb:"3"`
}

// ClusterTrustBundleProjection makes a file with trust anchors.
type ClusterTrustBundleProjection struct {
	// Bundle to take; excludes signerName and labelSelector.
	Name *string `json:"name,omitempty" pb:"1"`
	// Take all bundles of this signer; excludes name.
	SignerName *string `json:"signerName,omitempty" pb:"2"`
	// Take those of the signer's bundles that have these labels; none if unset, all if empty.
	LabelSelector *meta.LabelSelector `json:"labelSelector,omitempty" pb:"3"`
	// Whether the bundles may be missing; false by default.
	Optional *bool `json:"optional,omitempty" pb:"5"`
	// Relative path of the file.
	Path string `json:"path" pb:"4"`
}

// PodCertificateProjection makes a private key and has a signer certify it.
type PodCertificateProjection struct {
	// Signer that is asked.
	SignerName string `json:"signerName,omitempty" pb:"1" check:"required"`
	// Kind of key: RSA3072, RSA4096, ECDSAP256, ECDSAP384, ECDSAP521 or ED25519.
	KeyType string `json:"keyType,omitempty" pb:"2" check:"required"`
	// Longest lifetime of the certificate in seconds: 3600 to 7862400.
	MaxExpirationSeconds *int32 `json:"maxExpirationSeconds,omitempty" pb:"3"`
	// Relative path of a file with both key and chain.
	CredentialBundlePath string `json:"credentialBundlePath,omitempty" pb:"4"`
	// Relative path of a file with the key.
	KeyPath string `json:"keyPath,omitempty" pb:"5"`
	// Relative path of a file with the chain.
	CertificateChainPath string `json:"certificateChainPath,omitempty" pb:"6"`
	// Passed on to the signer; keys are qualified names.
	UserAnnotations map[string]string `json:"userAnnotations,omitempty" pb:"7"`
}
