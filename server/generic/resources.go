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

// Resources come and go while the server runs, in an order such that whoever sees one in discovery
// can use it: on the way in its keys, metrics, encryption and store, then its routes, then
// discovery and OpenAPI; on the way out the other way round. The cache is closed, which ends
// watches, and the keys are forgotten, when no request is left inside.

// ErrClosing is the answer to changes that come too late.
var ErrClosing = errors.New("server: closing")

// Stores finds what is served by name, as it is at the moment.
type Stores struct{ table *Table }

// StoresOf returns the stores of a table.
func StoresOf(t *Table) Stores { return Stores{t} }

// Store returns the store of a resource by any of its names, or nil if there is no such resource at
// the moment. Admission plugins work through it, past authentication and authorization; controllers
// have Client. The operations of a store that is kept beyond the end of its resource fail.
func (s Stores) Store(gr meta.GroupResource) *registry.Store {
	if o := s.table.Find(gr); o != nil {
		return o.View
	}
	return nil
}

// ResourceOf returns the resource that objects of a kind belong to. Of several that share a kind it
// is one, the same for as long as that exists.
func (s Stores) ResourceOf(kind meta.GroupKind) (meta.GroupResource, bool) {
	if o := s.table.Now().Kinds[kind]; o != nil {
		return o.Name, true
	}
	return meta.GroupResource{}, false
}

// Resources are what a server serves: the table, and what is needed to add to it.
type Resources struct {
	Stores
	table *Table
	needs Needs
}

// Needs are what Resources are made of.
type Needs struct {
	Table    *Table
	Backends backing.Backends
	// Reviews is the store, if others write its files, too: their files are judged again when the
	// resource that they belong to is known.
	Reviews func() storage.Reviewer
	// Compatible is the oldest minor release of Kubernetes whose servers can read what is stored.
	Compatible int
	// Forget deletes what was counted of a resource under one of its names; stored says that
	// nothing is stored under that name any more.
	Forget func(o *Offer, stored bool)
	// Run runs work until the server stops: it waits for the last requests for what was removed.
	Run func(work func(ctx context.Context))
	// Longest is the time that a request and its answer may take, watches apart.
	Longest time.Duration
	Log     *zap.Logger
}

// NewResources returns the resources of a table that is still empty.
func NewResources(needs Needs) *Resources { return &Resources{Stores{needs.Table}, needs.Table, needs} }

// Table is the list of the resources.
func (s *Resources) Table() *Table { return s.table }

// Go runs work until the server stops: see Host.
func (s *Resources) Go(work func(ctx context.Context)) { s.needs.Run(work) }

// Log is the server's log.
func (s *Resources) Log() *zap.Logger { return s.needs.Log }

// Backends are where the resources live.
func (s *Resources) Backends() backing.Backends { return s.needs.Backends }

// Install adds the resources of a group, on one server of the delegation chain: all of them, or,
// with an error, none. They are served when it returns. The group's kinds must be in the scheme;
// AddToScheme is not called. A name that is taken is an error: see Replace. It may be called while
// the server serves.
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

// review has files judged that were there before anybody knew what they should be.
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

// Replace serves a resource by a new declaration, under all its names: a kind with other versions,
// another schema or storage version. Its objects stay, and the watches on them, which go on as they
// began; those in versions that are not served any more end. There is no moment without it: each
// request sees the old declaration or the new one. It is an error if the resource does not exist.
// It may be called while the server serves.
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
	before := now.Of(old.Entry)
	after := make([]*Offer, len(before))
	for i, o := range before {
		if after[i], err = newOffer(&e, o.Name, o.placing); err != nil {
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
		ended := o.On.Remove(missing(o.Versions, after[i].Versions)...)
		s.endWatches(ended)
		after[i].earlier = slices.Concat(o.earlier.Inside(), ended, o.On.Replace(o.Versions, after[i].Versions))
	}
	return nil
}

// Remove ends a resource. If gr is its first name, it ends under all its names; its objects stay in
// the store. New requests do not find it when Remove returns; those that run are served, and gone
// is closed when they have ended (or their time is up), the watches have been told to end, and its
// metrics have been deleted; a request for the resource itself must not wait for that. It is an
// error if the resource does not exist. It may be called while the server serves.
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
		offers = now.Of(o.Entry)
	}
	var retired router.Retired
	for _, o := range offers {
		retired = append(append(retired, o.earlier...), o.On.Remove(o.Versions...)...)
	}
	s.table.set(now.without(offers))
	return s.retire(offers, retired), nil
}

