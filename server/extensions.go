package server

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// The extensions server is the last link of the delegation chain. It serves CustomResourceDefinitions, and what they define.
//
// One loop follows the definitions, in the order in which they change, on every server: each decides by itself what it serves,
// and all come to the same. Whoever is first writes down what was decided. A resource is served before its definition says so:
// whoever has seen that finds it. On other servers of the same store a request for a resource that is not known yet waits until
// what the store knows is known (extensionslate.go).

// definitions serves what definitions define.
type definitions struct {
	*generic.Resources
	on    *generic.Server // where
	work  *generic.Work   // of the server
	store *registry.Store // of the definitions, as outlines
	log   *zap.Logger

	converters *converters

	unread   unreadDefinitions
	seen     *generic.Progress
	declared *declared
	writing  chan struct{} // as many places as statuses are written at a time
	known    map[string]*definition
}

// definition is what is known of a definition, without what its resource alone needs. It is owned by the loop.
type definition struct {
	*apiextensionsv1.CustomResourceDefinition // trimmed, with the status that it is going to have

	source   *source          // of what is served
	rev      storage.Revision // that this was decided from
	written  chan storage.Revision
	served   bool
	fault    error  // why it is not served as it is now, or at all, though it should be
	release  func() // closes its webhook; nil: nothing to close
	overlaps bool   // its name is that of a resource of the server's own
	emptying *emptying
}

// statusWriters is how many statuses are written at a time.
const statusWriters = 8

func newDefinitions(r *generic.Resources, on *generic.Server, resolve callout.Resolver, m *metrics, work *generic.Work, log *zap.Logger) *definitions {
	return &definitions{
		Resources: r, on: on, work: work, log: filters.LimitLog(log.Named("extensions")),
		converters: &converters{resolve: resolve, metrics: m.conversions, flawed: m.flaws.webhooks, known: map[string]*sharedClient{}},
		seen:       generic.NewProgress(), declared: newDeclared(), writing: make(chan struct{}, statusWriters), known: map[string]*definition{},
	}
}

// begin has definitions served, if they are. The server is not ready before those are that are stored.
func (d *definitions) begin(s *Server) error {
	store := s.Store(customResourceDefinitions)
	if store == nil {
		return nil
	}
	outlines, err := extensions.Outlines()
	if err != nil {
		return err
	}
	if d.store, err = store.Through(outlines); err != nil {
		return err
	}
	s.Go(d.run)
	seen := func(ctx context.Context, _ *Server) error {
		_ = d.seen.Wait(ctx, 0) // it fails when the server ends
		return nil
	}
	return errors.Join(
		s.addHooks(generic.Hook{Name: "start-apiextensions-informers", Run: generic.Loads(s, []meta.GroupResource{customResourceDefinitions})}),
		s.AddPostStartHook(Hook{Name: "start-apiextensions-controllers", Run: seen}),
		s.AddPostStartHook(Hook{Name: "crd-informer-synced", Run: seen}))
}

// run follows the definitions until ctx ends.
func (d *definitions) run(ctx context.Context) {
	defer d.converters.close()
	for {
		err := d.follow(ctx)
		if ctx.Err() != nil || errors.Is(err, storage.Closed) {
			return
		}
		if !errors.Is(err, storage.Compacted) {
			d.log.Log(backing.Severity(err), "custom resource definitions cannot be followed; it will be tried again", zap.Error(err))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(generic.Again):
		}
	}
}

// follow looks at all definitions, and then at each that changes, until that fails.
func (d *definitions) follow(ctx context.Context) error {
	objects := d.store.Objects()
	w, err := objects.Watch(ctx, cache.WatchOptions{Prefix: objects.Prefix(), Initial: true, InitialEnd: true, Corrupt: true})
	if err != nil {
		return err
	}
	defer w.Close()
	present := map[string]bool{} // nil after the initial state
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return err
		}
		for i := range events {
			e := &events[i]
			switch {
			case e.InitialEnd:
				d.sweep(ctx, present)
				present = nil
				d.seen.Reach(e.Rev)
			case e.Type == cache.Bookmark:
			case e.Type == cache.Deleted:
				d.forget(ctx, d.nameOf(e.Object))
				d.declared.forget(d.nameOf(e.Object))
			default:
				if present != nil {
					present[d.nameOf(e.Object)] = true
				}
				d.observe(ctx, e.Object)
			}
		}
		if present == nil && len(events) > 0 {
			d.seen.Reach(events[len(events)-1].Rev)
		}
	}
}

