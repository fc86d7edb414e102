package controller

import (
	"cmp"
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

// Name is what a controller is told about an object.
type Name = follow.Name

// Source calls add with the name of every object that a controller looks after, and again when it
// changes or is gone, until ctx ends. failed is told what keeps it from that for now. Neither takes
// its time.
type Source func(ctx context.Context, add func(Name), failed func(error))

// Watch is the Source of a resource: the objects that the selectors in opts match. Nothing can be
// done about an object that cannot be read: its name is added when it can be read again, or is
// gone.
func Watch[T meta.Object](r client.Resource[T], opts meta.ListOptions) Source {
	return func(ctx context.Context, add func(Name), failed func(error)) {
		for b := range follow.Changes(ctx, r.Source(opts), follow.Options{Failed: failed}) {
			for i := range b.Changes {
				if b.Changes[i].Unread == nil {
					add(b.Changes[i].Name)
				}
			}
		}
	}
}

// WatchOne is the Source of one name: that of an object which has to be there. It is also told of
// where there is no such object to begin with.
func WatchOne[T meta.Object](r client.Resource[T], name Name) Source {
	return func(ctx context.Context, add func(Name), failed func(error)) {
		one := r.In(name.Namespace).Source(meta.ListOptions{FieldSelector: "metadata.name=" + name.Name})
		begun := false
		for b := range follow.Changes(ctx, one, follow.Options{Failed: failed}) {
			if len(b.Changes) > 0 || !begun && b.InStep {
				add(name)
			}
			begun = begun || b.InStep
		}
	}
}

// Join returns a Source that adds the names of all sources.
func Join(sources ...Source) Source {
	return func(ctx context.Context, add func(Name), failed func(error)) {
		var wg sync.WaitGroup
		for _, s := range sources {
			wg.Go(func() { s(ctx, add, failed) })
		}
		wg.Wait()
	}
}

// Syncer is what has to be complete before it is relied upon, such as an Informer.
type Syncer interface {
	// Synced waits until it is. The error is that of ctx.
	Synced(ctx context.Context) error
}

// Reconcile brings one object to where it should be. again asks for another call after that time;
// an error for one after a growing pause.
type Reconcile func(ctx context.Context, name Name) (again time.Duration, err error)

// Loop calls Reconcile for every object of Source, and again when it changes. An object is worked
// on by one worker at a time; whoever has waited longest is next.
type Loop struct {
	Source    Source
	Reconcile Reconcile
	After     []Syncer    // nothing is worked on before these are complete
	Workers   int         // how many objects are worked on at once; 0 is 1
	Log       *zap.Logger // of what fails; nil for none
}

// Run works until ctx ends, and returns when Source and all calls of Reconcile have returned.
func (l Loop) Run(ctx context.Context) {
	q := NewQueue[Name]()
	l.Log = cmp.Or(l.Log, zap.NewNop())
	var workers sync.WaitGroup
	for range max(l.Workers, 1) {
		workers.Go(func() {
			for _, s := range l.After {
				if s.Synced(ctx) != nil {
					return
				}
			}
			Work(ctx, q, l.Reconcile, l.failed)
		})
	}
	l.Source(ctx, q.Add, func(err error) {
		if ctx.Err() == nil {
			l.Log.Warn("watch failed", zap.Error(err))
		}
	})
	workers.Wait()
}

func (l *Loop) failed(name Name, err error) {
	level := zap.WarnLevel
	switch {
	case meta.IsConflict(err): // it is tried again on what somebody else has made of the object
		level = zap.DebugLevel
	case meta.IsUnreadable(err): // the server has named the object, once
		level = zap.DebugLevel
	}
	l.Log.Log(level, "reconcile failed",
		zap.String("namespace", name.Namespace), zap.String("name", name.Name), zap.Error(err))
}

// Work takes what is due, one after the other, and reconciles it, until ctx ends. failed is told of
// errors.
func Work[K comparable](
	ctx context.Context, q *Queue[K],
	reconcile func(context.Context, K) (time.Duration, error),
	failed func(K, error),
) {
	for {
		name, ok := q.Next(ctx)
		if !ok {
			return
		}
		again, err := reconcile(ctx, name)
		if err != nil && ctx.Err() == nil {
			failed(name, err)
		}
		q.Done(name, again, err != nil)
	}
}
