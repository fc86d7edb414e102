package holdings

import (
	"slices"
	"strings"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/api/apidiscoveryv2"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/loops/ownership"
)

// Behind is what is known of the servers behind this one, as they describe themselves. All methods
// may be called at once. The funcs that they are given must not change what they are given.
type Behind interface {
	// HandsOn reports whether requests for a group version are handed to a server behind this one.
	HandsOn(gv meta.GroupVersion) bool
	// Preferred calls take for each resource: in the version with the highest priority first, and
	// then in the others until take returns true. It returns the group versions whose resources are
	// not known, and a channel that is closed when any of this changes.
	Preferred(take func(meta.GroupVersionResource, *apidiscoveryv2.APIResourceDiscovery) bool) (
		unknown []meta.GroupVersion, changed <-chan struct{})
	// Resource returns the first resource for which asked returns true and whose objects can be
	// read, with the kind of these and whether they are in namespaces; ok is false if there is
	// none.
	Resource(asked func(*router.RemoteVersion, *apidiscoveryv2.APIResourceDiscovery) bool) (
		gvr meta.GroupVersionResource, kind string, namespaced, ok bool)
}

// remotePrefix begins the keys of objects that servers behind this one keep. Group, resource,
// namespace, if there is one, and name follow, with slashes between them. No store has such keys.
const remotePrefix = "//"

// homeBehind returns the home of what a server behind this one keeps.
func homeBehind(gvr meta.GroupVersionResource, namespaced bool) ownership.Home {
	return ownership.Home{
		Resource: gvr, Prefix: remotePrefix + gvr.Group + "/" + gvr.Resource + "/", Namespaced: namespaced,
	}
}

// Changed implements ownership.Resources.
func (h *Holdings) Changed() (stored, elsewhere <-chan struct{}) {
	_, elsewhere = h.needs.Behind.Preferred(func(meta.GroupVersionResource, *apidiscoveryv2.APIResourceDiscovery) bool {
		return true
	})
	return h.needs.Table.Now().Replaced, elsewhere
}

// Elsewhere implements ownership.Resources.
func (h *Holdings) Elsewhere() (homes []ownership.Home, unknown []meta.GroupVersion) {
	take := func(gvr meta.GroupVersionResource, r *apidiscoveryv2.APIResourceDiscovery) bool {
		for _, verb := range []string{"get", "list", "watch", "delete"} {
			if r.ResponseKind == nil || !slices.Contains(r.Verbs, verb) {
				return false
			}
		}
		homes = append(homes, homeBehind(gvr, r.Scope == apidiscoveryv2.ScopeNamespace))
		return true
	}
	unknown, _ = h.needs.Behind.Preferred(take)
	return homes, unknown
}

// remotePlace is Place for the key of an object that is kept elsewhere.
func (h *Holdings) remotePlace(key string) (ownership.Place, bool) {
	parts := strings.Split(key[len(remotePrefix):], "/")
	if len(parts) < 3 {
		return ownership.Place{}, false
	}
	asked := func(v *router.RemoteVersion, r *apidiscoveryv2.APIResourceDiscovery) bool {
		return v.Group == parts[0] && r.Resource == parts[1]
	}
	gvr, kind, namespaced, ok := h.needs.Behind.Resource(asked)
	place := ownership.Place{Resource: gvr, Kind: kind, Name: parts[len(parts)-1], Elsewhere: true}
	if namespaced {
		place.Namespace = parts[2]
	}
	return place, ok && namespaced == (len(parts) == 4)
}

// remoteHome is Home for a kind whose objects are kept elsewhere.
func (h *Holdings) remoteHome(gv meta.GroupVersion, kind string) (ownership.Home, bool) {
	asked := func(v *router.RemoteVersion, r *apidiscoveryv2.APIResourceDiscovery) bool {
		return v.GroupVersion == gv && r.ResponseKind != nil && r.ResponseKind.Kind == kind
	}
	gvr, _, namespaced, ok := h.needs.Behind.Resource(asked)
	return homeBehind(gvr, namespaced), ok
}