func (d *definitions) nameOf(obj *cache.Object) string {
	return strings.TrimPrefix(obj.Key, d.store.Objects().Prefix())
}

// sweep forgets the definitions that have gone while nobody looked.
func (d *definitions) sweep(ctx context.Context, present map[string]bool) {
	for _, name := range slices.AppendSeq(d.unread.names(), maps.Keys(d.known)) {
		if !present[name] {
			d.forget(ctx, name)
		}
	}
	d.declared.retain(present)
}

// observe decides about a new state of a definition. If that cannot be read, the names that the
// definition has had stay its own, and requests for its resource are refused (extensionsunread.go).
func (d *definitions) observe(ctx context.Context, obj *cache.Object) {
	name := d.nameOf(obj)
	known := d.known[name]
	if known != nil && obj.Rev <= known.rev {
		return
	}
	if known != nil && known.wrote(obj.Rev) {
		known.source.obj.Store(obj)
		return
	}
	def, err := d.decode(ctx, obj)
	if err != nil {
		d.log.Warn("a custom resource definition cannot be read", zap.String("name", name), zap.Error(err))
		d.unread.add(name, err)
		return
	}
	d.declared.learn(def)
	d.unread.remove(name)
	if known != nil && known.UID != def.UID {
		d.forget(ctx, name)
		known = nil
	}
	next := &definition{CustomResourceDefinition: extensions.Trim(def), rev: obj.Rev}
	if known != nil {
		next.served, next.fault, next.overlaps, next.emptying, next.release = known.served, known.fault, known.overlaps, known.emptying, known.release
	}
	if known != nil && known.Generation == def.Generation {
		next.source = known.source
		next.source.obj.Store(obj)
	} else {
		next.source = newSource(d.store, obj)
	}
	d.known[name] = next
	d.decide(next, known, def)
	if known != nil && !extensions.SameNames(&known.Status.AcceptedNames, &next.Status.AcceptedNames) {
		d.rejudge(ctx, next.Spec.Group)
	}
}

// decide judges a definition, serves what it defines, has its status written, and its instances deleted if it is to go. known is
// what it was before, if it was; def is what there is of it (extensions.Outline).
func (d *definitions) decide(next, known *definition, def *apiextensionsv1.CustomResourceDefinition) {
	changed := extensions.Judge(next.CustomResourceDefinition, &def.Spec, d.group(next.Spec.Group), now())
	d.serve(next, known, def)
	if changed {
		d.writeStatus(next)
	}
	if extensions.Emptying(next.CustomResourceDefinition) {
		d.empty(next)
	}
}

// group yields the definitions of a group.
func (d *definitions) group(name string) iter.Seq[*apiextensionsv1.CustomResourceDefinition] {
	return func(yield func(*apiextensionsv1.CustomResourceDefinition) bool) {
		for _, known := range d.known {
			if known.Spec.Group == name && !yield(known.CustomResourceDefinition) {
				return
			}
		}
	}
}

// rejudge looks again at the definitions of a group that could not have a name, as one may have become free. Who has waited
// longest comes first.
func (d *definitions) rejudge(ctx context.Context, group string) {
	var waiting []*definition
	for _, known := range d.known {
		if known.Spec.Group == group && !extensions.Is(known.CustomResourceDefinition, apiextensionsv1.NamesAccepted) {
			waiting = append(waiting, known)
		}
	}
	slices.SortFunc(waiting, func(a, b *definition) int { return cmp.Compare(a.rev, b.rev) })
	for _, known := range waiting {
		obj, err := d.store.Objects().Get(ctx, d.store.Objects().Prefix()+known.Name, cache.Want{Match: cache.Any})
		if err != nil || obj.Rev != known.rev {
			continue // a newer state is on its way
		}
		def, err := d.decode(ctx, obj)
		if err != nil {
			continue
		}
		before := *known
		before.CustomResourceDefinition = extensions.Trim(known.CustomResourceDefinition)
		d.decide(known, &before, def)
	}
}

