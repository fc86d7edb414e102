package server

import (
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Group is an API group to serve: its types and its resources. The versions and their order come from the scheme; a
// resource is served in each version in which its kind is registered.
type Group struct {
	Name string
	// Priority orders groups in discovery, highest first.
	Priority int
	// AddToScheme registers the group's types, defaults and conversions.
	AddToScheme func(*scheme.Scheme)
	Resources   []registry.Resource
}

// resourcesOf makes a group's stores and returns its versions with the resources served in each, the preferred
// version first.
func (s *Server) resourcesOf(g *Group) ([]router.GroupVersion, error) {
	versions := s.Scheme.VersionsOf(g.Name)
	if len(versions) == 0 {
		return nil, fmt.Errorf("server: group %q has no versions in the scheme", g.Name)
	}
	out := make([]router.GroupVersion, len(versions))
	for i, gv := range versions {
		out[i].GroupVersion = gv
	}
	for _, res := range g.Resources {
		if res.GroupResource.Group != g.Name {
			return nil, fmt.Errorf("server: resource %s is not of group %q", res.GroupResource, g.Name)
		}
		store, err := registry.New(s.registry, res)
		if err != nil {
			return nil, err
		}
		s.stores[res.GroupResource] = store
		s.keys.add(res.GroupResource, store.Objects().Prefix())
		served := false
		for i := range out {
			kind := out[i].GroupVersion.WithKind(res.Kind)
			if !s.Scheme.Recognizes(kind) {
				continue
			}
			served = true
			offered, err := routes(store, kind)
			if err != nil {
				return nil, err
			}
			out[i].Resources = append(out[i].Resources, offered...)
		}
		if !served {
			return nil, fmt.Errorf("server: kind %s of %s is registered in no version", res.Kind, res.GroupResource)
		}
	}
	return out, nil
}

// routes offers a store and its subresources to the router in one version.
func routes(store *registry.Store, kind meta.GroupVersionKind) ([]router.Resource, error) {
	res := store.Resource()
	main := router.Resource{
		Name:           res.GroupResource.Resource,
		Singular:       res.Singular,
		Kind:           kind,
		Type:           store.Kind(),
		Namespaced:     res.Namespaced,
		ShortNames:     res.ShortNames,
		Categories:     res.Categories,
		StorageVersion: store.StorageVersion(),
		KeepItemKind:   res.KeepItemKind,
		Encoder:        store,
		Tabler:         store,
	}
	serves := func(verb string) bool { return res.Verbs == nil || slices.Contains(res.Verbs, verb) }
	if serves("get") {
		main.Getter = store
	}
	if serves("list") {
		main.Lister = store
	}
	if serves("watch") {
		main.Watcher = store
	}
	if serves("create") {
		main.Creater = store
	}
	if serves("update") || serves("patch") {
		main.Updater = store
	}
	if serves("delete") {
		main.Deleter = store
	}
	if serves("deletecollection") {
		main.CollectionDeleter = store
	}
	out := []router.Resource{main}
	for i := range res.Subresources {
		sub, err := subresource(&main, store, &res.Subresources[i])
		if err != nil {
			return nil, err
		}
		out = append(out, sub)
	}
	return out, nil
}

// subresource offers a door of a resource, or an action.
func subresource(main *router.Resource, store *registry.Store, sub *registry.Subresource) (router.Resource, error) {
	r := router.Resource{Name: main.Name + "/" + sub.Name, Kind: main.Kind, Type: main.Type, Namespaced: main.Namespaced, Encoder: store}
	if sub.Kind != (meta.GroupVersionKind{}) {
		r.Kind = sub.Kind
	}
	switch {
	case sub.Create != nil:
		actor, err := store.Actor(sub)
		if err != nil {
			return r, err
		}
		r.Creater, r.Encoder, r.Type = actor, actor, actor.Kind()
	case sub.Connect != nil:
		r.Connecter, r.ConnectVerbs = store.Connecter(sub), sub.Verbs
		if r.ConnectVerbs == nil {
			r.ConnectVerbs = []string{"get"}
		}
	default:
		door := store.Subresource(sub.Name)
		r.Type, r.Encoder, r.Tabler, r.Updater = door.Kind(), door, door, door
		if sub.Verbs == nil || slices.Contains(sub.Verbs, "get") {
			r.Getter = door
		}
		r.NoPatch = sub.Verbs != nil && !slices.Contains(sub.Verbs, "patch")
	}
	return r, nil
}
