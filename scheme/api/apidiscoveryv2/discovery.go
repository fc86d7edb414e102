package apidiscoveryv2

import "github.com/coracle-project/coracle/scheme/meta"

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "apidiscovery.k8s.io", Version: "v2"}

// APIGroupDiscoveryList is the document: the groups in the order in which clients prefer them.
type APIGroupDiscoveryList struct {
	meta.TypeMeta `json:",inline"`
	// ListMeta is the metadata of the list; its resourceVersion is empty.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// Items are the groups.
	Items []APIGroupDiscovery `json:"items" pb:"2"`
}

// APIGroupDiscovery is a group with its versions.
type APIGroupDiscovery struct {
	meta.TypeMeta `json:",inline"`
	// ObjectMeta has nothing but the name: that of the group, empty for the core group.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Versions are the versions in the order of preference.
	Versions []APIVersionDiscovery `json:"versions,omitempty" pb:"2" list:"map,key=version"`
}

// APIVersionDiscovery is a version of a group with its resources.
type APIVersionDiscovery struct {
	// Version is the name of the version.
	Version string `json:"version" pb:"1"`
	// Resources are the resources of the version.
	Resources []APIResourceDiscovery `json:"resources,omitempty" pb:"2" list:"map,key=resource"`
	// Freshness says whether the resources are what the server behind the version serves now:
	// Current or Stale.
	Freshness DiscoveryFreshness `json:"freshness,omitempty" pb:"3"`
}

// APIResourceDiscovery is a resource with its subresources.
type APIResourceDiscovery struct {
	// Resource is the plural name that stands in paths.
	Resource string `json:"resource" pb:"1"`
	// ResponseKind is the kind of the objects. Unset, the resource has no objects of its own, only
	// subresources.
	ResponseKind *meta.GroupVersionKind `json:"responseKind,omitempty" pb:"2"`
	// Scope says where objects live: Cluster or Namespaced.
	Scope ResourceScope `json:"scope" pb:"3"`
	// SingularResource is the name for one, for use on command lines.
	SingularResource string `json:"singularResource" pb:"4"`
	// Verbs are what the resource can do.
	Verbs []string `json:"verbs" pb:"5" list:"set"`
	// ShortNames are abbreviations for use on command lines.
	ShortNames []string `json:"shortNames,omitempty" pb:"6" list:"set"`
	// Categories are groups of resources to which this one belongs, such as "all".
	Categories []string `json:"categories,omitempty" pb:"7" list:"set"`
	// Subresources are the subresources.
	Subresources []APISubresourceDiscovery `json:"subresources,omitempty" pb:"8" list:"map,key=subresource"`
}

// ResourceScope says where the objects of a resource live.
type ResourceScope string

// The scopes.
const (
	ScopeCluster   ResourceScope = "Cluster"
	ScopeNamespace ResourceScope = "Namespaced"
)

// DiscoveryFreshness says how new the resources of a version are.
type DiscoveryFreshness string

// The degrees of freshness.
const (
	DiscoveryFreshnessCurrent DiscoveryFreshness = "Current"
	DiscoveryFreshnessStale   DiscoveryFreshness = "Stale"
)

// APISubresourceDiscovery is a subresource.
type APISubresourceDiscovery struct {
	// Subresource is the name that stands in paths behind that of the object.
	Subresource string `json:"subresource" pb:"1"`
	// ResponseKind is the kind of the answers; unset if they are not objects.
	ResponseKind *meta.GroupVersionKind `json:"responseKind,omitempty" pb:"2"`
	// AcceptedTypes are the kinds that it takes, if others than that of the answer.
	AcceptedTypes []meta.GroupVersionKind `json:"acceptedTypes,omitempty" pb:"3" list:"map,key=group,key=version,key=kind"`
	// Verbs are what the subresource can do.
	Verbs []string `json:"verbs" pb:"4" list:"set"`
}