// retire waits until no request uses offers that are not served any more, and closes what is behind
// them. The result is closed after that. The caller holds Table.change.
func (s *Resources) retire(offers []*Offer, routes router.Retired) <-chan struct{} {
	gone := make(chan struct{})
	s.needs.Run(func(ctx context.Context) {
		defer close(gone)
		ctx, cancel := context.WithTimeout(ctx, s.needs.Longest)
		defer cancel()
		if err := routes.Wait(ctx); errors.Is(err, context.DeadlineExceeded) {
			s.needs.Log.Warn("a resource that was removed is closed before its last request has ended", zap.Stringer("resource", offers[0].Name))
		}
		endAfterLast(ctx, routes)
		s.forget(offers)
	})
	return gone
}

// lastEvents is how long watches have to send what has happened to what they watch, after it has
// gone.
const lastEvents = 250 * time.Millisecond

// endAfterLast ends the watches on what is not served any more, when they have had time for what
// happened before that.
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
func (s *Resources) endWatches(routes router.Retired) {
	if len(routes) > 0 {
		s.needs.Run(func(ctx context.Context) { endAfterLast(ctx, routes) })
	}
}

// forget closes what is behind offers, unless it is offered under another name, and deletes their
// metrics, unless there is another resource of that name by now.
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
		s.needs.Forget(o, first)
	}
	s.table.set(next)
}

// offersOf makes what a group adds.
func (s *Resources) offersOf(on *Server, g *Group) ([]*Offer, error) {
	now := s.table.Now()
	names := map[meta.GroupResource]bool{}
	var offers []*Offer
	add := func(e *Entry, name meta.GroupResource) error {
		if names[name] || now.Offers[name] != nil {
			return fmt.Errorf("server: there is a resource %s already", name)
		}
		names[name] = true
		o, err := newOffer(e, name, placing{on, g.Priority, g.Chosen})
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
		home := s.needs.Backends.Main() // of all custom resources, so that they have one clock
		if !res.Custom {
			home = s.needs.Backends.Home(res.GroupResource)
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
		if err := add(&Entry{Record: backing.Record{Name: a.GroupResource}, bare: &acting{a, actor}}, a.GroupResource); err != nil {
			return nil, err
		}
	}
	for _, seen := range g.Observed {
		if seen.GroupResource.Group != g.Name {
			return nil, fmt.Errorf("server: resource %s is not of group %q", seen.GroupResource, g.Name)
		}
		observer, err := registry.NewObserver(s.needs.Backends.Main().Registry, seen)
		if err != nil {
			return nil, err
		}
		if err := add(&Entry{Record: backing.Record{Name: seen.GroupResource}, bare: observed{observer}}, seen.GroupResource); err != nil {
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

// newEntry makes what is behind a resource that lives in a backend. Nothing is read before it is
// used.
func (s *Resources) newEntry(b *backing.Backend, res registry.Resource) (*Entry, error) {
	store, err := registry.New(b.Registry, res)
	if err != nil {
		return nil, err
	}
	return &Entry{Record: b.NewRecord(res.GroupResource, store.Objects().Prefix()), Store: store}, nil
}

// newOffer offers a resource under one of its names, in each version that its kind has there and
// that is served.
func newOffer(e *Entry, name meta.GroupResource, at placing) (*Offer, error) {
	o := &Offer{Entry: e, Name: name, View: e.Store, placing: at}
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
		if at.chosen != nil && !at.chosen(v.GVK.GroupVersion().WithResource(name.Resource)) {
			continue
		}
		resources, err := o.routes(v.GVK)
		if err != nil {
			return nil, err
		}
		o.Versions = append(o.Versions, router.GroupVersion{
			GroupVersion: v.GVK.GroupVersion(), Resources: resources,
			GroupPriority: at.Priority, VersionPriority: versionPriority(k.Versions(), i, o.IsCustom()),
		})
	}
	return o, nil
}

// served is the kind of the resource under this name.
func (o *Offer) served() kind.Kind {
	if o.bare != nil {
		return o.bare.Kind()
	}
	return o.View.Kind()
}

// servedVersions are those of the kind in which clients are served, nil for all.
func (o *Offer) servedVersions() []string {
	if o.bare != nil {
		return nil
	}
	return o.View.Resource().Served
}

// routes is what the router serves of the resource in one version.
func (o *Offer) routes(gvk meta.GroupVersionKind) ([]router.Resource, error) {
	if o.bare != nil {
		return []router.Resource{o.bare.route(gvk)}, nil
	}
	return routes(o.View, gvk)
}
