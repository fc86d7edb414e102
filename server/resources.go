package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/ports"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/storage"
)

// Resources come and go while the server runs, in an order such that whoever sees one in discovery can use it: on
// the way in its keys, metrics, encryption and store, then its routes, then discovery and OpenAPI; on the way out the
// other way round. The cache is closed, which ends watches, and the keys are forgotten, when no request is left inside.

// errClosing is the answer to changes that come too late.
var errClosing = errors.New("server: closing")

// Stores finds what is served by name, as it is at the moment.
type Stores struct{ table *table }

// Store returns the store of a resource by any of its names, or nil if there is no such resource at the moment.
// Admission plugins work through it, past authentication and authorization; controllers have Client. The operations of a
// store that is kept beyond the end of its resource fail.
func (s Stores) Store(gr meta.GroupResource) *registry.Store {
	if o := s.table.find(gr); o != nil {
		return o.view
	}
	return nil
}

// ResourceOf returns the resource that objects of a kind belong to. Of several that share a kind it is one, the same for
// as long as that exists.
func (s Stores) ResourceOf(kind meta.GroupKind) (meta.GroupResource, bool) {
	if o := s.table.now.Load().kinds[kind]; o != nil {
		return o.name, true
	}
	return meta.GroupResource{}, false
}

// resources are what a server serves: the table, and what is needed to add to it.
type resources struct {
	Stores
	backends backing.Backends
	files    storage.Reviewer // the store if others write its files, too, and it is open
	metrics  *metrics
	log      *zap.Logger
	work     *background   // waits for the last requests for what was removed
	longest  time.Duration // that a request and its answer may take, watches apart

	compatible int // the oldest minor release of Kubernetes whose servers can read what is stored

	nodePorts *ports.Allocator // nil: there are no services
	peers     *peers           // the other servers on the store
}

// Install adds the resources of a group, on one server of the delegation chain: all of them, or, with an error, none.
// They are served when it returns. The group's kinds must be in the scheme; AddToScheme is not called. A name that is
// taken is an error: see Replace. It may be called while the server serves.
func (s *resources) Install(on *GenericServer, g Group) error {
	s.table.change.Lock()
	defer s.table.change.Unlock()
	if s.table.change.closed {
		return errClosing
	}
	offers, err := s.offersOf(on, &g)
	if err != nil {
		return err
	}
	next, err := s.table.now.Load().with(offers)
	if err != nil {
		return err
	}
	s.table.set(next)
	s.review(offers)
	var versions []router.GroupVersion
	for _, o := range offers {
		versions = append(versions, o.versions...)
	}
	on.Install(versions...)
	return nil
}

// review has files judged that were there before anybody knew what they should be.
func (s *resources) review(offers []*offer) {
	if s.files == nil {
		return
	}
	for _, o := range offers {
		if o.name == o.entry.Name && o.store != nil {
			s.files.Review(o.Prefix)
		}
	}
}

// Replace serves a resource by a new declaration, under all its names: a kind with other versions, another schema or
// storage version. Its objects stay, and the watches on them, which go on as they began; those in versions that are not served
// any more end. There is no moment without it:
// each request sees the old declaration or the new one. It is an error if the resource does not exist. It may be called
// while the server serves.
func (s *resources) Replace(res registry.Resource) error {
	s.table.change.Lock()
	defer s.table.change.Unlock()
	if s.table.change.closed {
		return errClosing
	}
	now := s.table.now.Load()
	old := now.offers[res.GroupResource]
	if old == nil || old.store == nil || old.entry.Name != res.GroupResource {
		return fmt.Errorf("server: there is no resource %s to replace", res.GroupResource)
	}
	store, err := old.store.Redeclare(res)
	if err != nil {
		return err
	}
	e := *old.entry
	e.store = store
	before := now.of(old.entry)
	after := make([]*offer, len(before))
	for i, o := range before {
		if after[i], err = newOffer(&e, o.name, o.placing); err != nil {
			return err
		}
	}
	next, err := now.with(after)
	if err != nil {
		return err
	}
	store.Adopt() // nothing can fail any more
	s.table.set(next)
	for i, o := range before {
		ended := o.on.Remove(missing(o.versions, after[i].versions)...)
		s.endWatches(ended)
		after[i].earlier = slices.Concat(o.earlier.Inside(), ended, o.on.Replace(o.versions, after[i].versions))
	}
	return nil
}

