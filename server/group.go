package server

import (
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
	// Priority orders groups in discovery, highest first. Versions follow the scheme's order.
	Priority int
	// AddToScheme registers the group's types, defaults and conversions. New calls it.
	AddToScheme func(*scheme.Scheme)
	Resources   []registry.Resource
	// Shared are resources of other groups, installed before, that are served in this one as well, under the same plural
	// and kind: the same objects in one store.
	Shared []meta.GroupResource
}

// versionPriority is the place of the i-th of a group's versions in discovery. The order of a scheme needs one only where
// it is not that of all groups.
func versionPriority(versions []meta.GroupVersion, i int) int {
	usual := slices.IsSortedFunc(versions, func(a, b meta.GroupVersion) int { return scheme.CompareVersions(a.Version, b.Version) })
	if usual {
		return 0
	}
	return len(versions) - i
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
