package generic

import (
	"slices"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Group is an API group to serve: its types and its resources. The versions and their order come
// from the scheme; a resource is served in each version in which its kind is registered.
type Group struct {
	Name string
	// Priority orders groups in discovery, highest first. Versions follow the order of their kinds.
	Priority int
	// AddToScheme registers the group's types, defaults and conversions. New calls it.
	AddToScheme func(*scheme.Scheme)
	Resources   []registry.Resource
	// Actions are resources without a store, which are only created: reviews.
	Actions []registry.Actions
	// Observed are resources without a store, which are only read: component statuses.
	Observed []registry.Observed
	// Shared are resources of other groups, installed before, that are served in this one as well,
	// under the same plural and kind: the same objects in one store.
	Shared []meta.GroupResource

	// BuiltIn groups come with the server, whose tests find what is wrong with their kinds: these
	// are compiled when they are first used, and stored as older servers can read them.
	BuiltIn bool
	// Chosen says what of the group is served; nil: everything.
	Chosen func(meta.GroupVersionResource) bool
}

// Names are the names of all resources of the group.
func (g *Group) Names() (names []meta.GroupResource) {
	for _, res := range g.Resources {
		names = append(names, res.GroupResource)
	}
	for _, a := range g.Actions {
		names = append(names, a.GroupResource)
	}
	for _, seen := range g.Observed {
		names = append(names, seen.GroupResource)
	}
	for _, other := range g.Shared {
		names = append(names, meta.GroupResource{Group: g.Name, Resource: other.Resource})
	}
	return names
}

// Register adds the kinds of the group to a scheme.
func (g *Group) Register(s *scheme.Scheme) {
	if g.BuiltIn {
		s.AddLazy(g.AddToScheme)
		return
	}
	g.AddToScheme(s)
}

// The places of versions in their groups, and of custom resources among the groups of discovery, as
// in Kubernetes.
const (
	CustomPriority        = 1000 // of groups of custom resources
	CustomVersionPriority = 100  // of custom resources; of several the usual order of versions decides
	usualVersionPriority  = 15
)

// versionPriorities are the places of versions in their groups, as Kubernetes has them, where they
// are not the usual one.
var versionPriorities = map[meta.GroupVersion]int32{
	{Group: "", Version: "v1"}:                             1,
	{Group: "autoscaling", Version: "v2"}:                  30,
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"}: 21,
	{Group: "resource.k8s.io", Version: "v1"}:              21,
}

// RegisteredPriority is the place of a version of Kubernetes' own in its group.
func RegisteredPriority(gv meta.GroupVersion) int32 {
	if p, ok := versionPriorities[gv]; ok {
		return p
	}
	return usualVersionPriority
}

// versionPriority is the place of the i-th of a kind's versions in discovery, as it is registered.
// The order of a kind needs another one only where it is not that of all groups.
func versionPriority(versions []*kind.Version, i int, custom bool) int {
	usual := slices.IsSortedFunc(versions, func(a, b *kind.Version) int { return scheme.CompareVersions(a.GVK.Version, b.GVK.Version) })
	switch {
	case custom:
		return CustomVersionPriority
	case usual:
		return int(RegisteredPriority(versions[i].GVK.GroupVersion()))
	}
	return usualVersionPriority + len(versions) - i
}
