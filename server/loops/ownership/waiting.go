package ownership

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/coracle-project/coracle/server/controller"
)

// Removals is a feed of the namespaces in which objects are removed from the store. It belongs to
// one goroutine.
type Removals interface {
	// Next waits for removals and returns the namespaces of all removals since the last call. An
	// error says that some removals were missed, or that ctx has ended; no call may follow.
	Next(ctx context.Context) (namespaces []string, err error)
	// Close ends the feed.
	Close()
}

// waiting is the set of namespaces that are being deleted and may hold objects. While the set is
// not empty, one goroutine, the follower, follows the removals in the store, and wakes a namespace
// when one of its objects was removed. While the set is empty there is no follower, because a
// follower causes work at each removal in the store.
type waiting struct {
	open func(ctx context.Context) (Removals, error) // begins a feed
	wake func(namespace string)                      // queues a namespace

	followers sync.WaitGroup // counts the follower, and the goroutine of followRemote
	mu        struct {
		sync.Mutex
		names     map[string]bool // the set; each value is true
		following bool            // the follower runs, or is about to start
	}
}

// removalsPause is the pause between two calls of Next: a namespace that loses many objects at once
// is woken for all of them together.
const removalsPause = 20 * time.Millisecond

// add puts a namespace into the set: the namespace is woken when one of its objects is removed
// after the call. If no follower runs, add starts one, which ends with ctx at the latest.
func (w *waiting) add(ctx context.Context, namespace string) error {
	if w.join(namespace, false) {
		return nil
	}
	removals, err := w.open(ctx)
	if err != nil {
		return err
	}
	if w.join(namespace, true) { // another worker has started a follower meanwhile
		removals.Close()
		return nil
	}
	w.followers.Go(func() { w.follow(ctx, removals) })
	return nil
}

// join puts a namespace into the set and reports whether a follower ran before the call. If follow
// is true and no follower ran, join notes that one runs, and the caller must start it.
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

// remove takes a namespace out of the set. The follower ends by itself if the set is empty.
func (w *waiting) remove(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.mu.names, namespace)
}

// follow is the follower. It wakes namespaces until the set is empty. If it has missed removals, it
// wakes all namespaces of the set and ends: reconcile then calls add for each of them, which starts
// another follower.
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
		if !controller.Pause(ctx, removalsPause) {
			return
		}
	}
}

// wakeAll wakes all namespaces of the set.
func (w *waiting) wakeAll() {
	w.mu.Lock()
	all := slices.Collect(maps.Keys(w.mu.names))
	w.mu.Unlock()
	for _, namespace := range all {
		w.wake(namespace)
	}
}

// awaited returns the namespaces of gone that are in the set. If all is true, it returns the whole
// set. If more is false, awaited has noted that no follower runs, and the follower must end.
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
