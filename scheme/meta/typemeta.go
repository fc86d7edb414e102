package meta

// TypeMeta says which kind an object is, and in which version of its group it is written.
type TypeMeta struct {
	// Kind is a string value, the name of the kind in singular CamelCase. It cannot be changed, and
	// may be left out where the request path tells it.
	Kind string `json:"kind,omitempty" pb:"1"`
	// APIVersion defines the group and version in which the object is written: "v1", "apps/v1". A
	// server converts what it knows to its own version and refuses the rest.
	APIVersion string `json:"apiVersion,omitempty" pb:"2"`
}

// ListMeta is the metadata of lists and of some other answers that are not objects.
type ListMeta struct {
	// SelfLink is no longer filled in.
	SelfLink string `json:"selfLink,omitempty" pb:"1"`
	// ResourceVersion is the revision that the list shows. A client hands it back as it is, for
	// instance to watch from there; nothing can be read from it.
	ResourceVersion string `json:"resourceVersion,omitempty" pb:"2"`
	// Continue is set if a limit cut the list off. Handed back with otherwise the same options, it
	// gets the next page.
	Continue string `json:"continue,omitempty" pb:"3"`
	// RemainingItemCount is about how many items come after this page, if that is known. With
	// selectors it is not.
	RemainingItemCount *int64 `json:"remainingItemCount,omitempty" pb:"4"`
	// ShardInfo is set if the list holds only one shard of the objects.
	ShardInfo *ShardInfo `json:"shardInfo,omitempty" pb:"5"`
}

// ShardInfo says which shard of a collection a list holds.
type ShardInfo struct {
	// Selector is the shard selector that was applied, as the server understood it.
	Selector string `json:"selector" pb:"1"`
}

// Names that the API gives a meaning.
const (
	NamespaceAll     = "" // in a request: all namespaces
	NamespaceDefault = "default"
	NamespaceSystem  = "kube-system"
	NamespacePublic  = "kube-public"

	// ObjectNameField is the field selector for the name of an object.
	ObjectNameField = "metadata.name"
	// InitialEventsAnnotation marks the bookmark that ends the initial events of a watch.
	InitialEventsAnnotation = "k8s.io/initial-events-end"
)

// GroupName is the group of the options, of Table and of PartialObjectMetadata.
const GroupName = "meta.k8s.io"
