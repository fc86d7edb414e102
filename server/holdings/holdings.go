// Package holdings finds all objects of all resources for the namespace controller, the garbage
// collector and the recount of quotas: the objects in the stores of this server, and the objects of
// the servers behind it. These controllers cannot work through clients alone, because they follow
// every object of every resource, and resources come and go.
//
// Words: an object is stored if it is in a store of this server. It is remote if a server behind
// this one keeps it. Both have a key; no store has the key of a remote object. An ObjectRef is the
// resource, kind, namespace and name that a key stands for. A Mapping is the resource and the
// prefix of the keys of a kind. ObjectRef and Mapping belong to package server/loops/ownership,
// whose interfaces Holdings implements.
//
// Laws:
//   - Stream yields the changes of each object in order, and misses none until it ends with an
//     error.
//   - A key stands for one object, even if its resource is served under two names (events).
//   - The key of a resource that is served under no name has no ObjectRef, because nobody could
//     delete the object.
//
// Holdings has no state of its own and starts nothing. All methods may be called at once.
//
// Not here: the work of the controllers (server/loops/ownership, server/quotas), objects of
// resources whose definitions cannot be read (server/definitions), how stores show changes
// (server/backing).
//
// Read: holdings.go, changes.go, serversbehind.go.
package holdings

import (
	"context"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/loops/ownergraph"
	"github.com/coracle-project/coracle/server/loops/ownership"
	"github.com/coracle-project/coracle/storage"
)

// Needs are the arguments of New.
type Needs struct {
	Table         *generic.Table   // all resources of this server
	Backends      backing.Backends // all stores of this server
	ServersBehind ServersBehind    // the servers behind this one
	// Ready is closed when the server is ready. Stream waits for it, so that reading the whole
	// store does not delay the start of the server.
	Ready <-chan struct{}
}

// Holdings finds all objects that a server can reach, by their keys. It implements
// ownership.Resources. All methods may be called at once.
type Holdings struct{ needs Needs }

var _ ownership.Resources = (*Holdings)(nil)

// New makes Holdings, which read n and never change it.
func New(n Needs) *Holdings { return &Holdings{n} }

// ObjectAt returns the resource, kind, namespace and name of the object at a key. The resource is
// in its preferred version. ok is false if the key has no resource, or the resource is not served.
// It implements ownership.Resources.
func (h *Holdings) ObjectAt(key string) (ownership.ObjectRef, bool) {
	if strings.HasPrefix(key, remotePrefix) {
		return h.remoteObjectAt(key)
	}
	e := h.needs.Table.OfKey(key)
	if e == nil {
		return ownership.ObjectRef{}, false
	}
	now := h.needs.Table.Now()
	o := now.Offers[e.Name]
	if o == nil || o.Entry != e {
		return ownership.ObjectRef{}, false
	}
	if len(o.Versions) == 0 { // the resource may be served under its other name
		all := now.OffersOf(e)
		i := slices.IndexFunc(all, func(o *generic.Offer) bool { return len(o.Versions) > 0 })
		if i < 0 {
			return ownership.ObjectRef{}, false
		}
		o = all[i]
	}
	ref := ownership.ObjectRef{
		Resource: o.Versions[0].WithResource(o.Name.Resource), Kind: o.Kind.Kind, Name: key[len(e.Prefix):],
	}
	if e.Store.Resource().Namespaced {
		ref.Namespace, ref.Name, _ = strings.Cut(ref.Name, "/")
	}
	return ref, true
}

// Mapping returns the resource and the key prefix of the objects of a kind. apiVersion and kind are
// those of an ownerReference. ok is false if no resource is served in that version and kind. It
// implements ownership.Resources.
func (h *Holdings) Mapping(apiVersion, kind string) (ownergraph.Mapping, bool) {
	gv, ok := meta.ParseGroupVersion(apiVersion)
	if !ok {
		return ownergraph.Mapping{}, false
	}
	o := h.needs.Table.Now().Kinds[meta.GroupKind{Group: gv.Group, Kind: kind}]
	if o == nil || o.Store == nil || !o.Serves(gv, "") {
		return h.remoteMappingOf(gv, kind)
	}
	return ownergraph.Mapping{
		Resource: gv.WithResource(o.Name.Resource), Prefix: o.Prefix, Namespaced: o.Store.Resource().Namespaced,
	}, true
}

// Ignored reports whether the garbage collector ignores the object at a key: it ignores events,
// because they expire by themselves. It implements ownership.Resources.
func (h *Holdings) Ignored(key string) bool {
	e := h.needs.Table.OfKey(key)
	return e != nil && e.Name.Resource == "events" && (e.Name.Group == "" || e.Name.Group == "events.k8s.io")
}

// Holds asks the store whether a namespace has objects of a resource. The result is false for a
// resource that is not stored here.
func (h *Holdings) Holds(ctx context.Context, gr meta.GroupResource, namespace string) (bool, error) {
	o := h.needs.Table.Find(gr)
	if o == nil || o.Store == nil {
		return false, nil
	}
	res, err := o.Backend.Range(ctx, storage.RangeRequest{Prefix: o.Prefix + namespace + "/", Limit: 1, NoCount: true})
	return len(res.Entries) > 0, err
}

// pods is the resource whose objects are deleted first.
var pods = corev1.GroupVersion.WithResource("pods").GroupResource()

// NamespacedResources returns the stored resources that are namespaced and allow deletecollection,
// each in the most preferred version that this server serves itself. Pods come first, because pods
// use and make other objects, which should be deleted after them. The other resources are sorted by
// name.
func (h *Holdings) NamespacedResources() []meta.GroupVersionResource {
	var list []meta.GroupVersionResource
	now := h.needs.Table.Now()
	own := func(v router.GroupVersion) bool { return !h.needs.ServersBehind.Proxies(v.GroupVersion) }
	for e := range now.Stored {
		res := e.Store.Resource()
		if !res.Namespaced || res.Verbs != nil && !slices.Contains(res.Verbs, "deletecollection") {
			continue
		}
		for _, o := range now.OffersOf(e) { // a resource may be served under only one of its names
			if i := slices.IndexFunc(o.Versions, own); i >= 0 {
				list = append(list, o.Versions[i].WithResource(o.Name.Resource))
				break
			}
		}
	}
	slices.SortFunc(list, func(a, b meta.GroupVersionResource) int {
		ra, rb := a.GroupResource(), b.GroupResource()
		switch {
		case ra == pods:
			return -1
		case rb == pods:
			return 1
		}
		return strings.Compare(ra.String(), rb.String())
	})
	return list
}
