// Package cache holds the present state and the recent changes of the resources of a store, and
// offers the typed operations on them: get, list, watch, and writes that retry.
//
// A resource is a key prefix with a decoder. Its state is one immutable value behind one atomic
// pointer: an ordered copy-on-write tree of objects, and the window, the changes that led there.
// Every batch of changes publishes a new state. Readers load the pointer and need no lock: readers
// never wait for the stream of changes, and the stream never waits for readers.
//
// All resources are fed by one watch on the store, the stream. Seen is the revision up to which the
// stream has been applied; it is one number for all resources. It advances only after every
// resource has published the batch.
//
// The cache keeps entries in the form and version in which they are stored. The first reader of
// another form makes it and leaves it beside the entry. Ingest converts nothing, so the stream
// waits for nothing but the store.
//
// The first use of a resource loads it. During the load the store answers reads of single objects,
// pages and writes; everything else waits for the load.
//
// Words: a state is all objects of a resource at one moment. The window is the recent changes of a
// state. An epoch is the time from a load until the resource misses changes or is closed. A group
// is the watchers that the same changes concern, and a cell is one wait that the group shares. A
// stretch is a part of the store's history from before the window. A snapshot is a past state kept
// for the next pages of a list. A form is an object in another version or encoding. The shelf
// counts the forms. A Position is for a reader that derives something from all objects, and marks
// how far the reader has come. A Tap shows all keys of the prefix.
//
// A worked example of the window. Pods were loaded at revision 100, with the objects a and b. The
// first state has a and b in its tree, an empty window, and the floor 100: every change after the
// floor is in the window. Then three batches come; revision 102 is that of a secret, so it moves
// seen and leaves pods as they are:
//
//	revision  change         number  objects in the tree     window   floor
//	100       (load)                 a at 90, b at 95                 100
//	101       c is created   1       a at 90, b at 95, c     1        100
//	103       a is updated   2       a at 103, b at 95, c    1 2      100
//	104       b is deleted   3       a at 103, c             1 2 3    100
//
// A list of the present state walks the tree. A list at exactly 103 takes the tree and undoes
// change 3, which holds the previous b. A watch from 101 finds the first change after 101, number
// 2, by binary search. It gets Modified for a, and Deleted for b with the last state of b at
// revision 104. Then it sleeps, and holds nothing but the number 4 of the change to come.
//
// A watch of b alone that began at 100 slept through 101 and 103. The batch of 104 concerns its
// group: publish writes into the group's cell that the changes from number 3 up to, and without, 4
// are to be looked at, and wakes the group. So the watch looks at change 3 and at no other,
// although its own position is still 1.
//
// Now let Config.WindowEvents be 2. Then the state of 104 drops change 1: its window is 2 3, and
// its floor is 101. A watch of all pods that has not yet looked at change 1 ends with Compacted,
// and its client lists again. The watch of b goes on, because its cell tells that change 1 does not
// concern it. A new watch from 101 is served by the window as before. A new watch from 100 is not:
// it first reads the stretch from 100 to 101 from the store's history.
//
// Laws, tests in laws_test.go:
//   - A consistent read sees every write acknowledged before it began; Any sees a state the store
//     has had; NotOlderThan waits for its revision; Exact sees exactly its revision or fails with
//     Compacted.
//   - A list and a watch from its revision miss nothing and repeat nothing. All pages of a list
//     show one revision.
//   - A watch is ordered, complete, without duplicates, and resumable from any event or bookmark.
//     Every later read and write sees what a watch has shown.
//   - A deletion event shows the last state with the revision of the deletion. So does the event of
//     an object that leaves a selector.
//   - The cache equals the store at its revision (Resource.Verify).
//   - A Tap shows every entry and every later change under the prefix, of loaded resources and
//     others, or says that it has lost its place.
//   - A slow watcher holds a position and nothing else. Close ends every watch, wait and goroutine.
//
// Goroutines: one reads the watch, one trims idle windows, one or two run for each load under way,
// one runs for each resource whose history is being read, and one asks for revisions while readers
// wait for one. Close waits for all. Locks, in this order: Cache.mu, Resource.mu, epoch.mu, then
// one of shelf.mu, history.mu and Tap.mu. No other lock is taken under writes.mu, question.mu and
// clock.mu. None is held across I/O, decoding or a callback.
//
// The registry makes a Resource for each resource that is stored and calls its operations for the
// requests of clients. server/backing makes the Caches and reads their Taps, from which the garbage
// collector learns of all objects.
//
// Not here: what the bytes mean (DecodeFunc), API errors, resourceVersion strings (registry). Read:
// config.go, cache.go, object.go, form.go, resource.go, window.go, group.go, revision.go, get.go,
// list.go, cold.go, watch.go, history.go, past.go, write.go, own.go, tap.go, position.go.
package cache

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// Cache is one watch on a store's prefix and the per-resource caches fed by it.
type Cache struct {
	store  storage.Store
	cfg    Config
	ctx    context.Context // ended by Close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	seen     clock         // how far the watch has been applied to all resources
	question question      // asks the store for its revision on behalf of all reads
	unlocked atomic.Bool   // RereadUnreadable was called; never reset
	acked    atomic.Uint64 // the highest revision of an own write
	inbox    []*Resource   // resources that the batch in hand concerns; owned by run

	mu struct {
		sync.Mutex
		closed    bool
		started   bool
		starting  *flight                // the call that opens the watch; nil if none is under way
		cursor    storage.Cursor         // of the watch; nil before the start
		head      storage.Revision       // revision of the batch in hand, or of the last batch
		routes    map[string][]*Resource // by prefix; replaced, never changed
		taps      []*Tap                 // replaced, never changed
		resources map[*Resource]struct{} // all resources in routes
	}
}

