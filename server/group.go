package server

import (
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/authenticationv1"
	"github.com/coracle-project/coracle/scheme/api/authorizationv1"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Group is an API group to serve: its types and its resources. The versions and their order come from the scheme; a
// resource is served in each version in which its kind is registered.
type Group struct {
	Name string
	// Priority orders groups in discovery, highest first. Versions follow the order of their kinds.
	Priority int
	// AddToScheme registers the group's types, defaults and conversions. New calls it.
	AddToScheme func(*scheme.Scheme)
	Resources   []registry.Resource
	// Actions are resources without a store, which are only created: reviews.
	Actions []registry.Actions
	// Observed are resources without a store, which are only read: component statuses.
	Observed []registry.Observed
	// Shared are resources of other groups, installed before, that are served in this one as well, under the same plural
	// and kind: the same objects in one store.
	Shared []meta.GroupResource

	// builtIn groups come with this package, whose tests find what is wrong with their kinds: these are compiled when they are
	// first used.
	builtIn bool
	// chosen says what of the group is served; nil: everything.
	chosen func(meta.GroupVersionResource) bool
}

// names are the names of all resources of the group.
func (g *Group) names() (names []meta.GroupResource) {
	for _, res := range g.Resources {
		names = append(names, res.GroupResource)
	}
	for _, a := range g.Actions {
		names = append(names, a.GroupResource)
	}
	for _, seen := range g.Observed {
		names = append(names, seen.GroupResource)
	}
	for _, other := range g.Shared {
		names = append(names, meta.GroupResource{Group: g.Name, Resource: other.Resource})
	}
	return names
}

// groups are all that may be served: Kubernetes' own, if they are wanted, else those of them that
// authorization needs, and the configured ones.
func (c *completed) groups(around surroundings) []Group {
	groups := coreGroups(c.API, around)
	if !c.API.Core {
		groups = slices.DeleteFunc(groups, func(g Group) bool {
			configured := slices.ContainsFunc(c.API.Groups, func(own Group) bool { return own.Name == g.Name })
			return configured || !c.needs(g.Name)
		})
	}
	for i := range groups {
		groups[i].builtIn = true
	}
	return append(groups, c.API.Groups...)
}

// needs reports whether a server that does not serve Kubernetes' own groups serves this one of them
// all the same: roles, if they decide, and the reviews that tell a client who it is and what it may
// do, if anybody decides.
func (c *completed) needs(group string) bool {
	switch group {
	case rbacv1.GroupVersion.Group:
		return c.decides(AuthorizeByRoles)
	case authenticationv1.GroupVersion.Group, authorizationv1.GroupVersion.Group:
		return slices.ContainsFunc(c.authorizers.Authorizers, func(p authz.AuthorizerConfiguration) bool { return p.Type != AuthorizeAlways })
	}
	return false
}

// warnOfNamespaces says in the log that objects are in namespaces of which there are none: nobody
// looks whether a namespace exists, and what is in one does not go with it.
func warnOfNamespaces(groups []Group, t *table, log *zap.Logger) {
	namespaced := func(g Group) bool {
		return slices.ContainsFunc(g.Resources, func(r registry.Resource) bool { return r.Namespaced })
	}
	if t.find(meta.GroupResource{Resource: "namespaces"}) == nil && slices.ContainsFunc(groups, namespaced) {
		log.Warn("there are no namespaces here: objects are stored in any namespace that a client names; API.Core serves namespaces")
	}
}

// register adds the kinds of the group to a scheme.
func (g *Group) register(s *scheme.Scheme) {
	if g.builtIn {
		s.AddLazy(g.AddToScheme)
		return
	}
	g.AddToScheme(s)
}

// versionPriority is the place of the i-th of a kind's versions in discovery, as it is registered. The order of a kind needs another one only
// where it is not that of all groups.
func versionPriority(versions []*kind.Version, i int, custom bool) int {
	usual := slices.IsSortedFunc(versions, func(a, b *kind.Version) int { return scheme.CompareVersions(a.GVK.Version, b.GVK.Version) })
	switch {
	case custom:
		return customVersionPriority
	case usual:
		return int(registeredPriority(versions[i].GVK.GroupVersion()))
	}
	return usualVersionPriority + len(versions) - i
}

// routes offers a store and its subresources to the router in one version.
func routes(store *registry.Store, gvk meta.GroupVersionKind) ([]router.Resource, error) {
	res := store.Resource()
	main := router.Resource{
		Name:           res.GroupResource.Resource,
		Singular:       res.Singular,
		ListKind:       res.ListKind,
		Kind:           gvk,
		Type:           store.Kind(),
		Namespaced:     res.Namespaced,
		ShortNames:     res.ShortNames,
		Categories:     res.Categories,
		Custom:         res.Custom || kind.In(store.Kind(), gvk.Version).Type == nil,
		ReturnsDeleted: res.ReturnsDeleted,
		Encoder:        store,
		Tabler:         store.RowsIn(gvk.Version),
		Deprecated:     deprecated(res.Deprecated, gvk),
	}
	if stored := store.StorageVersion(); res.Served == nil || slices.Contains(res.Served, stored.Version) {
		main.StorageVersion = stored // of one that nobody can ask for, discovery says nothing
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

// deprecated is what clients of a resource in a version are told if it is deprecated there, in the words of Kubernetes.
func deprecated(list []registry.Deprecation, gvk meta.GroupVersionKind) *router.Deprecated {
	i := slices.IndexFunc(list, func(d registry.Deprecation) bool { return d.Version == "" || d.Version == gvk.Version })
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

// route offers a resource that is only created.
func (a *acting) route(gvk meta.GroupVersionKind) router.Resource {
	return router.Resource{
		Name: a.declared.GroupResource.Resource, Singular: a.declared.Singular, Namespaced: a.declared.Namespaced,
		Kind: gvk, Type: a.Kind(), Creater: a.Actor, Encoder: a.Actor,
	}
}

// route offers a resource that is only read.
func (o observed) route(gvk meta.GroupVersionKind) router.Resource {
	return router.Resource{
		Name: o.GroupResource.Resource, Singular: o.Singular, ShortNames: o.ShortNames, Kind: gvk, Type: o.Kind(),
		Getter: o.Observer, Lister: o.Observer, Encoder: o.Observer, Tabler: o.Observer, Deprecated: deprecated(o.Deprecated, gvk),
	}
}

// subresource offers a door of a resource, or an action.
func subresource(main *router.Resource, store *registry.Store, sub *registry.Subresource) (router.Resource, error) {
	r := router.Resource{
		Name: main.Name + "/" + sub.Name, Kind: main.Kind, Type: main.Type, Namespaced: main.Namespaced, Custom: main.Custom, Encoder: store,
	}
	if sub.Kind != (meta.GroupVersionKind{}) {
		r.Kind = sub.Kind
	}
	if r.Kind == main.Kind || main.Custom { // a custom resource is deprecated with all that belongs to it
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
