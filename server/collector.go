package server

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/api/apidiscoveryv2"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/aggregator"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/loops/ownership"
	"github.com/coracle-project/coracle/storage"
)

// stream is an ownership.Stream of everything that the server's stores keep under the prefix of its
// keys. What cannot be decrypted is left out. It begins when the server is ready: the scan of the
// store is not to keep anybody waiting.
func (s *Server) stream(ctx context.Context) iter.Seq2[ownership.Change, error] {
	return func(yield func(ownership.Change, error) bool) {
		select {
		case <-s.life.ready:
		case <-ctx.Done():
			return
		}
		tap, err := s.Backends().OpenTaps(ctx)
		if err != nil {
			yield(ownership.Change{}, err)
			return
		}
		defer tap.Close()
		for entry, err := range tap.Entries(ctx) {
			if entry.Err != nil {
				continue
			}
			if !yield(ownership.Change{Key: entry.Key, Value: entry.Value, Rev: uint64(entry.Rev)}, err) || err != nil {
				return
			}
		}
		if !yield(ownership.Change{Synced: true}, nil) {
			return
		}
		for {
			events, err := tap.Next(ctx)
			if err != nil {
				yield(ownership.Change{}, err)
				return
			}
			for i := range events {
				if ev := &events[i]; ev.Err == nil && !yield(ownership.Change{Key: ev.Key, Value: ev.Value, Rev: uint64(ev.Rev)}, nil) {
					return
				}
			}
		}
	}
}

// holds asks the store whether a namespace has objects of a resource.
func (s *Server) holds(ctx context.Context, gr meta.GroupResource, namespace string) (bool, error) {
	o := s.Table().Find(gr)
	if o == nil || o.Store == nil {
		return false, nil
	}
	res, err := o.Backend.Range(ctx, storage.RangeRequest{Prefix: o.Prefix + namespace + "/", Limit: 1, NoCount: true})
	return len(res.Entries) > 0, err
}

// removals opens ownership.Removals of everything under the prefix of the server's keys.
func (s *Server) removals(ctx context.Context) (ownership.Removals, error) {
	tap, err := s.Backends().OpenTaps(ctx)
	if err != nil {
		return nil, err
	}
	return &removals{tap, kept{table: s.Table()}}, nil
}

type removals struct {
	*backing.Taps
	kept kept
}

// Next implements ownership.Removals.
func (r *removals) Next(ctx context.Context) (namespaces []string, err error) {
	for len(namespaces) == 0 && err == nil {
		var events []storage.Event
		events, err = r.Taps.Next(ctx)
		for i := range events {
			if !events[i].Deleted {
				continue
			}
			if place, ok := r.kept.Place(events[i].Key); ok && place.Namespace != "" {
				namespaces = append(namespaces, place.Namespace)
			}
		}
	}
	return namespaces, err
}

// kept are the ownership.Resources with a store, and those of servers behind this one, unless
// there are none.
type kept struct {
	table  *generic.Table
	behind *aggregator.Aggregator // nil: those with a store alone
}

// Changed implements ownership.Resources.
func (k kept) Changed() (stored, elsewhere <-chan struct{}) {
	if k.behind != nil {
		elsewhere = k.behind.InNamespaces().Changed
	}
	return k.table.Now().Replaced, elsewhere
}

// Elsewhere implements ownership.Resources.
func (k kept) Elsewhere() (homes []ownership.Home, unknown []meta.GroupVersion) {
	if k.behind == nil {
		return nil, nil
	}
	unknown, _ = k.behind.Preferred(func(gvr meta.GroupVersionResource, r *apidiscoveryv2.APIResourceDiscovery) bool {
		for _, verb := range []string{"get", "list", "watch", "delete"} {
			if r.ResponseKind == nil || !slices.Contains(r.Verbs, verb) {
				return false
			}
		}
		homes = append(homes, homeBehind(gvr, r.Scope == apidiscoveryv2.ScopeNamespace))
		return true
	})
	return homes, unknown
}

// homeBehind is the Home of what a server behind this one keeps.
func homeBehind(gvr meta.GroupVersionResource, namespaced bool) ownership.Home {
	return ownership.Home{Resource: gvr, Prefix: remotePrefix + gvr.Group + "/" + gvr.Resource + "/", Namespaced: namespaced}
}

// remotePrefix begins the keys of objects that servers behind this one have: no store has such
// keys. Group and resource follow.
const remotePrefix = "//"

// remotePlace is Place for the key of an object that another server has.
func (k kept) remotePlace(key string) (ownership.Place, bool) {
	parts := strings.Split(key[len(remotePrefix):], "/")
	if k.behind == nil || len(parts) < 3 {
		return ownership.Place{}, false
	}
	gvr, kind, namespaced, ok := k.behind.Resource(func(v *router.RemoteVersion, r *apidiscoveryv2.APIResourceDiscovery) bool {
		return v.Group == parts[0] && r.Resource == parts[1]
	})
	place := ownership.Place{Resource: gvr, Kind: kind, Name: parts[len(parts)-1], Elsewhere: true}
	if namespaced {
		place.Namespace = parts[2]
	}
	return place, ok && namespaced == (len(parts) == 4)
}

// remoteHome is Home for a kind that another server has.
func (k kept) remoteHome(gv meta.GroupVersion, kind string) (ownership.Home, bool) {
	if k.behind == nil {
		return ownership.Home{}, false
	}
	gvr, _, namespaced, ok := k.behind.Resource(func(v *router.RemoteVersion, r *apidiscoveryv2.APIResourceDiscovery) bool {
		return v.GroupVersion == gv && r.ResponseKind != nil && r.ResponseKind.Kind == kind
	})
	return homeBehind(gvr, namespaced), ok
}

// Place implements ownership.Resources.
func (k kept) Place(key string) (ownership.Place, bool) {
	if strings.HasPrefix(key, remotePrefix) {
		return k.remotePlace(key)
	}
	e := k.table.OfKey(key)
	if e == nil {
		return ownership.Place{}, false
	}
	now := k.table.Now()
	o := now.Offers[e.Name]
	if o == nil || o.Entry != e {
		return ownership.Place{}, false
	}
	if len(o.Versions) == 0 { // under another name there may be one
		for _, o = range now.Of(e) {
			if len(o.Versions) > 0 {
				break
			}
		}
		if len(o.Versions) == 0 {
			return ownership.Place{}, false
		}
	}
	place := ownership.Place{Resource: o.Versions[0].WithResource(o.Name.Resource), Kind: o.Kind.Kind, Name: key[len(e.Prefix):]}
	if e.Store.Resource().Namespaced {
		place.Namespace, place.Name, _ = strings.Cut(place.Name, "/")
	}
	return place, true
}

// Home implements ownership.Resources.
func (k kept) Home(apiVersion, kind string) (ownership.Home, bool) {
	gv, ok := meta.ParseGroupVersion(apiVersion)
	if !ok {
		return ownership.Home{}, false
	}
	o := k.table.Now().Kinds[meta.GroupKind{Group: gv.Group, Kind: kind}]
	if o == nil || o.Store == nil || !o.Serves(gv, "") {
		return k.remoteHome(gv, kind)
	}
	return ownership.Home{
		Resource: gv.WithResource(o.Name.Resource), Prefix: o.Prefix, Namespaced: o.Store.Resource().Namespaced,
	}, true
}

// Ignored implements ownership.Resources: events go by themselves.
func (k kept) Ignored(key string) bool {
	e := k.table.OfKey(key)
	return e != nil && e.Name.Resource == "events" && (e.Name.Group == "" || e.Name.Group == "events.k8s.io")
}
