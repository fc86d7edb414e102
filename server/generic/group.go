package generic

import (
	"slices"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Group declares an API group to serve: its types and its resources. Its versions, and their order,
// are those in which its kinds are registered in the scheme. A resource is served in each version
// of its kind.
type Group struct {
	Name string
	// Priority orders the groups in discovery, highest first. The versions of a group keep the
	// order in which their kinds are registered.
	Priority int
	// AddToScheme registers the group's types, defaults and conversions. Register calls it before
	// the group is installed.
	AddToScheme func(*scheme.Scheme)
	Resources   []registry.Resource
	// Actions are resources without a store that are only created, such as reviews.
	Actions []registry.Actions
	// Computed are resources without a store that are only read: component statuses.
	Computed []registry.ComputedResource
	// Shared are resources of other groups that are also served in this group, with the same plural
	// and kind, from the same store. The other groups must be installed before.
	Shared []meta.GroupResource

	// BuiltIn marks a group that comes with the server. Its kinds are compiled at first use,
	// because the server's tests have shown them to be sound. Its objects are stored in versions
	// that older servers can read: see storedVersion.
	BuiltIn bool
	// Chosen reports whether a resource is served in a version. nil serves the whole group.
	Chosen func(meta.GroupVersionResource) bool
}

// Names returns the names of all resources of the group, shared ones under the name of this group.
func (g *Group) Names() (names []meta.GroupResource) {
	for _, res := range g.Resources {
		names = append(names, res.GroupResource)
	}
	for _, a := range g.Actions {
		names = append(names, a.GroupResource)
	}
	for _, seen := range g.Computed {
		names = append(names, seen.GroupResource)
	}
	for _, other := range g.Shared {
		names = append(names, meta.GroupResource{Group: g.Name, Resource: other.Resource})
	}
	return names
}

// Register adds the kinds of the group to a scheme; those of a BuiltIn group are compiled later, at
// first use.
func (g *Group) Register(s *scheme.Scheme) {
	if g.BuiltIn {
		s.AddLazy(g.AddToScheme)
		return
	}
	g.AddToScheme(s)
}

// The priorities that kube-apiserver gives to groups and versions in discovery: the fields
// groupPriorityMinimum and versionPriority of an APIService. Higher ones come first.
const (
	// CustomPriority is the priority of a group of custom resources.
	CustomPriority = 1000
	// CustomVersionPriority is the priority of each version of custom resources. Because all are
	// equal, scheme.CompareVersions sorts the versions of a group.
	CustomVersionPriority = 100
	// usualVersionPriority is the priority of a version of a built-in group, unless
	// versionPriorities has another.
	usualVersionPriority = 15
)

// versionPriorities are the priorities of the built-in versions that do not have
// usualVersionPriority in Kubernetes.
var versionPriorities = map[meta.GroupVersion]int32{
	{Group: "", Version: "v1"}:                             1,
	{Group: "autoscaling", Version: "v2"}:                  30,
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"}: 21,
	{Group: "resource.k8s.io", Version: "v1"}:              21,
}

// RegisteredPriority returns the priority that Kubernetes gives to a version of one of its own
// groups: the versionPriority of its APIService.
func RegisteredPriority(gv meta.GroupVersion) int32 {
	if p, ok := versionPriorities[gv]; ok {
		return p
	}
	return usualVersionPriority
}

// versionPriority returns the priority in discovery of versions[i], one of the versions of a kind.
// Equal priorities let discovery sort the versions of a group as usual: v2, v1, v1beta1. Only if a
// kind is registered in another order, its priorities descend in that order: v1 17, v2 16.
func versionPriority(versions []*kind.Version, i int, custom bool) int {
	usual := slices.IsSortedFunc(versions, func(a, b *kind.Version) int {
		return scheme.CompareVersions(a.GVK.Version, b.GVK.Version)
	})
	switch {
	case custom:
		return CustomVersionPriority
	case usual:
		return int(RegisteredPriority(versions[i].GVK.GroupVersion()))
	}
	return usualVersionPriority + len(versions) - i
}
