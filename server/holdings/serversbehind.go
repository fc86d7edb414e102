package holdings

import (
	"slices"
	"strings"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/api/apidiscoveryv2"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/loops/ownergraph"
	"github.com/coracle-project/coracle/server/loops/ownership"
)

// ServersBehind describes the servers behind this one, by their own discovery documents. All
// methods may be called at once. The functions that a caller passes must not change their
// arguments.
type ServersBehind interface {
	// Proxies reports whether this server proxies requests for a group version to a server behind.
	Proxies(gv meta.GroupVersion) bool
	// Preferred calls take for the versions of each resource, the version with the highest priority
	// first, until take returns true for the resource. unknown are the group versions whose
	// discovery cannot be read at the moment. changed is closed when any of this changes.
	Preferred(take func(meta.GroupVersionResource, *apidiscoveryv2.APIResourceDiscovery) bool) (
		unknown []meta.GroupVersion, changed <-chan struct{})
	// Resource returns the first resource that has the verb get and for which asked returns true.
	// kind is the kind of its objects. ok is false if there is no such resource.
	Resource(asked func(*router.RemoteVersion, *apidiscoveryv2.APIResourceDiscovery) bool) (
		gvr meta.GroupVersionResource, kind string, namespaced, ok bool)
}

// remotePrefix begins the keys of remote objects. The rest of such a key is
// GROUP/RESOURCE/NAME or GROUP/RESOURCE/NAMESPACE/NAME, for example
// "//metrics.k8s.io/pods/default/web". The keys of stores begin with a single slash.
const remotePrefix = "//"

// remoteMapping returns the Mapping of a resource of a server behind this one.
func remoteMapping(gvr meta.GroupVersionResource, namespaced bool) ownergraph.Mapping {
	return ownergraph.Mapping{
		Resource: gvr, Prefix: remotePrefix + gvr.Group + "/" + gvr.Resource + "/", Namespaced: namespaced,
	}
}

// Changed returns channels that are closed when resources come or go after the call: stored for the
// resources of this server, elsewhere for those of servers behind it. It implements
// ownership.Resources.
func (h *Holdings) Changed() (stored, elsewhere <-chan struct{}) {
	first := func(meta.GroupVersionResource, *apidiscoveryv2.APIResourceDiscovery) bool { return true }
	_, elsewhere = h.needs.ServersBehind.Preferred(first)
	return h.needs.Table.Now().Replaced, elsewhere
}

// RemoteResources returns the Mappings of those resources of servers behind this one that clients
// can get, list, watch and delete. unknown are the group versions whose discovery cannot be read at
// the moment. It implements ownership.Resources.
func (h *Holdings) RemoteResources() (mappings []ownergraph.Mapping, unknown []meta.GroupVersion) {
	take := func(gvr meta.GroupVersionResource, r *apidiscoveryv2.APIResourceDiscovery) bool {
		for _, verb := range []string{"get", "list", "watch", "delete"} {
			if r.ResponseKind == nil || !slices.Contains(r.Verbs, verb) {
				return false
			}
		}
		mappings = append(mappings, remoteMapping(gvr, r.Scope == apidiscoveryv2.ScopeNamespace))
		return true
	}
	unknown, _ = h.needs.ServersBehind.Preferred(take)
	return mappings, unknown
}

// remoteObjectAt does the work of ObjectAt for a key that begins with remotePrefix.
func (h *Holdings) remoteObjectAt(key string) (ownership.ObjectRef, bool) {
	parts := strings.Split(key[len(remotePrefix):], "/")
	if len(parts) < 3 {
		return ownership.ObjectRef{}, false
	}
	asked := func(v *router.RemoteVersion, r *apidiscoveryv2.APIResourceDiscovery) bool {
		return v.Group == parts[0] && r.Resource == parts[1]
	}
	gvr, kind, namespaced, ok := h.needs.ServersBehind.Resource(asked)
	ref := ownership.ObjectRef{Resource: gvr, Kind: kind, Name: parts[len(parts)-1], Remote: true}
	if namespaced {
		ref.Namespace = parts[2]
	}
	return ref, ok && namespaced == (len(parts) == 4)
}

// remoteMappingOf does the work of Mapping for a kind that this server does not store.
func (h *Holdings) remoteMappingOf(gv meta.GroupVersion, kind string) (ownergraph.Mapping, bool) {
	asked := func(v *router.RemoteVersion, r *apidiscoveryv2.APIResourceDiscovery) bool {
		return v.GroupVersion == gv && r.ResponseKind != nil && r.ResponseKind.Kind == kind
	}
	gvr, _, namespaced, ok := h.needs.ServersBehind.Resource(asked)
	return remoteMapping(gvr, namespaced), ok
}
