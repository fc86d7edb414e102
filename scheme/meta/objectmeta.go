package meta

// ObjectMeta is the metadata that every object has: its name, its place, its history and its
// labels.
type ObjectMeta struct {
	// Name is unique among the objects of a kind in a namespace. It is given at creation, by the
	// client or from generateName, and cannot be changed.
	Name string `json:"name,omitempty" pb:"1"`
	// GenerateName is a prefix from which the server makes a name, with five random characters, if
	// there is no name. If the name is taken, the answer is 409 and the client may try again.
	GenerateName string `json:"generateName,omitempty" pb:"2"`
	// Namespace is the space in which the name is unique. It is empty for kinds that belong to the
	// whole cluster and cannot be changed.
	Namespace string `json:"namespace,omitempty" pb:"3"`
	// SelfLink is no longer filled in.
	SelfLink string `json:"selfLink,omitempty" pb:"4"`
	// UID tells this object from all others in time and space, also from an earlier one of the same
	// name. The server makes it at creation; it cannot be changed.
	UID UID `json:"uid,omitempty" pb:"5"`
	// ResourceVersion changes with every change of the object. A client hands it back as it is, to
	// watch from there or to have an update refused if somebody else was faster; nothing can be
	// read from it.
	ResourceVersion string `json:"resourceVersion,omitempty" pb:"6"`
	// Generation counts changes of what is desired, from 1 on. The server fills it in, for kinds
	// that have it.
	Generation int64 `json:"generation,omitempty" pb:"7"`
	// CreationTimestamp is a timestamp, in UTC, of when the server created the object. Clients
	// cannot set it.
	CreationTimestamp *Time `json:"creationTimestamp,omitempty" pb:"8"`
	// DeletionTimestamp is when the object will be or should have been gone. The server sets it on
	// a graceful deletion or if finalizers keep the object; it cannot be unset. The object goes
	// once its finalizers are gone.
	DeletionTimestamp *Time `json:"deletionTimestamp,omitempty" pb:"9"`
	// DeletionGracePeriodSeconds is how long the object may take to end by itself, in seconds. It
	// is set together with deletionTimestamp and can only be made shorter.
	DeletionGracePeriodSeconds *int64 `json:"deletionGracePeriodSeconds,omitempty" pb:"10"`
	// Labels are keys and values by which objects are grouped and selected. Values have at most 63
	// characters, and so have keys after an optional domain and slash.
	Labels map[string]string `json:"labels,omitempty" pb:"11"`
	// Annotations are keys and values, of 256 KiB at most, that tools keep with the object. They
	// cannot be selected by, and are kept when the object is changed.
	Annotations map[string]string `json:"annotations,omitempty" pb:"12"`
	// OwnerReferences are the objects on which this one depends. When all of them are gone this one
	// is collected as garbage. At most one of them is the controller.
	OwnerReferences []OwnerReference `json:"ownerReferences,omitempty" pb:"13" list:"map,key=uid" patch:"merge,key=uid"`
	// Finalizers keep an object that is deleted until the last of them is gone. Each names who
	// still has work to do and removes itself when done, in any order. While a deletion is under
	// way entries can only be removed.
	Finalizers []string `json:"finalizers,omitempty" pb:"14" list:"set" patch:"merge"`
	// ManagedFields records which manager set which fields, in which version. The server keeps it,
	// mainly for server-side apply.
	ManagedFields []ManagedFieldsEntry `json:"managedFields,omitempty" pb:"17" list:"atomic"`
}

// OwnerReference names an object on which another one depends. The owner is in the same namespace,
// or belongs to the whole cluster.
type OwnerReference struct {
	_ struct{} `struct:"atomic"`

	// APIVersion is the group and version of the owner.
	APIVersion string `json:"apiVersion" pb:"5"`
	// Kind is the kind of the owner.
	Kind string `json:"kind" pb:"1"`
	// Name is the name of the owner.
	Name string `json:"name" pb:"3"`
	// UID is the UID of the owner. An object of the same name and another UID is not the owner.
	UID UID `json:"uid" pb:"4"`
	// Controller is true for the one owner that manages the object.
	Controller *bool `json:"controller,omitempty" pb:"6"`
	// BlockOwnerDeletion keeps an owner that is deleted in the foreground until this reference is
	// gone. Who sets it needs the right to delete the owner.
	BlockOwnerDeletion *bool `json:"blockOwnerDeletion,omitempty" pb:"7"`
}

// Finalizers that Kubernetes defines.
const (
	FinalizerKubernetes       = "kubernetes"         // of namespaces
	FinalizerOrphanDependents = "orphan"             // dependents lose their reference before the object goes
	FinalizerDeleteDependents = "foregroundDeletion" // dependents go before the object
)

// ManagedFieldsEntry is the set of fields that one manager set by one kind of request.
type ManagedFieldsEntry struct {
	// Manager names who set the fields.
	Manager string `json:"manager,omitempty" pb:"1"`
	// Operation is Apply for server-side apply and Update for all other writes.
	Operation ManagedFieldsOperationType `json:"operation,omitempty" pb:"2"`
	// APIVersion is the version of the object in which fieldsV1 is written. It is needed, as fields
	// have other names in other versions.
	APIVersion string `json:"apiVersion,omitempty" pb:"3"`
	// Time is when the entry was made or its fields last changed. Losing fields to another manager
	// leaves it alone.
	Time *Time `json:"time,omitempty" pb:"4"`
	// FieldsType is the form of the set of fields. There is one: FieldsV1.
	FieldsType string `json:"fieldsType,omitempty" pb:"6"`
	// FieldsV1 is the set of fields, in the form FieldsV1.
	FieldsV1 *FieldsV1 `json:"fieldsV1,omitempty" pb:"7"`
	// Subresource is the subresource through which the fields were set, empty for the object
	// itself. The same manager has an entry for each.
	Subresource string `json:"subresource,omitempty" pb:"8"`
}

// ManagedFieldsOperationType is how fields were set.
type ManagedFieldsOperationType string

// The operations of a ManagedFieldsEntry.
const (
	ManagedFieldsOperationApply  ManagedFieldsOperationType = "Apply"
	ManagedFieldsOperationUpdate ManagedFieldsOperationType = "Update"
)

// PartialObjectMetadata is any object with nothing but its metadata. A client that accepts it need
// not know the kind.
type PartialObjectMetadata struct {
	TypeMeta `json:",inline"`
	// ObjectMeta is the metadata of the object.
	ObjectMeta `json:"metadata,omitempty" pb:"1"`
}

// PartialObjectMetadataList is a list of objects with nothing but their metadata.
type PartialObjectMetadataList struct {
	TypeMeta `json:",inline"`
	// ListMeta is the metadata of the list.
	ListMeta `json:"metadata,omitempty" pb:"1"`
	// Items are the objects.
	Items []PartialObjectMetadata `json:"items" pb:"2"`
}
