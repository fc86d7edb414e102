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

// waiting is the set of namespaces that are being deleted and may hold objects. While it is not
// empty, one goroutine follows the removals in the store, and wakes a namespace when an object of
// it was removed. While it is empty, nothing follows it, which would be work at each removal.
type waiting struct {
	open func(ctx context.Context) (Removals, error) // begins a feed
	wake func(namespace string)                      // queues a namespace

	followers sync.WaitGroup // of followers, and of followRemote
	mu        struct {
		sync.Mutex
		names     map[string]bool // never false
		following bool            // a follower runs, or is about to
	}
}

// removalsPause is the pause between two calls of Next: a namespace that loses many objects at once
// is woken for all of them together.
const removalsPause = 20 * time.Millisecond

// add puts a namespace into the set: it is woken when an object of it is removed after the call. If
// no follower runs, add starts one, which ends with ctx.
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

// join puts a namespace into the set and reports whether a follower ran before the call. With
// follow, and if none ran, the caller must start one.
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

// follow wakes namespaces until the set is empty. If it has missed removals it wakes all namespaces
// of the set and ends: each of them calls add again, which starts another follower.
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

// awaited returns those of the namespaces gone that are in the set, or the whole set with all. If
// more is false, the follower must end: awaited has noted that none runs.
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
