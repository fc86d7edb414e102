package cache

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/coracle-project/coracle/storage"
)

// A Tap is the raw feed of the cache: all keys, undecoded. It reads all entries from the store once
// and then takes the events that Cache.ingest offers. Its users are told of every key, including
// keys of resources that nobody has loaded.

// Tap shows everything under the cache's prefix, whichever resource it belongs to, and loads no
// resource: first all entries (Entries), then all later changes (Next). Together they miss nothing
// and repeat nothing. The watch that feeds the resources feeds the Tap, too, and never waits for
// its reader. A Tap whose reader falls too far behind (maxPending) ends with Compacted.
//
// One goroutine at a time uses a Tap. Close it.
type Tap struct {
	c     *Cache
	from  storage.Revision // every event after it is offered to the Tap
	base  storage.Revision // revision of Entries; Next leaves out events up to it
	taken []storage.Event  // the last result of Next; its memory is used again
	ready chan struct{}    // capacity 1; readable if there may be events or an error

	mu struct {
		sync.Mutex
		events []storage.Event // offered and not taken yet
		held   int             // bytes of events, estimated
		err    error
	}
}

// Tap opens a Tap. It opens the watch on the store if that is not open; the errors are those of
// doing so.
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

// Close removes the Tap from the stream. It does not end a Next under way: the context does.
func (t *Tap) Close() {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.c.mu.taps = slices.DeleteFunc(slices.Clone(t.c.mu.taps), func(other *Tap) bool { return other == t })
}

// Entries yields all entries of one revision in the order of their keys. It reads them page by page
// and keeps none. Next goes on with the changes after that revision. An error is the last thing
// that Entries yields. Compacted says that reading took too long; another Tap may succeed.
func (t *Tap) Entries(ctx context.Context) iter.Seq2[storage.Entry, error] {
	return func(yield func(storage.Entry, error) bool) {
		req := storage.RangeRequest{Prefix: t.c.cfg.Prefix, Limit: firstChunk, NoCount: true}
		for more := true; more; {
			res, err := t.c.readSince(ctx, req, t.from) // a replica may be behind the watch
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

// Next waits for changes and returns all that have come so far, in order. The slice is the caller's
// until the next call. Errors: Compacted (the Tap missed changes: open another one and begin
// again), Closed, or that of ctx.
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

// maxTaken is the largest capacity, in events, of a slice whose memory is used again.
const maxTaken = 1024

// take returns the events offered so far, and leaves the memory of the slice returned before for
// the next events.
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

// offer appends events to those that wait for the reader. Beyond maxPending the Tap ends with
// Compacted. Only Cache.run calls offer.
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

// lose ends the Tap with err, because it misses changes or the cache is closed.
func (t *Tap) lose(err error) {
	t.mu.Lock()
	t.loseLocked(err)
	t.mu.Unlock()
	t.wake()
}

// loseLocked drops the events that wait for the reader and sets the error.
func (t *Tap) loseLocked(err error) { t.mu.events, t.mu.err = nil, err }

// wake makes ready readable.
func (t *Tap) wake() {
	select {
	case t.ready <- struct{}{}:
	default:
	}
}
