package generic

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/storage"
)

// This file installs, replaces and removes resources while the server runs. Package server and the
// parts call it through Host: definitions for custom resources, for example.
//
// The order of the steps makes sure that a client can use each resource that it sees in discovery.
// Install makes the keys, metrics, encryption and store of a resource, then its routes, then
// discovery and OpenAPI. Remove goes the other way. When no request is left inside the resource,
// its watches are told to end, its cache is closed, and the Table forgets its keys.

// ErrClosing is the error of Install, Replace and Remove after the Table was closed.
var ErrClosing = errors.New("server: resources cannot change while the server is closing")

// Stores finds the store of a resource by its name, and the resource of a kind. It answers from the
// present State of the Table. All methods may be called at once.
type Stores struct{ table *Table }

// StoresOf returns the Stores of a table.
func StoresOf(t *Table) Stores { return Stores{t} }

// Store returns the store of a resource by any of its names. It is nil if the resource does not
// exist at the moment, or has no store. Admission plugins read and write through it, without
// authentication and authorization; controllers use a client. A store may be kept, but its
// operations fail after the end of its resource.
func (s Stores) Store(gr meta.GroupResource) *registry.Store {
	if o := s.table.Find(gr); o != nil {
		return o.View
	}
	return nil
}

// ResourceOf returns the resource of the objects of a kind, and whether there is one. If several
// resources share the kind, it returns one of them, the same as long as that resource exists.
func (s Stores) ResourceOf(kind meta.GroupKind) (meta.GroupResource, bool) {
	if o := s.table.Now().Kinds[kind]; o != nil {
		return o.Name, true
	}
	return meta.GroupResource{}, false
}

// Resources changes the Table, and with it the routes, discovery and OpenAPI. One lock, the change
// lock of the Table, serialises all changes. It implements Host.
type Resources struct {
	Stores
	table *Table
	needs Needs
}

// Needs are the values that Resources work with. All are required.
type Needs struct {
	Table    *Table
	Backends backing.Backends
	// Reviews returns the file engine, or nil if the main store is another engine. The engine
	// checks the files of a resource again when the resource is installed.
	Reviews func() storage.Reviewer
	// Compatible is the oldest minor release of Kubernetes whose servers can read what this server
	// stores, from OldestCompatible to NewestCompatible.
	Compatible int
	// ForgetMetrics deletes the metrics of a resource under the name of o. stored says that this is
	// the first name of a resource with a store: ForgetMetrics then also deletes the metrics of
	// stored objects, which have that name as their label.
	ForgetMetrics func(o *Offer, stored bool)
	// Run runs work in the background until the server stops. Remove uses it to wait for the last
	// requests.
	Run func(work func(ctx context.Context))
	// Longest is the longest time that a request with its answer may take, unless it is a watch.
	Longest time.Duration
	Log     *zap.Logger
}

// NewResources returns Resources over needs.Table, which is still empty.
func NewResources(needs Needs) *Resources { return &Resources{Stores{needs.Table}, needs.Table, needs} }

// Table returns the list of the resources.
func (s *Resources) Table() *Table { return s.table }

// Go runs work in a goroutine until the server stops. It implements Host.
func (s *Resources) Go(work func(ctx context.Context)) { s.needs.Run(work) }

// Log returns the server's log.
func (s *Resources) Log() *zap.Logger { return s.needs.Log }

// Backends returns the open stores that keep the objects of the resources, with their caches.
func (s *Resources) Backends() backing.Backends { return s.needs.Backends }

// Install adds the resources of a group on one server of the delegation chain: all of them, or none
// if it fails. They are served when it returns. The kinds of the group must be in the scheme
// already: Install does not call AddToScheme. It fails if a name is taken (Replace changes a
// resource). It may be called while the server serves.
func (s *Resources) Install(on *Server, g Group) error {
	s.table.change.Lock()
	defer s.table.change.Unlock()
	if s.table.change.closed {
		return ErrClosing
	}
	offers, err := s.offersOf(on, &g)
	if err != nil {
		return err
	}
	next, err := s.table.Now().with(offers)
	if err != nil {
		return err
	}
	s.table.set(next)
	s.review(offers)
	var versions []router.GroupVersion
	for _, o := range offers {
		versions = append(versions, o.Versions...)
	}
	on.Install(versions...)
	return nil
}

// review lets the file engine check the files of new resources again. The Acceptor has accepted
// them unchecked if the resource did not exist when they were found.
func (s *Resources) review(offers []*Offer) {
	files := s.needs.Reviews()
	if files == nil {
		return
	}
	for _, o := range offers {
		if o.Name == o.Entry.Name && o.Store != nil {
			files.Review(o.Prefix)
		}
	}
}