// New returns a cache of store. It reads nothing until a resource is used. Close it before the
// store.
func New(store storage.Store, cfg Config) *Cache {
	cfg.fill()
	c := &Cache{store: store, cfg: cfg}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.mu.routes = map[string][]*Resource{}
	c.mu.resources = map[*Resource]struct{}{}
	c.seen.askProgress = func() {
		c.mu.Lock()
		cursor := c.mu.cursor
		c.mu.Unlock()
		if cursor != nil {
			cursor.Progress()
		}
	}
	return c
}

// Store returns the store behind the cache.
func (c *Cache) Store() storage.Store { return c.store }

// RereadUnreadable tells the cache that the store may be able to read entries that it could not
// read before, because it has another decryption key. From then on a Get or List that meets an
// unreadable object reads it from the store again.
func (c *Cache) RereadUnreadable() { c.unlocked.Store(true) }

// Seen returns the revision up to which all loaded resources are complete.
func (c *Cache) Seen() storage.Revision { return c.seen.now() }

// acknowledged raises acked to rev, the revision that the store gave to a write of this server.
func (c *Cache) acknowledged(rev storage.Revision) {
	for old := c.acked.Load(); uint64(rev) > old && !c.acked.CompareAndSwap(old, uint64(rev)); {
		old = c.acked.Load()
	}
}

// newestShown returns the highest revision that the store has shown here, by the watch or by the
// answer to a write.
func (c *Cache) newestShown() storage.Revision {
	return max(c.seen.now(), storage.Revision(c.acked.Load()))
}

// Close ends all watches and waits, and waits for the goroutines. The store stays open. Close may
// be called more than once.
func (c *Cache) Close() {
	c.mu.Lock()
	c.mu.closed = true
	cursor, resources, taps := c.mu.cursor, slices.Collect(maps.Keys(c.mu.resources)), c.mu.taps
	c.mu.Unlock()
	c.cancel()
	if cursor != nil {
		cursor.Close()
	}
	c.wg.Wait()
	for _, r := range resources {
		r.end(closed("watch", r.cfg.Prefix))
	}
	for _, t := range taps {
		t.lose(closed("watch", c.cfg.Prefix))
	}
	c.seen.close()
}

// flight is one run of a function that several callers wait for.
type flight struct {
	done chan struct{}
	err  error // set before done is closed
}