// forget ends what a definition that is gone defined.
func (d *definitions) forget(ctx context.Context, name string) {
	d.unread.remove(name)
	known := d.known[name]
	if known == nil {
		return
	}
	delete(d.known, name)
	d.end(known)
	d.rejudge(ctx, known.Spec.Group)
}

// decode reads a definition without its schemas.
func (d *definitions) decode(ctx context.Context, obj *cache.Object) (*apiextensionsv1.CustomResourceDefinition, error) {
	if err := obj.Err(); err != nil {
		return nil, err
	}
	outline, err := d.store.Decode(ctx, obj)
	if err != nil {
		return nil, err
	}
	return outline.(*extensions.Outline).Definition()
}

// source is where the schemas of a definition are: in the definition, which the cache has anyway. It is the latest state of the
// generation that is served.
type source struct {
	store *registry.Store
	obj   atomic.Pointer[cache.Object]
}

func newSource(store *registry.Store, obj *cache.Object) *source {
	s := &source{store: store}
	s.obj.Store(obj)
	return s
}

// schema returns the schema of a version as JSON, nil for none.
func (s *source) schema(version string) []byte {
	obj, err := s.store.Decode(context.Background(), s.obj.Load())
	if err != nil {
		return nil
	}
	return obj.(*extensions.Outline).Schema(version)
}

// resource is the name of what is defined.
func (f *definition) resource() meta.GroupResource {
	return meta.GroupResource{Group: f.Spec.Group, Resource: f.Spec.Names.Plural}
}

// wrote reports whether a state is the one that this server has written, and takes note of it.
func (f *definition) wrote(rev storage.Revision) bool {
	if f.written == nil {
		return false
	}
	select {
	case mine := <-f.written:
		f.written = nil
		if mine != rev {
			return false
		}
		f.rev = rev
		return true
	default:
		return false
	}
}

// serve serves what a definition defines, as it defines it now, or ends it.
func (d *definitions) serve(next, known *definition, def *apiextensionsv1.CustomResourceDefinition) {
	switch {
	case next.overlaps:
	case !extensions.Served(next.CustomResourceDefinition):
		d.end(next)
	case !next.served || known == nil || extensions.Differ(known.CustomResourceDefinition, next.CustomResourceDefinition):
		def.Status = next.Status
		if next.fault = d.install(next, def); next.fault != nil {
			d.log.Warn("a custom resource cannot be served", zap.String("definition", next.Name), zap.Error(next.fault))
		}
	}
}

func (d *definitions) install(next *definition, def *apiextensionsv1.CustomResourceDefinition) error {
	hook, release := d.converters.open(def)
	if err := d.declare(next, def, hook); err != nil {
		release()
		return err
	}
	next.close()
	next.release = release
	return nil
}

// declare makes a resource of a definition, or makes it anew.
func (d *definitions) declare(next *definition, def *apiextensionsv1.CustomResourceDefinition, hook *extensions.Webhook) error {
	if next.overlaps = !next.served && d.Table().Find(next.resource()) != nil; next.overlaps {
		return errors.New("the server has a resource of that name itself")
	}
	res, err := extensions.DeclareBy(def, next.source.schema, hook)
	if err != nil {
		return err
	}
	res.Since = next.rev
	if extensions.Is(def, apiextensionsv1.Terminating) {
		res.NoCreate = extensions.NoCreate
	}
	if next.served {
		return d.Replace(res)
	}
	if err := d.Install(d.on, Group{Name: res.GroupResource.Group, Priority: generic.CustomPriority, Resources: []registry.Resource{res}}); err != nil {
		return err
	}
	next.served = true
	return nil
}

// close closes the webhook of a definition for those who do not call it yet.
func (f *definition) close() {
	if f.release != nil {
		f.release()
	}
	f.release = nil
}

// end serves a resource no more.
func (d *definitions) end(f *definition) {
	if !f.served {
		return
	}
	f.served = false
	f.close()
	if _, err := d.Remove(f.resource()); err != nil && !errors.Is(err, generic.ErrClosing) {
		d.log.Warn("a custom resource cannot be removed", zap.String("definition", f.Name), zap.Error(err))
	}
}
