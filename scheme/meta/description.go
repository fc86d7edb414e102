package meta

// Description is what a server tells its clients about a resource or subresource in one version. A
// declaration (registry.ResourceOf, Actions, ComputedResource) makes it; routes, discovery and
// OpenAPI embed it and add what only they know. The slices are shared and read-only.
type Description struct {
	// Name is the plural, with "/subresource" behind it for a subresource: "pods", "pods/status".
	Name     string
	Singular string // of resources only
	ListKind string // "" means Kind + "List"
	// Kind is the kind of the objects in bodies of requests and responses, in the version served. A
	// subresource may have a kind of another group; for a subresource that connects, it is the kind
	// of the options.
	Kind       GroupVersionKind
	Namespaced bool
	ShortNames []string
	Categories []string
	// Custom marks custom resources, all other resources without a Go type, and their subresources
	// of whatever kind. kube-apiserver serves them in another way: items of their lists carry
	// apiVersion and kind, they have no protobuf form and no strategic merge patch, and the texts
	// of OpenAPI and of errors differ.
	Custom bool
	// ReturnsDeleted says that delete answers with the object rather than a Status, as it does for
	// pods.
	ReturnsDeleted bool
}

// Lists returns the kind of the lists of the resource, in the group and version of its objects.
func (d *Description) Lists() GroupVersionKind {
	if d.ListKind != "" {
		return d.Kind.GroupVersion().WithKind(d.ListKind)
	}
	return d.Kind.GroupVersion().WithKind(d.Kind.Kind + "List")
}

// Of returns the description of a subresource whose kind is that of the resource d.
func (d *Description) Of(subresource string) Description {
	return Description{Name: d.Name + "/" + subresource, Kind: d.Kind, Namespaced: d.Namespaced, Custom: d.Custom}
}
