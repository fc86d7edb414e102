package controller

import (
	"context"
	"iter"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

// Name is what a controller is told about an object.
type Name struct{ Namespace, Name string }

// Source yields the name of every object that a controller looks after, and again when it changes or is gone, until ctx
// ends. An error, which comes with no name, says what keeps it from that for now.
type Source func(ctx context.Context) iter.Seq2[Name, error]

// Watch is the Source of a resource: the objects that the selectors in opts match.
func Watch[T meta.Object](r client.Resource[T], opts meta.ListOptions) Source {
	return func(ctx context.Context) iter.Seq2[Name, error] {
		return func(yield func(Name, error) bool) {
			for ev, err := range r.Follow(ctx, opts) {
				var name Name
				if err == nil {
					m := ev.Object.GetObjectMeta()
					name = Name{m.Namespace, m.Name}
				}
				if !yield(name, err) {
					return
				}
			}
		}
	}
}

// Reconcile brings one object to where it should be. again asks for another call after that time; an error for one
// after a growing pause.
type Reconcile func(ctx context.Context, name Name) (again time.Duration, err error)

// Pauses between tries of an object that fails.
const (
	firstPause = 50 * time.Millisecond
	maxPause   = time.Minute
)

// loop calls a Reconcile for every object of a source, and again when it changes. An object is worked on by one
// goroutine at a time, objects one after the other.
type loop struct {
	source    Source
	reconcile Reconcile
	log       *zap.Logger

	wake chan struct{} // has a token when due is worth looking at
	mu   struct {
		sync.Mutex
		due   map[Name]time.Time // what to do, and from when
		tries map[Name]int       // failures in a row
	}
}

func newLoop(source Source, reconcile Reconcile, log *zap.Logger) *loop {
	l := &loop{source: source, reconcile: reconcile, log: log, wake: make(chan struct{}, 1)}
	l.mu.due, l.mu.tries = map[Name]time.Time{}, map[Name]int{}
	return l
}

// run works until ctx ends.
func (l *loop) run(ctx context.Context) {
	var watching sync.WaitGroup
	watching.Go(func() { l.watch(ctx) })
	for ctx.Err() == nil {
		name, wait, ok := l.next()
		if ok {
			l.work(ctx, name)
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-l.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
	watching.Wait()
}

// watch adds the name of every object that is there or changes.
func (l *loop) watch(ctx context.Context) {
	for name, err := range l.source(ctx) {
		if err != nil {
			l.log.Warn("watch failed", zap.Error(err))
			continue
		}
		l.add(name, 0)
	}
}

// add makes name due after a pause, unless it is due before that.
func (l *loop) add(name Name, pause time.Duration) {
	l.mu.Lock()
	at := time.Now().Add(pause)
	if due, ok := l.mu.due[name]; !ok || at.Before(due) {
		l.mu.due[name] = at
	}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// next takes a name that is due, or says how long to wait for one.
func (l *loop) next() (name Name, wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, wait := time.Now(), maxPause
	for n, at := range l.mu.due {
		if d := at.Sub(now); d <= 0 {
			delete(l.mu.due, n)
			return n, 0, true
		} else if d < wait {
			wait = d
		}
	}
	return Name{}, wait, false
}

// work reconciles one object and decides when to look at it again.
func (l *loop) work(ctx context.Context, name Name) {
	again, err := l.reconcile(ctx, name)
	l.mu.Lock()
	tries := l.mu.tries[name]
	if err == nil {
		delete(l.mu.tries, name)
	} else {
		l.mu.tries[name] = tries + 1
	}
	l.mu.Unlock()
	switch {
	case err != nil && ctx.Err() == nil:
		l.log.Warn("reconcile failed", zap.String("namespace", name.Namespace), zap.String("name", name.Name), zap.Error(err))
		l.add(name, min(firstPause<<min(tries, 20), maxPause))
	case again > 0:
		l.add(name, again)
	}
}
