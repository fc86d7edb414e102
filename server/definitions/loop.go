package definitions

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/storage"
)

// The loop follows the definitions. For each new state of a definition it decides which names and
// conditions the definition gets (extensions.UpdateStatus), serves the resource (serving.go),
// writes the status (statuses.go), and deletes the instances if the definition is being deleted
// (instancedeletion.go). Definitions.Start starts the loop.

// loop is the state of the loop. Only the goroutine of run reads or writes it.
type loop struct {
	*Definitions
	store    *registry.Store // of the definitions, as outlines
	statuses *statuses
	byName   map[string]*definition // by name; the last readable state of each definition
}

func newLoop(d *Definitions, store *registry.Store) *loop {
	return &loop{
		Definitions: d, store: store, statuses: newStatuses(d.host, store, d.log), byName: map[string]*definition{},
	}
}

// run follows the definitions until ctx ends, and then closes the connections to their webhooks.
// seen reaches a revision only after run has handled all changes up to that revision.
func (l *loop) run(ctx context.Context) {
	defer l.converters.close()
	opts := follow.Options{Failed: l.failed, MaxPause: generic.RetryPause}
	for b := range follow.Changes(ctx, l.store.Source(), opts) {
		for i := range b.Changes {
			l.handle(ctx, &b.Changes[i])
		}
		if b.InStep {
			l.seen.Reach(b.ResourceVersion)
		}
	}
}

// failed logs why the definitions cannot be followed at the moment. It logs nothing if the cache no
// longer has the next change, because the loop then lists all definitions again.
func (l *loop) failed(err error) {
	if !meta.IsResourceExpired(err) {
		l.log.Log(backing.Severity(err),
			"custom resource definitions cannot be followed; it will be tried again", zap.Error(err))
	}
}

// handle deals with one change: a definition was deleted, became unreadable, or has a new state.
func (l *loop) handle(ctx context.Context, ch *follow.Change[request.Encoded]) {
	name := ch.Name.Name
	switch {
	case ch.Gone:
		l.forget(ctx, name)
		l.declared.Forget(name)
	case ch.Unread != nil:
		l.unreadable(name, ch.Unread)
	default:
		l.observe(ctx, name, ch.New)
	}
}

// unreadable records that the present state of a definition cannot be read. The definition keeps
// its names, and requests for its resource are refused (unread.go).
func (l *loop) unreadable(name string, err error) {
	l.log.Warn("a custom resource definition cannot be read", zap.String("definition", name), zap.Error(err))
	l.unread.add(name, err)
}

// observe handles a new state of a definition. It does nothing for a state that it has seen before,
// which a follower may report again, and for the state that the loop's own write of the status has
// made: that state holds nothing that the loop did not decide itself. If the uid is new, the
// definition was deleted and created again, so observe first forgets the earlier definition.
func (l *loop) observe(ctx context.Context, name string, obj request.Encoded) {
	prev, rev := l.byName[name], storage.Revision(obj.Revision())
	if prev != nil && rev <= prev.rev { // reported again
		l.unread.remove(name)
		return
	}
	if prev != nil && prev.wrote(rev) {
		prev.source.set(obj)
		return
	}
	def, err := l.decode(ctx, obj)
	if err != nil {
		l.unreadable(name, err)
		return
	}
	l.declared.Learn(def)
	l.unread.remove(name)
	if prev != nil && prev.UID != def.UID {
		l.forget(ctx, name)
		prev = nil
	}
	next := &definition{CustomResourceDefinition: extensions.WithoutSchemas(def), rev: rev}
	if prev != nil {
		next.served, next.fault, next.overlaps = prev.served, prev.fault, prev.overlaps
		next.deletion, next.release = prev.deletion, prev.release
	}
	if prev != nil && prev.Generation == def.Generation {
		next.source = prev.source
		next.source.set(obj)
	} else {
		next.source = newSource(l.store, obj)
	}
	l.byName[name] = next
	l.decide(next, prev, def)
	if prev != nil && !extensions.SameNames(&prev.Status.AcceptedNames, &next.Status.AcceptedNames) {
		l.decideWaiting(ctx, next.Spec.Group)
	}
}

// decide updates the status of next, serves its resource, starts the write of the status if it
// changed, and starts the deletion of the instances if next is being deleted. The order keeps the
// law that a resource is served before its definition says so. prev is the state before, nil if
// there was none. def is the definition without its schemas.
func (l *loop) decide(next, prev *definition, def *apiextensionsv1.CustomResourceDefinition) {
	changed := extensions.UpdateStatus(next.CustomResourceDefinition, &def.Spec, l.group(next.Spec.Group), now())
	l.serve(next, prev, def)
	if changed {
		next.written = l.statuses.write(next)
	}
	if extensions.NeedsInstanceDeletion(next.CustomResourceDefinition) {
		l.empty(next)
	}
}

// group yields the definitions of a group, in no order.
func (l *loop) group(name string) iter.Seq[*apiextensionsv1.CustomResourceDefinition] {
	return func(yield func(*apiextensionsv1.CustomResourceDefinition) bool) {
		for _, f := range l.byName {
			if f.Spec.Group == name && !yield(f.CustomResourceDefinition) {
				return
			}
		}
	}
}

// decideWaiting decides again about the definitions of a group that lack a name. The loop calls it
// after a definition of the group has given up a name, or is gone. The definition with the oldest
// state comes first, so that all servers give a free name to the same definition.
func (l *loop) decideWaiting(ctx context.Context, group string) {
	var waiting []*definition
	for _, f := range l.byName {
		if f.Spec.Group == group &&
			!extensions.IsConditionTrue(f.CustomResourceDefinition, apiextensionsv1.NamesAccepted) {
			waiting = append(waiting, f)
		}
	}
	slices.SortFunc(waiting, func(a, b *definition) int { return cmp.Compare(a.rev, b.rev) })
	for _, f := range waiting {
		obj, err := l.store.Read(ctx, "", f.Name, request.Cached)
		if err != nil || storage.Revision(obj.Revision()) != f.rev {
			continue // the loop is about to see a newer state
		}
		def, err := l.decode(ctx, obj)
		if err != nil {
			continue
		}
		before := *f
		before.CustomResourceDefinition = extensions.WithoutSchemas(f.CustomResourceDefinition)
		l.decide(f, &before, def)
	}
}

// forget removes the resource of a definition that is gone. Then it decides about the definitions
// that have been waiting for a name of this definition.
func (l *loop) forget(ctx context.Context, name string) {
	l.unread.remove(name)
	f := l.byName[name]
	if f == nil {
		return
	}
	delete(l.byName, name)
	l.removeResource(f)
	l.decideWaiting(ctx, f.Spec.Group)
}

// decode reads a definition without its schemas.
func (l *loop) decode(ctx context.Context, obj request.Encoded) (*apiextensionsv1.CustomResourceDefinition, error) {
	outline, err := l.store.Decode(ctx, obj)
	if err != nil {
		return nil, err
	}
	return outline.(*extensions.Outline).Definition()
}
