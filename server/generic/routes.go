package generic

import (
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/meta"
)

// routes returns the routes of a resource and of its subresources in one version. The order is that
// of the declaration, the resource first. A handler stays nil for a verb that the resource does not
// serve, so the router answers it with 405.
func routes(store *registry.Store, gvk meta.GroupVersionKind) ([]router.Resource, error) {
	res := store.Resource()
	main := router.Resource{
		Description: store.Describe(gvk),
		Type:        store.Kind(),
		Encoder:     store,
		Tabler:      store.RowsIn(gvk.Version),
		Deprecated:  deprecated(res.Deprecated, gvk),
	}
	if stored := store.StorageVersion(); res.Served == nil || slices.Contains(res.Served, stored.Version) {
		main.StorageVersion = stored // discovery hides a version that is not served
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
	if serves("update") {
		main.Updater, main.NoPatch = store, !serves("patch")
	}
	if serves("delete") {
		main.Deleter = store
	}
	if serves("deletecollection") {
		main.CollectionDeleter = store
	}
	if res.NoCreate != "" {
		main.Hidden = []string{"create", "patch", "update"}
	}
	out := []router.Resource{main}
	for i := range res.Subresources {
		if in := res.Subresources[i].Versions; in != nil && !slices.Contains(in, gvk.Version) {
			continue
		}
		sub, err := subresource(&main, store, &res.Subresources[i])
		if err != nil {
			return nil, err
		}
		out = append(out, sub)
	}
	return out, nil
}

// deprecated returns the warning to clients that use the version of gvk, or nil if that version is
// not deprecated. The words are Kubernetes': "batch/v1beta1 CronJob is deprecated in v1.21+,
// unavailable in v1.25+; use batch/v1 CronJob".
func deprecated(list []registry.Deprecation, gvk meta.GroupVersionKind) *router.Deprecated {
	i := slices.IndexFunc(list, func(d registry.Deprecation) bool {
		return d.Version == "" || d.Version == gvk.Version
	})
	if i < 0 {
		return nil
	}
	d := &list[i]
	if d.Warning != "" {
		return &router.Deprecated{Warning: d.Warning, Removed: d.Removed}
	}
	warning := fmt.Sprintf("%s %s is deprecated in v%s+", gvk.GroupVersion(), gvk.Kind, d.Since)
	if d.Removed != "" {
		warning += fmt.Sprintf(", unavailable in v%s+", d.Removed)
	}
	if d.Instead.Kind != "" {
		warning += fmt.Sprintf("; use %s %s", d.Instead.GroupVersion(), d.Instead.Kind)
	}
	return &router.Deprecated{Warning: warning, Removed: d.Removed}
}

// route implements bare.
func (a *acting) route(gvk meta.GroupVersionKind) router.Resource {
	return router.Resource{Description: a.declared.Describe(gvk), Type: a.Kind(), Creater: a.Actor, Encoder: a.Actor}
}

// route implements bare.
func (o observed) route(gvk meta.GroupVersionKind) router.Resource {
	return router.Resource{
		Description: o.Describe(gvk),
		Type:        o.Kind(),
		Getter:      o.ComputedReader,
		Lister:      o.ComputedReader,
		Encoder:     o.ComputedReader,
		Tabler:      o.ComputedReader,
		Deprecated:  deprecated(o.Deprecated, gvk),
	}
}

// subresource returns the route of a subresource: an action that is only created (binding), a
// connection (exec, proxy), or a door that reads and updates a part of the objects (status, scale).
// main is the route of its resource. A subresource with a kind of its own is not deprecated with
// the version of the resource, because that kind has a version of its own.
func subresource(
	main *router.Resource, store *registry.Store, sub *registry.Subresource,
) (router.Resource, error) {
	r := router.Resource{Description: main.Description.Of(sub.Name), Type: main.Type, Encoder: store}
	if sub.Kind != (meta.GroupVersionKind{}) {
		r.Kind = sub.Kind
	}
	if r.Kind == main.Kind || main.Custom { // of a custom resource, scale is deprecated as well, as in kube-apiserver
		r.Deprecated = main.Deprecated
	}
	switch {
	case sub.Create != nil:
		actor, err := store.Actor(sub)
		if err != nil {
			return r, err
		}
		r.Creater, r.Encoder, r.Type, r.Also = actor, actor, actor.Kind(), sub.Also
	case sub.Connect != nil:
		r.Connecter, r.ConnectVerbs = store.Connecter(sub), sub.Verbs
		if r.ConnectVerbs == nil {
			r.ConnectVerbs = []string{"get"}
		}
	default:
		door := store.SubresourceIn(main.Kind.Version, sub.Name)
		serves := func(verb string) bool { return sub.Verbs == nil || slices.Contains(sub.Verbs, verb) }
		r.Type, r.Encoder, r.Tabler = door.Kind(), door, door.RowsIn(main.Kind.Version)
		if serves("get") {
			r.Getter = door
		}
		if serves("update") {
			r.Updater, r.NoPatch = door, !serves("patch")
		}
	}
	return r, nil
}
