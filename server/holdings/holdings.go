// Package holdings says where objects are kept: in the stores of this server, and by the servers
// behind it. The controllers of namespaces and of owners need that beside being clients of the
// server: they follow every object there is, of whatever resource, and objects of resources that
// come and go.
//
// Words: what is stored has a key in a store of this server. What is kept elsewhere is an object of
// a server behind this one; it has a key as well, which no store uses. A place is the resource,
// namespace and name that a key stands for; a home is where the objects of a kind are. These are
// the words of package server/loops/ownership, whose interfaces Holdings implements.
//
// Laws:
//   - What Stream yields is in order for each object, and misses none until it ends with an error.
//   - A key stands for one object, whatever names its resource is served by.
//   - A resource that is served under no name has no place: nobody could delete its objects.
//
// Holdings has no state of its own and starts nothing. All methods may be called at once.
//
// Not here: what the controllers do (server/loops/ownership), objects of resources whose
// definitions cannot be read (server), how the stores show changes (server/backing).
//
// Read: holdings.go, changes.go, behind.go.
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
	"github.com/coracle-project/coracle/server/loops/ownership"
	"github.com/coracle-project/coracle/storage"
)

// Needs is what Holdings are made of.
type Needs struct {
	Table    *generic.Table
	Backends backing.Backends
	Behind   Behind
	// Ready is closed when the server is ready. Stream waits for it: nobody shall wait for the
	// server because all of the store is being read.
	Ready <-chan struct{}
}

// Holdings are all objects that a server can reach, by their keys. They implement
// ownership.Resources.
type Holdings struct{ needs Needs }

var _ ownership.Resources = (*Holdings)(nil)

// New makes Holdings.
func New(n Needs) *Holdings { return &Holdings{n} }

// Place implements ownership.Resources.
func (h *Holdings) Place(key string) (ownership.Place, bool) {
	if strings.HasPrefix(key, remotePrefix) {
		return h.remotePlace(key)
	}
	e := h.needs.Table.OfKey(key)
	if e == nil {
		return ownership.Place{}, false
	}
	now := h.needs.Table.Now()
	o := now.Offers[e.Name]
	if o == nil || o.Entry != e {
		return ownership.Place{}, false
	}
	if len(o.Versions) == 0 { // under another name there may be one
		all := now.Of(e)
		i := slices.IndexFunc(all, func(o *generic.Offer) bool { return len(o.Versions) > 0 })
		if i < 0 {
			return ownership.Place{}, false
		}
		o = all[i]
	}
	place := ownership.Place{
		Resource: o.Versions[0].WithResource(o.Name.Resource), Kind: o.Kind.Kind, Name: key[len(e.Prefix):],
	}
	if e.Store.Resource().Namespaced {
		place.Namespace, place.Name, _ = strings.Cut(place.Name, "/")
	}
	return place, true
}

// Home implements ownership.Resources.
func (h *Holdings) Home(apiVersion, kind string) (ownership.Home, bool) {
	gv, ok := meta.ParseGroupVersion(apiVersion)
	if !ok {
		return ownership.Home{}, false
	}
	o := h.needs.Table.Now().Kinds[meta.GroupKind{Group: gv.Group, Kind: kind}]
	if o == nil || o.Store == nil || !o.Serves(gv, "") {
		return h.remoteHome(gv, kind)
	}
	return ownership.Home{
		Resource: gv.WithResource(o.Name.Resource), Prefix: o.Prefix, Namespaced: o.Store.Resource().Namespaced,
	}, true
}

// Ignored implements ownership.Resources: events are ignored, because they expire by themselves.
func (h *Holdings) Ignored(key string) bool {
	e := h.needs.Table.OfKey(key)
	return e != nil && e.Name.Resource == "events" && (e.Name.Group == "" || e.Name.Group == "events.k8s.io")
}

// Holds asks the store whether a namespace has objects of a resource. It has none of a resource
// that is not stored here.
func (h *Holdings) Holds(ctx context.Context, gr meta.GroupResource, namespace string) (bool, error) {
	o := h.needs.Table.Find(gr)
	if o == nil || o.Store == nil {
		return false, nil
	}
	res, err := o.Backend.Range(ctx, storage.RangeRequest{Prefix: o.Prefix + namespace + "/", Limit: 1, NoCount: true})
	return len(res.Entries) > 0, err
}

// pods is the resource of pods.
var pods = corev1.GroupVersion.WithResource("pods").GroupResource()

// Contents returns the stored resources whose objects live in namespaces and can be deleted, each
// in the most preferred version that this server serves itself. Pods come first: what they leave
// behind is deleted after them.
func (h *Holdings) Contents() []meta.GroupVersionResource {
	var list []meta.GroupVersionResource
	now := h.needs.Table.Now()
	own := func(v router.GroupVersion) bool { return !h.needs.Behind.HandsOn(v.GroupVersion) }
	for e := range now.Stored {
		res := e.Store.Resource()
		if !res.Namespaced || res.Verbs != nil && !slices.Contains(res.Verbs, "deletecollection") {
			continue
		}
		for _, o := range now.Of(e) { // under one of its names there is a version
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
