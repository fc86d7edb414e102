package cache

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/coracle-project/coracle/storage"
)

// Tap shows everything under the cache's prefix, whatever resource it belongs to, and has none loaded: first what there
// is (Entries), then what changes (Next). Together they miss nothing and repeat nothing. It is fed by the watch that feeds
// the resources, which hands events over and never waits for their reader: a Tap whose reader falls too far behind loses
// its place and says so.
//
// It belongs to one goroutine. Close it.
type Tap struct {
	c     *Cache
	from  storage.Revision // every later event is handed over
	base  storage.Revision // of Entries: what has happened up to here is not shown again
	taken []storage.Event  // what Next has returned; its memory is used again
	ready chan struct{}    // capacity 1: there is something to take

	mu struct {
		sync.Mutex
		events []storage.Event
		held   int // bytes of their keys and values
		err    error
	}
}

// Tap opens a Tap. Errors: those of opening the watch on the store.
func (c *Cache) Tap(ctx context.Context) (*Tap, error) {
	if err := c.start(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closed {
		return nil, closed("watch", c.cfg.Prefix)
	}
	t := &Tap{c: c, from: c.mu.head, ready: make(chan struct{}, 1)}
	c.mu.taps = append(slices.Clip(c.mu.taps), t)
	return t, nil
}

// Close ends the Tap.
func (t *Tap) Close() {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.c.mu.taps = slices.DeleteFunc(slices.Clone(t.c.mu.taps), func(other *Tap) bool { return other == t })
}

// Entries yields all entries of one revision in the order of their keys. It reads them page by page and keeps none. What
// happens after that revision is what Next goes on with. An error is the last thing that it yields; after Compacted, which says
// that it took too long, another Tap may succeed.
func (t *Tap) Entries(ctx context.Context) iter.Seq2[storage.Entry, error] {
	return func(yield func(storage.Entry, error) bool) {
		req := storage.RangeRequest{Prefix: t.c.cfg.Prefix, Limit: firstChunk, NoCount: true}
		for more := true; more; {
			res, err := t.c.readSince(ctx, req, t.from) // a replica may lag behind the watch
			if err != nil {
				yield(storage.Entry{}, err)
				return
			}
			t.base, req.Rev = res.Rev, res.Rev
			for _, e := range res.Entries {
				if !yield(e, nil) {
					return
				}
			}
			if more = res.More && len(res.Entries) > 0; more {
				req.After = res.Entries[len(res.Entries)-1].Key
				req.Limit = nextChunk(req.Limit, res.Entries)
			}
		}
	}
}

// Next waits for changes and returns all that there are so far, in order; they are the caller's until the next call.
// Errors: Compacted (the Tap has lost its place: another one has to begin anew), Closed, or that of ctx.
func (t *Tap) Next(ctx context.Context) ([]storage.Event, error) {
	for {
		select {
		case <-t.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		events, err := t.take()
		if err != nil {
			t.wake() // for the next call
			return nil, err
		}
		old := 0
		for old < len(events) && events[old].Rev <= t.base {
			old++
		}
		if events = events[old:]; len(events) > 0 {
			return events, nil
		}
	}
}

// maxTaken is how many events there is memory for that is used again.
const maxTaken = 1024

// take takes what has been handed over, and gives the memory of what was taken before for what comes next.
func (t *Tap) take() ([]storage.Event, error) {
	clear(t.taken)
	if cap(t.taken) > maxTaken {
		t.taken = nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken, t.mu.events, t.mu.held = t.mu.events, t.taken[:0], 0
	return t.taken, t.mu.err
}

// offer hands events over. It is called by Cache.run only.
func (t *Tap) offer(events []storage.Event) {
	held := 0
	for i := range events {
		held += 128 + len(events[i].Key) + len(events[i].Value)
	}
	t.mu.Lock()
	if t.mu.held += held; t.mu.held > maxPending {
		t.loseLocked(&storage.Error{Op: "watch", Key: t.c.cfg.Prefix, Kind: storage.Compacted})
	}
	if t.mu.err == nil {
		t.mu.events = append(t.mu.events, events...)
	}
	t.mu.Unlock()
	t.wake()
}

// lose ends the Tap with an error: it misses changes, or there will be none.
func (t *Tap) lose(err error) {
	t.mu.Lock()
	t.loseLocked(err)
	t.mu.Unlock()
	t.wake()
}

func (t *Tap) loseLocked(err error) { t.mu.events, t.mu.err = nil, err }

func (t *Tap) wake() {
	select {
	case t.ready <- struct{}{}:
	default:
	}
}