// Remove ends a resource. If gr is its first name, it ends under all its names; its objects stay in the store. New
// requests do not find it when Remove returns; those that run are served, and gone is closed when they have ended (or
// their time is up), the watches have been told to end, and its metrics have been deleted; a request for the resource
// itself must not wait for that. It is an error if the resource does not exist. It may be called while the server serves.
func (s *resources) Remove(gr meta.GroupResource) (gone <-chan struct{}, err error) {
	s.table.change.Lock()
	defer s.table.change.Unlock()
	if s.table.change.closed {
		return nil, errClosing
	}
	now := s.table.now.Load()
	o := now.offers[gr]
	if o == nil {
		return nil, fmt.Errorf("server: there is no resource %s to remove", gr)
	}
	offers := []*offer{o}
	if o.entry.Name == gr {
		offers = now.of(o.entry)
	}
	var retired router.Retired
	for _, o := range offers {
		retired = append(append(retired, o.earlier...), o.on.Remove(o.versions...)...)
	}
	s.table.set(now.without(offers))
	return s.retire(offers, retired), nil
}

// retire waits until no request uses offers that are not served any more, and closes what is behind them. The result is
// closed after that. The caller holds table.change.
func (s *resources) retire(offers []*offer, routes router.Retired) <-chan struct{} {
	gone := make(chan struct{})
	s.work.run(func(ctx context.Context) {
		defer close(gone)
		ctx, cancel := context.WithTimeout(ctx, s.longest)
		defer cancel()
		if err := routes.Wait(ctx); errors.Is(err, context.DeadlineExceeded) {
			s.log.Warn("a resource that was removed is closed before its last request has ended", zap.Stringer("resource", offers[0].name))
		}
		endAfterLast(ctx, routes)
		s.forget(offers)
	})
	return gone
}

// lastEvents is how long watches have to send what has happened to what they watch, after it has gone.
const lastEvents = 250 * time.Millisecond

// endAfterLast ends the watches on what is not served any more, when they have had time for what happened before that.
func endAfterLast(ctx context.Context, routes router.Retired) {
	if routes.Watched() {
		select {
		case <-time.After(lastEvents):
		case <-ctx.Done():
		}
	}
	routes.EndWatches()
}

// endWatches does so in the background, without waiting for requests.
func (s *resources) endWatches(routes router.Retired) {
	if len(routes) > 0 {
		s.work.run(func(ctx context.Context) { endAfterLast(ctx, routes) })
	}
}

// forget closes what is behind offers, unless it is offered under another name, and deletes their metrics, unless there
// is another resource of that name by now.
func (s *resources) forget(offers []*offer) {
	for _, o := range offers {
		if o.name == o.entry.Name && o.store != nil {
			o.store.Objects().Close()
		}
	}
	s.table.change.Lock()
	defer s.table.change.Unlock()
	next := s.table.now.Load().clone()
	for _, o := range offers {
		first := o.name == o.entry.Name && o.store != nil
		if first && next.entries[o.Prefix] == o.entry {
			delete(next.entries, o.Prefix)
		}
		if next.offers[o.name] != nil {
			continue
		}
		if first {
			o.Forget()
			s.metrics.unreadable.Forget(o.name)
		}
		s.metrics.forget(o)
	}
	s.table.set(next)
}

