package ownership

import (
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Resources tells the collector which resources are served. Each call answers for the moment of the
// call, as definitions and API services come and go. All methods may be called at once.
//
// A key names an object as the store does: a prefix for the resource, the namespace if the resource
// has any, the name. Objects on other servers have keys of the same form, which no store has.
type Resources interface {
	// ObjectAt returns the resource, kind, namespace and name of the object at a key. It returns
	// false if no served resource has the key.
	ObjectAt(key string) (ObjectRef, bool)
	// Mapping returns the resource that an ownerReference with this apiVersion and kind means. It
	// returns false if no such kind is served.
	Mapping(apiVersion, kind string) (Mapping, bool)
	// Ignored reports whether the object at a key is never a dependent, even if it has
	// ownerReferences. Events are ignored, as in Kubernetes.
	Ignored(key string) bool
	// RemoteResources returns the resources of servers behind this one whose objects can be listed,
	// watched and deleted. unknown are the versions whose server has not said which resources they
	// have.
	RemoteResources() (mappings []Mapping, unknown []meta.GroupVersion)
	// Changed returns a channel that is closed when a stored resource comes or goes after the call,
	// and one that is closed when a resource of another server does.
	Changed() (stored, elsewhere <-chan struct{})
}

// ObjectRef is an object as requests name it.
type ObjectRef struct {
	Resource        meta.GroupVersionResource
	Kind            string
	Namespace, Name string // Namespace is "" for an object of the whole cluster
	Remote          bool   // a server behind this one stores the object
}

// Mapping is a resource as keys name it (RESTMapping).
type Mapping struct {
	Resource   meta.GroupVersionResource
	Prefix     string // of the keys of its objects, ends in "/"
	Namespaced bool
}

// key returns the key of an object. If the resource is not namespaced, key ignores the namespace.
// If it is, and namespace is "", the key is one that no object has.
func (h *Mapping) key(namespace, name string) string {
	if h.Namespaced {
		return h.Prefix + namespace + "/" + name
	}
	return h.Prefix + name
}

// has reports whether key equals h.key(namespace, name). It allocates nothing, because linkedLocked
// calls it for each reference of each change.
func (h *Mapping) has(key, namespace, name string) bool {
	key, ok := strings.CutPrefix(key, h.Prefix)
	if ok && h.Namespaced {
		if key, ok = strings.CutPrefix(key, namespace); ok {
			key, ok = strings.CutPrefix(key, "/")
		}
	}
	return ok && key == name
}
