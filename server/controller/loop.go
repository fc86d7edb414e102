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

// Name is the namespace and name of an object: all that a Source tells of it. The namespace is ""
// if the object is cluster-scoped.
type Name = follow.Name

// Source calls add with the name of every object that a loop works on, and again when the object
// has changed or is gone. After an error it calls failed with the error and tries again. It returns
// when ctx has ended. add and failed return at once.
type Source func(ctx context.Context, add func(Name), failed func(error))

// Watch returns the Source of the objects of a resource that the selectors in opts match. It does
// not add the name of an object that cannot be read, because a loop can do nothing for it. It adds
// the name when the object can be read again or is gone.
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

// WatchOne returns the Source of one object that a loop keeps in existence. It adds the name at the
// start, even if there is no such object, and at each change.
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

// Join returns a Source that adds the names of all sources. It returns when all of them have.
func Join(sources ...Source) Source {
	return func(ctx context.Context, add func(Name), failed func(error)) {
		var wg sync.WaitGroup
		for _, s := range sources {
			wg.Go(func() { s(ctx, add, failed) })
		}
		wg.Wait()
	}
}

// Syncer is a view of the server's objects that is incomplete at first, such as an Informer.
type Syncer interface {
	// Synced waits until the view has all objects that existed at its start. The error is that of
	// ctx.
	Synced(ctx context.Context) error
}

// Reconcile brings one object to the state in which it should be. It is also called for an object
// that is gone. If again is above zero, the Loop calls Reconcile for the object once more after
// that time. If Reconcile fails, the Loop calls it again after a pause, which doubles with each
// failure in a row up to MaxPause.
type Reconcile func(ctx context.Context, name Name) (again time.Duration, err error)

// Loop calls Reconcile for every object of Source, and again when the object changes. One worker at
// a time works on an object. The object that has been due longest is next.
type Loop struct {
	Name      string      // of its queue, for metrics: see Queues; "" counts nothing
	Source    Source      // tells which objects to work on
	Reconcile Reconcile   // works on one object; up to Workers calls run at the same time
	After     []Syncer    // Reconcile is not called before all of these are synced
	Workers   int         // the number of objects that are worked on at once; 0 means 1
	Log       *zap.Logger // logs failures; nil logs nothing
}

// Run works until ctx ends, and returns when Source and all calls of Reconcile have returned.
func (l Loop) Run(ctx context.Context) {
	q := NewQueue[Name]()
	defer Measure(ctx, l.Name, q)()
	l.Log = cmp.Or(l.Log, zap.NewNop())
	var workers sync.WaitGroup
	for range max(l.Workers, 1) {
		workers.Go(func() {
			for _, s := range l.After {
				if s.Synced(ctx) != nil {
					return
				}
			}
			RunWorker(ctx, q, l.Reconcile, l.failed)
		})
	}
	l.Source(ctx, q.Add, func(err error) {
		if ctx.Err() == nil {
			l.Log.Warn("watch failed", zap.Error(err))
		}
	})
	workers.Wait()
}

// failed logs an error of Reconcile. The level is debug for a conflict, which is expected, and for
// an unreadable object, which the server has logged; otherwise it is warn.
func (l *Loop) failed(name Name, err error) {
	level := zap.WarnLevel
	switch {
	case meta.IsConflict(err): // the next try reads what another client has written
		level = zap.DebugLevel
	case meta.IsUnreadable(err):
		level = zap.DebugLevel
	}
	l.Log.Log(level, "reconcile failed",
		zap.String("namespace", name.Namespace), zap.String("name", name.Name), zap.Error(err))
}

// RunWorker is one worker of a Queue. Until ctx ends, it takes a name that is due, calls reconcile
// with the name, and gives the name back. It calls failed with each error of reconcile, except
// after the end of ctx. Loop.Run runs the workers of a Loop. A controller whose names are not of
// type Name calls RunWorker itself.
func RunWorker[K comparable](
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
