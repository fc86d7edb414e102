package ownership

import (
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/loops/ownergraph"
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
	ownergraph.Resources
	// RemoteResources returns the resources of servers behind this one whose objects can be listed,
	// watched and deleted. unknown are the versions whose server has not said which resources they
	// have.
	RemoteResources() (mappings []ownergraph.Mapping, unknown []meta.GroupVersion)
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
