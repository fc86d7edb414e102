package apiextensionsv1

import "github.com/coracle-project/coracle/scheme/meta"

// KubeAPIApprovedAnnotation is the annotation that a definition in a group of Kubernetes itself
// (k8s.io, kubernetes.io and the domains below them) must have. Its value is the URL where the API
// was approved, or begins with "unapproved".
const KubeAPIApprovedAnnotation = "api-approved.kubernetes.io"

// CustomResourceCleanupFinalizer keeps a deleted definition until no object of its resource is
// left.
const CustomResourceCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io"

// CustomResourceDefinition defines a resource that the API server is to serve. Its name is the
// plural name of the resource and the group, with a dot between them.
type CustomResourceDefinition struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The resource as it is wanted.
	Spec CustomResourceDefinitionSpec `json:"spec" pb:"2"`
	// The resource as it is served.
	Status CustomResourceDefinitionStatus `json:"status,omitempty" pb:"3"`
}

// CustomResourceDefinitionList is a list of definitions.
type CustomResourceDefinitionList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The definitions.
	Items []CustomResourceDefinition `json:"items" pb:"2"`
}

// CustomResourceDefinitionSpec is a resource as it is wanted.
type CustomResourceDefinitionSpec struct {
	// API group of the resource, which is served below /apis/<group>. The name of the definition
	// ends with it.
	Group string `json:"group" pb:"1"`
	// Names of the resource and its kind.
	Names CustomResourceDefinitionNames `json:"names" pb:"3"`
	// Whether objects are in namespaces (Namespaced) or not (Cluster).
	Scope ResourceScope `json:"scope" pb:"4"`
	// All versions of the resource. Discovery lists those that are served by their names: first v
	// and a number, higher numbers first, then those with beta, then those with alpha behind the
	// number, then all others by the alphabet; such as v10, v2, v1, v11beta2, v10beta3, v3beta1,
	// v12alpha1, foo1, foo10.
	Versions []CustomResourceDefinitionVersion `json:"versions" pb:"7" list:"atomic"`
	// How objects are converted between versions. By default nothing but their apiVersion changes.
	Conversion *CustomResourceConversion `json:"conversion,omitempty" pb:"9"`
	// Keep fields that the schemas do not name. It must be false: a schema says with
	// x-kubernetes-preserve-unknown-fields where such fields are kept.
	PreserveUnknownFields bool `json:"preserveUnknownFields,omitempty" pb:"10"`
}

// ResourceScope says whether the objects of a resource are in namespaces.
type ResourceScope string

// The scopes.
const (
	ClusterScoped   ResourceScope = "Cluster"
	NamespaceScoped ResourceScope = "Namespaced"
)

// CustomResourceDefinitionNames are the names of a resource and its kind.
type CustomResourceDefinitionNames struct {
	// Plural name of the resource in lower case, which stands in paths:
	// /apis/<group>/<version>/.../<plural>. The name of the definition begins with it.
	Plural string `json:"plural" pb:"1"`
	// Singular name of the resource in lower case. The kind in lower case by default.
	Singular string `json:"singular,omitempty" pb:"2"`
	// Short names of the resource in lower case, for clients such as kubectl get.
	ShortNames []string `json:"shortNames,omitempty" pb:"3" list:"atomic"`
	// Kind of the objects, usually singular and in camel case.
	Kind string `json:"kind" pb:"4"`
	// Kind of lists of the objects. The kind with List behind it by default.
	ListKind string `json:"listKind,omitempty" pb:"5"`
	// Groups of resources to which this one belongs, such as all, for clients such as kubectl get
	// all.
	Categories []string `json:"categories,omitempty" pb:"6" list:"atomic"`
}

// CustomResourceDefinitionStatus is a resource as it is served.
type CustomResourceDefinitionStatus struct {
	// Whether the names are accepted, whether the resource is served, and other aspects.
	Conditions []CustomResourceDefinitionCondition `json:"conditions" pb:"1" check:"optional" list:"map,key=type"`
	// Names that the resource is served by. They differ from those of the spec as long as others
	// have these.
	AcceptedNames CustomResourceDefinitionNames `json:"acceptedNames" pb:"2" check:"optional"`
	// Versions in which objects may be stored: all that were the storage version at any time.
	// Whoever has stored all objects again in the present one may take out the others. A version in
	// this list cannot be taken out of the spec.
	StoredVersions []string `json:"storedVersions" pb:"3" check:"optional" list:"atomic"`
	// Generation of the definition that the status was made of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" pb:"4"`
}

// CustomResourceDefinitionCondition is one aspect of the state of a definition.
type CustomResourceDefinitionCondition struct {
	// Which aspect, such as Established, NamesAccepted or Terminating.
	Type CustomResourceDefinitionConditionType `json:"type" pb:"1"`
	// Whether it holds: True, False or Unknown.
	Status ConditionStatus `json:"status" pb:"2"`
	// When the status last changed.
	LastTransitionTime meta.Time `json:"lastTransitionTime,omitempty" pb:"3"`
	// Why it last changed, as one word in camel case.
	Reason string `json:"reason,omitempty" pb:"4"`
	// Why it last changed, for people.
	Message string `json:"message,omitempty" pb:"5"`
	// Generation of the definition that the condition speaks of. If metadata.generation is higher,
	// it is out of date.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" pb:"6"`
}

// CustomResourceDefinitionConditionType is an aspect of the state of a definition.
type CustomResourceDefinitionConditionType string

// The types of conditions.
const (
	// Established: the names were accepted, and the resource is served from then on until the
	// definition is deleted.
	Established CustomResourceDefinitionConditionType = "Established"
	// NamesAccepted: no other resource of the group has any of the names.
	NamesAccepted CustomResourceDefinitionConditionType = "NamesAccepted"
	// NonStructuralSchema: a schema does not say of what type each value is, or says so in a place
	// that does not count.
	NonStructuralSchema CustomResourceDefinitionConditionType = "NonStructuralSchema"
	// Terminating: the definition is deleted, and the objects of the resource with it.
	Terminating CustomResourceDefinitionConditionType = "Terminating"
	// KubernetesAPIApprovalPolicyConformant: the annotation says where this API in a group of
	// Kubernetes was approved.
	KubernetesAPIApprovalPolicyConformant = CustomResourceDefinitionConditionType(
		"KubernetesAPIApprovalPolicyConformant")
	// StorageMigrating: objects are being stored in another version.
	StorageMigrating CustomResourceDefinitionConditionType = "StorageMigrating"
)

// ConditionStatus says whether a condition holds.
type ConditionStatus string

// The statuses of conditions.
const (
	ConditionTrue    ConditionStatus = "True"
	ConditionFalse   ConditionStatus = "False"
	ConditionUnknown ConditionStatus = "Unknown"
)