// Replace gives a resource a new declaration, under all its names: for example a kind with other
// versions, another schema or another storage version. Each request finds the old declaration or
// the new one, never neither. The objects stay. A watch goes on with the declaration with which it
// began, but a watch in a version that is no longer served ends. Replace fails if res.GroupResource
// is not the first name of a resource with a store. It may be called while the server serves.
func (s *Resources) Replace(res registry.Resource) error {
	s.table.change.Lock()
	defer s.table.change.Unlock()
	if s.table.change.closed {
		return ErrClosing
	}
	now := s.table.Now()
	old := now.Offers[res.GroupResource]
	if old == nil || old.Store == nil || old.Entry.Name != res.GroupResource {
		return fmt.Errorf("server: there is no resource %s to replace", res.GroupResource)
	}
	store, err := old.Store.Redeclare(res)
	if err != nil {
		return err
	}
	e := *old.Entry
	e.Store = store
	before := now.OffersOf(old.Entry)
	after := make([]*Offer, len(before))
	for i, o := range before {
		if after[i], err = newOffer(&e, o.Name, o.groupSettings); err != nil {
			return err
		}
	}
	next, err := now.with(after)
	if err != nil {
		return err
	}
	store.Adopt() // it cannot be undone, so it comes after all that can fail
	s.table.set(next)
	for i, o := range before {
		ended := o.On.Remove(missing(o.Versions, after[i].Versions)...)
		s.endWatches(ended)
		after[i].earlier = slices.Concat(o.earlier.Inside(), ended, o.On.Replace(o.Versions, after[i].Versions))
	}
	return nil
}

// Remove ends a resource under the name gr; if gr is its first name, under all names. Its objects
// stay in the store. When Remove returns, new requests do not find the resource, and running ones
// are still served. The rest happens in the background: Remove waits until the running requests
// have ended, or for Needs.Longest; then it tells the watches to end, deletes the metrics, and
// closes gone. A request for the resource itself must not wait for gone, because gone waits for
// that request. Remove fails if the resource does not exist. It may be called while the server
// serves.
func (s *Resources) Remove(gr meta.GroupResource) (gone <-chan struct{}, err error) {
	s.table.change.Lock()
	defer s.table.change.Unlock()
	if s.table.change.closed {
		return nil, ErrClosing
	}
	now := s.table.Now()
	o := now.Offers[gr]
	if o == nil {
		return nil, fmt.Errorf("server: there is no resource %s to remove", gr)
	}
	offers := []*Offer{o}
	if o.Entry.Name == gr {
		offers = now.OffersOf(o.Entry)
	}
	var retired router.Retired
	for _, o := range offers {
		retired = append(append(retired, o.earlier...), o.On.Remove(o.Versions...)...)
	}
	s.table.set(now.without(offers))
	return s.retire(offers, retired), nil
}

// retire waits in the background until no request uses the offers, which were removed, and then
// forgets them and closes the channel. The caller holds Table.change.
func (s *Resources) retire(offers []*Offer, routes router.Retired) <-chan struct{} {
	gone := make(chan struct{})
	s.needs.Run(func(ctx context.Context) {
		defer close(gone)
		ctx, cancel := context.WithTimeout(ctx, s.needs.Longest)
		defer cancel()
		if err := routes.Wait(ctx); errors.Is(err, context.DeadlineExceeded) {
			s.needs.Log.Warn("a resource that was removed is closed before its last request has ended",
				zap.Stringer("resource", offers[0].Name))
		}
		endAfterLast(ctx, routes)
		s.forget(offers)
	})
	return gone
}

// lastEvents is how long the watches of a removed resource go on, so that they can send the events
// from before the removal.
const lastEvents = 250 * time.Millisecond

// endAfterLast ends the watches on retired resources after lastEvents. It does not wait if there
// are no watches.
func endAfterLast(ctx context.Context, routes router.Retired) {
	if routes.Watched() {
		select {
		case <-time.After(lastEvents):
		case <-ctx.Done():
		}
	}
	routes.EndWatches()
}

// endWatches calls endAfterLast in the background. It does not wait for requests.
func (s *Resources) endWatches(routes router.Retired) {
	if len(routes) > 0 {
		s.needs.Run(func(ctx context.Context) { endAfterLast(ctx, routes) })
	}
}

// forget closes the caches of removed offers and deletes their metrics and entries. The cache
// belongs to the offer under the first name; if only another name was removed, the cache stays
// open. If a resource of the same name was installed meanwhile, the metrics belong to it and stay.
func (s *Resources) forget(offers []*Offer) {
	for _, o := range offers {
		if o.Name == o.Entry.Name && o.Store != nil {
			o.Store.Objects().Close()
		}
	}
	s.table.change.Lock()
	defer s.table.change.Unlock()
	next := s.table.Now().clone()
	for _, o := range offers {
		first := o.Name == o.Entry.Name && o.Store != nil
		if first && next.entries[o.Prefix] == o.Entry {
			delete(next.entries, o.Prefix)
		}
		if next.Offers[o.Name] != nil {
			continue
		}
		if first {
			o.Forget()
		}
		s.needs.ForgetMetrics(o, first)
	}
	s.table.set(next)
}

