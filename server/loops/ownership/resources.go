package ownership

import (
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Resources tells the collector which resources are served. Each answer holds for the moment of the
// call, because definitions and API services come and go. All methods may be called at once.
//
// A key names an object as in the store: it is the prefix of the resource, the namespace if the
// resource is namespaced, and the name. Objects elsewhere have keys of the same form, although no
// store of this server has these keys.
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
	// Changed returns two channels. stored is closed when a resource of this server's store comes
	// or goes after the call, and elsewhere when a resource of a server behind this one does.
	Changed() (stored, elsewhere <-chan struct{})
}

// ObjectRef is an object as requests name it.
type ObjectRef struct {
	Resource        meta.GroupVersionResource
	Kind            string
	Namespace, Name string // Namespace is "" for an object of the whole cluster
	Remote          bool   // a server behind this one stores the object
}

// Mapping is a resource with what is needed to make the keys of its objects.
type Mapping struct {
	Resource   meta.GroupVersionResource
	Prefix     string // the prefix of the keys of its objects; ends in "/"
	Namespaced bool
}

// key returns the key of an object. If the resource is not namespaced, key ignores namespace. If
// the resource is namespaced and namespace is "", no object has the key.
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