// offersOf makes what a group adds.
func (s *resources) offersOf(on *GenericServer, g *Group) ([]*offer, error) {
	now := s.table.now.Load()
	names := map[meta.GroupResource]bool{}
	var offers []*offer
	add := func(e *entry, name meta.GroupResource) error {
		if names[name] || now.offers[name] != nil {
			return fmt.Errorf("server: there is a resource %s already", name)
		}
		names[name] = true
		o, err := newOffer(e, name, placing{on, g.Priority, g.chosen})
		offers = append(offers, o)
		return err
	}
	for _, res := range g.Resources {
		if res.GroupResource.Group != g.Name {
			return nil, fmt.Errorf("server: resource %s is not of group %q", res.GroupResource, g.Name)
		}
		if g.builtIn {
			res.StorageVersion = storedVersion(s.backends.Main().Registry.Kinds, &res, s.compatible)
		}
		home := s.backends.Main() // of custom resources and their definitions, which always have one clock
		if !res.Custom && res.GroupResource != customResourceDefinitions {
			home = s.backends.Home(res.GroupResource)
		}
		e, err := s.newEntry(home, res)
		if err != nil {
			return nil, err
		}
		if err := add(e, res.GroupResource); err != nil {
			return nil, err
		}
	}
	for _, a := range g.Actions {
		if a.GroupResource.Group != g.Name {
			return nil, fmt.Errorf("server: resource %s is not of group %q", a.GroupResource, g.Name)
		}
		actor, err := registry.NewActor(s.backends.Main().Registry, a)
		if err != nil {
			return nil, err
		}
		if err := add(&entry{Record: backing.Record{Name: a.GroupResource}, bare: &acting{a, actor}}, a.GroupResource); err != nil {
			return nil, err
		}
	}
	for _, seen := range g.Observed {
		if seen.GroupResource.Group != g.Name {
			return nil, fmt.Errorf("server: resource %s is not of group %q", seen.GroupResource, g.Name)
		}
		observer, err := registry.NewObserver(s.backends.Main().Registry, seen)
		if err != nil {
			return nil, err
		}
		if err := add(&entry{Record: backing.Record{Name: seen.GroupResource}, bare: observed{observer}}, seen.GroupResource); err != nil {
			return nil, err
		}
	}
	for _, other := range g.Shared {
		o := now.offers[other]
		if o == nil || o.store == nil {
			return nil, fmt.Errorf("server: group %q shares %s, which does not exist", g.Name, other)
		}
		if err := add(o.entry, meta.GroupResource{Group: g.Name, Resource: other.Resource}); err != nil {
			return nil, err
		}
	}
	return offers, nil
}

// newEntry makes what is behind a resource that lives in a backend. Nothing is read before it is used.
func (s *resources) newEntry(b *backing.Backend, res registry.Resource) (*entry, error) {
	store, err := registry.New(b.Registry, res)
	if err != nil {
		return nil, err
	}
	return &entry{Record: b.NewRecord(res.GroupResource, store.Objects().Prefix()), store: store}, nil
}

// newOffer offers a resource under one of its names, in each version that its kind has there and that is served.
func newOffer(e *entry, name meta.GroupResource, at placing) (*offer, error) {
	o := &offer{entry: e, name: name, view: e.store, placing: at}
	if name.Group != e.Name.Group {
		var err error
		if o.view, err = e.store.Under(name.Group); err != nil {
			return nil, err
		}
	}
	k := o.served()
	o.kind = k.GroupKind()
	for i, v := range k.Versions() {
		if served := o.servedVersions(); served != nil && !slices.Contains(served, v.GVK.Version) {
			continue
		}
		if at.chosen != nil && !at.chosen(v.GVK.GroupVersion().WithResource(name.Resource)) {
			continue
		}
		resources, err := o.routes(v.GVK)
		if err != nil {
			return nil, err
		}
		o.versions = append(o.versions, router.GroupVersion{
			GroupVersion: v.GVK.GroupVersion(), Resources: resources,
			GroupPriority: at.priority, VersionPriority: versionPriority(k.Versions(), i, o.isCustom()),
		})
	}
	return o, nil
}

// served is the kind of the resource under this name.
func (o *offer) served() kind.Kind {
	if o.bare != nil {
		return o.bare.Kind()
	}
	return o.view.Kind()
}

// servedVersions are those of the kind in which clients are served, nil for all.
func (o *offer) servedVersions() []string {
	if o.bare != nil {
		return nil
	}
	return o.view.Resource().Served
}

// routes is what the router serves of the resource in one version.
func (o *offer) routes(gvk meta.GroupVersionKind) ([]router.Resource, error) {
	if o.bare != nil {
		return []router.Resource{o.bare.route(gvk)}, nil
	}
	return routes(o.view, gvk)
}
