package meta

// APIVersions are the versions of the core group, as /api tells them.
type APIVersions struct {
	TypeMeta `json:",inline"`
	// Versions are the names of the versions.
	Versions []string `json:"versions" pb:"1" list:"atomic"`
	// ServerAddressByClientCIDRs say at which address clients find the server, depending on where
	// they are.
	ServerAddressByClientCIDRs []ServerAddressByClientCIDR `json:"serverAddressByClientCIDRs" pb:"2" list:"atomic"`
}

// APIGroupList is a list of API groups, as /apis tells it.
type APIGroupList struct {
	TypeMeta `json:",inline"`
	// Groups are the groups.
	Groups []APIGroup `json:"groups" pb:"1" list:"atomic"`
}

// APIGroup describes an API group.
type APIGroup struct {
	TypeMeta `json:",inline"`
	// Name is what the group is called in paths and in apiVersion, such as apps.
	Name string `json:"name" pb:"1"`
	// Versions are those of the group that the server has.
	Versions []GroupVersionForDiscovery `json:"versions" pb:"2" list:"atomic"`
	// PreferredVersion is the version that clients should use.
	PreferredVersion GroupVersionForDiscovery `json:"preferredVersion,omitempty" pb:"3"`
	// ServerAddressByClientCIDRs say at which address clients find the server, depending on where
	// they are.
	ServerAddressByClientCIDRs []ServerAddressByClientCIDR `json:"serverAddressByClientCIDRs,omitempty" pb:"4" list:"atomic"`
}

// ServerAddressByClientCIDR says at which address clients from a range find the server.
type ServerAddressByClientCIDR struct {
	// ClientCIDR is the range of client addresses.
	ClientCIDR string `json:"clientCIDR" pb:"1"`
	// ServerAddress is the address of the server: a host, an IP address, perhaps with a port.
	ServerAddress string `json:"serverAddress" pb:"2"`
}

// GroupVersionForDiscovery names a version of a group in both forms.
type GroupVersionForDiscovery struct {
	// GroupVersion is group and version: "group/version".
	GroupVersion string `json:"groupVersion" pb:"1"`
	// Version is the version alone.
	Version string `json:"version" pb:"2"`
}

// APIResource describes a resource or subresource.
type APIResource struct {
	// Name is the plural name that stands in paths; that of a subresource has a slash in it.
	Name string `json:"name" pb:"1"`
	// SingularName is the name for one, for use on command lines. If empty, clients make it from
	// the kind.
	SingularName string `json:"singularName" pb:"6"`
	// Namespaced says whether objects belong to a namespace.
	Namespaced bool `json:"namespaced" pb:"2"`
	// Group is the group of the kind, if it is not that of the list.
	Group string `json:"group,omitempty" pb:"8"`
	// Version is the version of the kind, if it is not that of the list.
	Version string `json:"version,omitempty" pb:"9"`
	// Kind is the kind of the objects.
	Kind string `json:"kind" pb:"3"`
	// Verbs are what the resource can do: create, get, list, watch and so on.
	Verbs Verbs `json:"verbs" pb:"4"`
	// ShortNames are abbreviations for use on command lines.
	ShortNames []string `json:"shortNames,omitempty" pb:"5" list:"atomic"`
	// Categories are groups of resources to which this one belongs, such as "all".
	Categories []string `json:"categories,omitempty" pb:"7" list:"atomic"`
	// StorageVersionHash changes when the resource is stored in another version.
	StorageVersionHash string `json:"storageVersionHash,omitempty" pb:"10"`
}

// Verbs is a list of verbs. In protobuf it is a message of its own, so that an empty list differs
// from none.
type Verbs []string

// APIResourceList describes the resources of one version of a group.
type APIResourceList struct {
	TypeMeta `json:",inline"`
	// GroupVersion is group and version of the resources.
	GroupVersion string `json:"groupVersion" pb:"1"`
	// Resources are the resources and subresources.
	APIResources []APIResource `json:"resources" pb:"2" list:"atomic"`
}

// RootPaths are the paths that a server has.
type RootPaths struct {
	// Paths are the paths, sorted.
	Paths []string `json:"paths" pb:"1" list:"atomic"`
}

// WatchEvent is one change in a watch.
type WatchEvent struct {
	// Type is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.
	Type string `json:"type" pb:"1"`
	// Object is the object after the change; before it if the change is a deletion. With BOOKMARK
	// it is an object with nothing but a resourceVersion, with ERROR a Status.
	Object RawExtension `json:"object" pb:"2"`
}
