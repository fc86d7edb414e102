package ownergraph

import (
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Resources tells what references mean. Each answer holds for the moment of the call, because
// resources come and go. All methods may be called at once.
//
// A key names an object as in the store: it is the prefix of the resource, the namespace if the
// resource is namespaced, and the name.
type Resources interface {
	// Mapping returns the resource that an ownerReference with this apiVersion and kind means. It
	// returns false if no such kind is served.
	Mapping(apiVersion, kind string) (Mapping, bool)
	// Ignored reports whether the object at a key is never a dependent, even if it has
	// ownerReferences. Events are ignored, as in Kubernetes.
	Ignored(key string) bool
}

// Mapping is a resource with what is needed to make the keys of its objects.
type Mapping struct {
	Resource   meta.GroupVersionResource
	Prefix     string // the prefix of the keys of its objects; ends in "/"
	Namespaced bool
}

// Key returns the key of an object. If the resource is not namespaced, Key ignores namespace. If
// the resource is namespaced and namespace is "", no object has the key.
func (h *Mapping) Key(namespace, name string) string {
	if h.Namespaced {
		return h.Prefix + namespace + "/" + name
	}
	return h.Prefix + name
}

// has reports whether key equals h.Key(namespace, name). It allocates nothing, because linkedLocked
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