// share runs fn in a goroutine and waits for it. If slot holds a run that has not ended, share
// waits for that run instead. The end of ctx ends the wait and not the run, because others may wait
// for it. c.mu guards slot.
func (c *Cache) share(ctx context.Context, slot **flight, fn func(context.Context) error) error {
	c.mu.Lock()
	if c.mu.closed {
		c.mu.Unlock()
		return closed("read", c.cfg.Prefix)
	}
	f := *slot
	if f == nil {
		f = &flight{done: make(chan struct{})}
		*slot = f
		c.wg.Go(func() {
			err := fn(c.ctx)
			if err != nil && c.ctx.Err() != nil {
				err = closed("read", c.cfg.Prefix)
			}
			c.mu.Lock()
			*slot, f.err = nil, err
			c.mu.Unlock()
			close(f.done)
		})
	}
	c.mu.Unlock()
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start opens the watch if it is not open. Concurrent callers share one attempt; a failed attempt
// is made again by the next caller.
func (c *Cache) start(ctx context.Context) error {
	c.mu.Lock()
	started := c.mu.started
	c.mu.Unlock()
	if started {
		return nil
	}
	return c.share(ctx, &c.mu.starting, func(ctx context.Context) error {
		c.mu.Lock()
		started := c.mu.started
		c.mu.Unlock()
		if started {
			return nil
		}
		cursor, rev, err := c.open(ctx, 0)
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.mu.started = true
		c.mu.head = rev
		c.mu.Unlock()
		c.seen.advance(rev)
		c.wg.Go(func() { c.run(cursor, rev) })
		c.wg.Go(c.janitor)
		return nil
	})
}

// open starts a watch on the store after the revision after, or after the store's current revision
// if after is 0. It returns the cursor and the revision after which it begins. If the cache was
// closed meanwhile, the cursor is closed, too.
func (c *Cache) open(ctx context.Context, after storage.Revision) (storage.Cursor, storage.Revision, error) {
	if after == 0 {
		var err error
		if after, err = c.store.Revision(ctx); err != nil {
			return nil, 0, err
		}
	}
	cursor, err := c.store.Watch(ctx, storage.WatchRequest{Prefix: c.cfg.Prefix, After: after})
	if err != nil {
		return nil, 0, err
	}
	c.mu.Lock()
	c.mu.cursor = cursor
	isClosed := c.mu.closed
	c.mu.Unlock()
	if isClosed {
		cursor.Close()
	}
	return cursor, after, nil
}

// run applies the watch until the cache is closed. If the watch fails, run opens another one after
// the last revision that was applied. While the watch is open, nothing else calls Resource.ingest,
// Tap.offer and clock.advance.
func (c *Cache) run(cursor storage.Cursor, rev storage.Revision) {
	var wait time.Duration // before the next try to open a watch
	for {
		batch, err := cursor.Next(c.ctx)
		if err == nil {
			c.ingest(batch)
			rev, wait = max(rev, batch.Rev), 0
			continue
		}
		cursor.Close()
		if cursor, rev = c.reopen(rev, err, &wait); cursor == nil {
			return
		}
	}
}

// reopen returns a watch after rev. If the store has compacted rev, reopen ends all resources and
// Taps, because they miss changes, and returns a watch after the current revision. It returns a nil
// cursor if the cache has been closed.
//
// wait is the pause before the next try. It doubles with each try, up to a second, and is kept
// between calls, because a watch that opens may still fail each time. run sets it back to 0 after a
// batch.
func (c *Cache) reopen(rev storage.Revision, cause error, wait *time.Duration) (storage.Cursor, storage.Revision) {
	after := rev
	for {
		if storage.Sleep(c.ctx, *wait) != nil {
			return nil, 0
		}
		*wait = min(max(2**wait, time.Millisecond), time.Second)
		if f := c.cfg.Hooks.WatchFailed; f != nil {
			f(cause)
		}
		if errors.Is(cause, storage.Compacted) {
			after = 0
		}
		cursor, at, err := c.open(c.ctx, after)
		if err == nil {
			if after == 0 {
				c.restart(at)
			}
			return cursor, at
		}
		cause = err
	}
}

// restart ends all resources and Taps with Compacted and sets the position of the stream to rev.
// The next use of a resource loads it again.
func (c *Cache) restart(rev storage.Revision) {
	c.mu.Lock()
	c.mu.head = rev
	resources, taps := slices.Collect(maps.Keys(c.mu.resources)), c.mu.taps
	c.mu.Unlock()
	for _, r := range resources {
		r.end(&storage.Error{Op: "watch", Key: r.cfg.Prefix, Kind: storage.Compacted, Rev: rev})
	}
	for _, t := range taps {
		t.lose(&storage.Error{Op: "watch", Key: c.cfg.Prefix, Kind: storage.Compacted, Rev: rev})
	}
	c.seen.advance(rev)
}

// ingest hands the events of a batch to their resources, then advances seen, then hands the events
// to the Taps. The order keeps the law of seen: when seen is at a revision, every resource has
// published that revision.
//
// An event belongs to each resource whose prefix is one of the key's parents. For
// /registry/pods/ns/name ingest looks up the routes of /registry/pods/ and /registry/pods/ns/.
func (c *Cache) ingest(batch storage.Batch) {
	c.mu.Lock()
	c.mu.head = max(c.mu.head, batch.Rev)
	routes, taps := c.mu.routes, c.mu.taps // replaced, never changed
	c.mu.Unlock()
	for i := range batch.Events {
		key := batch.Events[i].Key
		for end := len(c.cfg.Prefix); ; end++ {
			n := strings.IndexByte(key[end:], '/')
			if n < 0 {
				break
			}
			end += n
			for _, r := range routes[key[:end+1]] {
				if len(r.inbox) == 0 {
					c.inbox = append(c.inbox, r)
				}
				r.inbox = append(r.inbox, batch.Events[i])
			}
		}
	}
	for _, r := range c.inbox {
		r.ingest(r.inbox)
		clear(r.inbox)
		r.inbox = r.inbox[:0]
	}
	clear(c.inbox)
	c.inbox = c.inbox[:0]
	c.seen.advance(batch.Rev)
	if len(batch.Events) > 0 {
		for _, t := range taps {
			t.offer(batch.Events)
		}
	}
}

// join adds r to the stream and sets its phase to loading. The stream hands r every change after
// the returned revision. It returns false if r is closed.
func (c *Cache) join(r *Resource) (storage.Revision, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.phase == gone {
		return 0, false
	}
	if _, ok := c.mu.resources[r]; !ok {
		c.mu.resources[r] = struct{}{}
		routes := maps.Clone(c.mu.routes)
		routes[r.cfg.Prefix] = append(slices.Clip(routes[r.cfg.Prefix]), r)
		c.mu.routes = routes
	}
	r.mu.phase, r.mu.torn, r.mu.pending, r.mu.held = loading, false, nil, 0
	return c.mu.head, true
}

// leave removes r from the stream. It does nothing if r has not joined.
func (c *Cache) leave(r *Resource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.mu.resources[r]; !ok {
		return
	}
	delete(c.mu.resources, r)
	routes := maps.Clone(c.mu.routes)
	rest := slices.DeleteFunc(slices.Clone(routes[r.cfg.Prefix]), func(other *Resource) bool { return other == r })
	if routes[r.cfg.Prefix] = rest; len(rest) == 0 {
		delete(routes, r.cfg.Prefix)
	}
	c.mu.routes = routes
}

// janitor calls trim on all resources, four times per WindowAge, until the cache is closed. A busy
// resource shrinks its own window with each batch; the janitor is for quiet ones.
func (c *Cache) janitor() {
	tick := time.NewTicker(max(c.cfg.WindowAge/4, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case now := <-tick.C:
			c.mu.Lock()
			resources := slices.Collect(maps.Keys(c.mu.resources))
			c.mu.Unlock()
			for _, r := range resources {
				r.trim(now)
			}
		}
	}
}

// spawn runs f in a goroutine that Close waits for. It returns false if the cache is closed.
func (c *Cache) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closed {
		return false
	}
	c.wg.Go(f)
	return true
}

// closed returns the error of an operation on a closed cache or resource.
func closed(op, key string) error { return &storage.Error{Op: op, Key: key, Kind: storage.Closed} }
