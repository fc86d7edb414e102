package ownership

import (
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Resources are the resources that exist, as they are at the moment of each call.
type Resources interface {
	// Place returns where the object at a key of the store is served; false if it is not.
	Place(key string) (Place, bool)
	// Home returns where objects of a kind live, as an apiVersion of it names them; false if no
	// resource is served so.
	Home(apiVersion, kind string) (Home, bool)
	// Ignored reports whether the object at a key is nobody's dependent, whatever it says.
	Ignored(key string) bool
	// Elsewhere returns where the objects of other servers live that can be listed, watched and
	// deleted, and the versions of which it is not known now what they have.
	Elsewhere() (homes []Home, unknown []meta.GroupVersion)
	// Changed returns channels that are closed when resources come or go after the call, those with
	// a store and those of other servers.
	Changed() (stored, elsewhere <-chan struct{})
}

// Place is where an object is served, and as what.
type Place struct {
	Resource        meta.GroupVersionResource
	Kind            string
	Namespace, Name string
	Elsewhere       bool // another server keeps it
}

// Home is where the objects of a resource live.
type Home struct {
	Resource   meta.GroupVersionResource
	Prefix     string // of their keys, ends in "/"
	Namespaced bool
}

// key returns the key of an object. A namespace counts if the resource has any; then, with the
// namespace "", the key is one that no object has.
func (h *Home) key(namespace, name string) string {
	if h.Namespaced {
		return h.Prefix + namespace + "/" + name
	}
	return h.Prefix + name
}

// has reports whether key is that of an object. It allocates nothing.
func (h *Home) has(key, namespace, name string) bool {
	key, ok := strings.CutPrefix(key, h.Prefix)
	if ok && h.Namespaced {
		if key, ok = strings.CutPrefix(key, namespace); ok {
			key, ok = strings.CutPrefix(key, "/")
		}
	}
	return ok && key == name
}
