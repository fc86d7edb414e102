package ownership

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/coracle-project/coracle/server/controller"
)

// Removals tell where objects go. They belong to one goroutine.
type Removals interface {
	// Next waits for removals and returns the namespaces of all so far. An error says that some
	// have been missed, or that ctx has ended.
	Next(ctx context.Context) (namespaces []string, err error)
	Close()
}

// waiting are the namespaces that wait for what is left in them to go. Somebody follows what goes
// in the store while there are any, and otherwise nobody.
type waiting struct {
	open func(ctx context.Context) (Removals, error)
	wake func(namespace string)

	followers sync.WaitGroup
	mu        struct {
		sync.Mutex
		names     map[string]bool
		following bool
	}
}

// gather is how long removals are gathered before those who wait for them are woken.
const gather = 20 * time.Millisecond

// add has a namespace woken when something in it goes after the call. The follower ends with ctx.
func (w *waiting) add(ctx context.Context, namespace string) error {
	if w.join(namespace, false) {
		return nil
	}
	removals, err := w.open(ctx)
	if err != nil {
		return err
	}
	if w.join(namespace, true) { // another one was faster
		removals.Close()
		return nil
	}
	w.followers.Go(func() { w.follow(ctx, removals) })
	return nil
}

// join adds a namespace and reports whether somebody follows what goes; with follow, the caller
// will.
func (w *waiting) join(namespace string, follow bool) (followed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.names == nil {
		w.mu.names = map[string]bool{}
	}
	w.mu.names[namespace] = true
	followed = w.mu.following
	w.mu.following = followed || follow
	return followed
}

// remove forgets a namespace.
func (w *waiting) remove(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.mu.names, namespace)
}

// follow wakes those who wait, until nobody does. If it misses removals it wakes all of them: they
// will be back.
func (w *waiting) follow(ctx context.Context, removals Removals) {
	defer removals.Close()
	for {
		gone, err := removals.Next(ctx)
		wake, more := w.awaited(gone, err != nil)
		for _, namespace := range wake {
			w.wake(namespace)
		}
		if !more {
			return
		}
		if !controller.Pause(ctx, gather) {
			return
		}
	}
}

// wakeAll wakes all who wait.
func (w *waiting) wakeAll() {
	w.mu.Lock()
	all := slices.Collect(maps.Keys(w.mu.names))
	w.mu.Unlock()
	for _, namespace := range all {
		w.wake(namespace)
	}
}

// awaited returns those of the namespaces that wait, or all that do. more is false if nobody
// follows from now on.
func (w *waiting) awaited(gone []string, all bool) (list []string, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if all {
		list = slices.Collect(maps.Keys(w.mu.names))
	}
	for _, namespace := range gone {
		if w.mu.names[namespace] {
			list = append(list, namespace)
		}
	}
	w.mu.following = !all && len(w.mu.names) > 0
	return list, w.mu.following
}
