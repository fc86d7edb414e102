// Package apidiscoveryv2 declares the documents of aggregated discovery, apidiscovery.k8s.io/v2: everything that a
// server serves in one answer (KEP-3352).
package apidiscoveryv2

import "github.com/coracle-project/coracle/scheme/meta"

// APIGroupDiscoveryList is the document: the groups in the order in which clients prefer them.
type APIGroupDiscoveryList struct {
	meta.TypeMeta `json:",inline"`
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	Items         []APIGroupDiscovery `json:"items" pb:"2"`
}

// APIGroupDiscovery is a group with its versions. Its name is in the metadata, empty for the core group.
type APIGroupDiscovery struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Versions are in the order of preference.
	Versions []APIVersionDiscovery `json:"versions,omitempty" pb:"2" list:"map,key=version"`
}

// APIVersionDiscovery is a version of a group with its resources.
type APIVersionDiscovery struct {
	Version   string                 `json:"version" pb:"1"`
	Resources []APIResourceDiscovery `json:"resources,omitempty" pb:"2" list:"map,key=resource"`
	// Freshness says whether the resources are what the server behind the version serves now.
	Freshness DiscoveryFreshness `json:"freshness,omitempty" pb:"3"`
}

// APIResourceDiscovery is a resource with its subresources.
type APIResourceDiscovery struct {
	// Resource is the plural in paths.
	Resource string `json:"resource" pb:"1"`
	// ResponseKind is what the resource answers with; group and version are empty if they are those of the list.
	ResponseKind     *meta.GroupVersionKind    `json:"responseKind,omitempty" pb:"2"`
	Scope            ResourceScope             `json:"scope" pb:"3"`
	SingularResource string                    `json:"singularResource" pb:"4"`
	Verbs            []string                  `json:"verbs" pb:"5" list:"set"`
	ShortNames       []string                  `json:"shortNames,omitempty" pb:"6" list:"set"`
	Categories       []string                  `json:"categories,omitempty" pb:"7" list:"set"`
	Subresources     []APISubresourceDiscovery `json:"subresources,omitempty" pb:"8" list:"map,key=subresource"`
}

// ResourceScope says where the objects of a resource live.
type ResourceScope string

// The scopes.
const (
	ScopeCluster   ResourceScope = "Cluster"
	ScopeNamespace ResourceScope = "Namespaced"
)

// DiscoveryFreshness says how new a version's resources are.
type DiscoveryFreshness string

// The degrees of freshness.
const (
	DiscoveryFreshnessCurrent DiscoveryFreshness = "Current"
	DiscoveryFreshnessStale   DiscoveryFreshness = "Stale"
)

// APISubresourceDiscovery is a subresource.
type APISubresourceDiscovery struct {
	Subresource   string                  `json:"subresource" pb:"1"`
	ResponseKind  *meta.GroupVersionKind  `json:"responseKind,omitempty" pb:"2"`
	AcceptedTypes []meta.GroupVersionKind `json:"acceptedTypes,omitempty" pb:"3" list:"map,key=group,key=version,key=kind"`
	Verbs         []string                `json:"verbs" pb:"4" list:"set"`
}