// offersOf makes the offers of a group: its resources, actions, observed and shared resources, in
// this order. The Table does not change. The caller holds Table.change.
func (s *Resources) offersOf(on *Server, g *Group) ([]*Offer, error) {
	now := s.table.Now()
	names := map[meta.GroupResource]bool{}
	var offers []*Offer
	add := func(e *Entry, name meta.GroupResource) error {
		if names[name] || now.Offers[name] != nil {
			return fmt.Errorf("server: there is a resource %s already", name)
		}
		names[name] = true
		o, err := newOffer(e, name, groupSettings{on, g.Priority, g.Chosen})
		offers = append(offers, o)
		return err
	}
	for _, res := range g.Resources {
		if res.GroupResource.Group != g.Name {
			return nil, fmt.Errorf("server: resource %s is not of group %q", res.GroupResource, g.Name)
		}
		if g.BuiltIn {
			res.StorageVersion = storedVersion(s.needs.Backends.Main().Registry.Kinds, &res, s.needs.Compatible)
		}
		home := s.needs.Backends.Main() // custom resources share it, so that one revision orders them all
		if !res.Custom {
			home = s.needs.Backends.BackendOf(res.GroupResource)
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
		actor, err := registry.NewActor(s.needs.Backends.Main().Registry, a)
		if err != nil {
			return nil, err
		}
		if err := add(&Entry{
			Record: backing.Record{Name: a.GroupResource},
			bare:   &acting{a, actor},
		}, a.GroupResource); err != nil {
			return nil, err
		}
	}
	for _, seen := range g.Computed {
		if seen.GroupResource.Group != g.Name {
			return nil, fmt.Errorf("server: resource %s is not of group %q", seen.GroupResource, g.Name)
		}
		observer, err := registry.NewComputedReader(s.needs.Backends.Main().Registry, seen)
		if err != nil {
			return nil, err
		}
		if err := add(&Entry{
			Record: backing.Record{Name: seen.GroupResource},
			bare:   observed{observer},
		}, seen.GroupResource); err != nil {
			return nil, err
		}
	}
	for _, other := range g.Shared {
		o := now.Offers[other]
		if o == nil || o.Store == nil {
			return nil, fmt.Errorf("server: group %q shares %s, which does not exist", g.Name, other)
		}
		if err := add(o.Entry, meta.GroupResource{Group: g.Name, Resource: other.Resource}); err != nil {
			return nil, err
		}
	}
	return offers, nil
}

// newEntry makes the entry of a resource whose objects a backend keeps. It reads nothing: the cache
// loads the objects at their first use.
func (s *Resources) newEntry(b *backing.Backend, res registry.Resource) (*Entry, error) {
	store, err := registry.New(b.Registry, res)
	if err != nil {
		return nil, err
	}
	return &Entry{Record: b.NewRecord(res.GroupResource, store.Objects().Prefix()), Store: store}, nil
}

// newOffer returns the offer of a resource under one of its names, with the routes of each version
// that its kind has in the name's group. It leaves out versions that the declaration does not serve
// (Resource.Served), and those that the configuration has switched off (Group.Chosen).
func newOffer(e *Entry, name meta.GroupResource, settings groupSettings) (*Offer, error) {
	o := &Offer{Entry: e, Name: name, View: e.Store, groupSettings: settings}
	if name.Group != e.Name.Group {
		var err error
		if o.View, err = e.Store.Under(name.Group); err != nil {
			return nil, err
		}
	}
	k := o.served()
	o.Kind = k.GroupKind()
	for i, v := range k.Versions() {
		if served := o.servedVersions(); served != nil && !slices.Contains(served, v.GVK.Version) {
			continue
		}
		if settings.chosen != nil && !settings.chosen(v.GVK.GroupVersion().WithResource(name.Resource)) {
			continue
		}
		resources, err := o.routes(v.GVK)
		if err != nil {
			return nil, err
		}
		o.Versions = append(o.Versions, router.GroupVersion{
			GroupVersion: v.GVK.GroupVersion(), Resources: resources,
			GroupPriority: settings.Priority, VersionPriority: versionPriority(k.Versions(), i, o.IsCustom()),
		})
	}
	return o, nil
}

// served returns the kind of the resource under this name.
func (o *Offer) served() kind.Kind {
	if o.bare != nil {
		return o.bare.Kind()
	}
	return o.View.Kind()
}

// servedVersions returns the versions that the declaration serves, or nil for all versions of the
// kind.
func (o *Offer) servedVersions() []string {
	if o.bare != nil {
		return nil
	}
	return o.View.Resource().Served
}

// routes returns the routes of the resource, with or without a store, in one version.
func (o *Offer) routes(gvk meta.GroupVersionKind) ([]router.Resource, error) {
	if o.bare != nil {
		return []router.Resource{o.bare.route(gvk)}, nil
	}
	return routes(o.View, gvk)
}
