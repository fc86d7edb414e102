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
		out[i].GroupVersion, out[i].GroupPriority, out[i].VersionPriority = gv, g.Priority, len(versions)-i
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
			out[i].Resources = append(out[i].Resources, routes(store, kind)...)
		}
		if !served {
			return nil, fmt.Errorf("server: kind %s of %s is registered in no version", res.Kind, res.GroupResource)
		}
	}
	return out, nil
}

// routes offers a store and its subresources to the router in one version.
func routes(store *registry.Store, kind meta.GroupVersionKind) []router.Resource {
	res := store.Resource()
	main := router.Resource{
		Name:           res.GroupResource.Resource,
		Singular:       res.Singular,
		Kind:           kind,
		Namespaced:     res.Namespaced,
		ShortNames:     res.ShortNames,
		Categories:     res.Categories,
		StorageVersion: store.StorageVersion(),
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
	for _, sub := range res.Subresources {
		out = append(out, subresource(&main, store.Subresource(sub.Name), &sub))
	}
	return out
}

// subresource offers a door of a resource.
func subresource(main *router.Resource, store *registry.Store, sub *registry.Subresource) router.Resource {
	r := router.Resource{
		Name: main.Name + "/" + sub.Name, Kind: main.Kind, Namespaced: main.Namespaced,
		StorageVersion: main.StorageVersion, Tabler: store,
	}
	if sub.Verbs == nil || slices.Contains(sub.Verbs, "get") {
		r.Getter = store
	}
	r.Updater = store
	r.NoPatch = sub.Verbs != nil && !slices.Contains(sub.Verbs, "patch")
	return r
}
