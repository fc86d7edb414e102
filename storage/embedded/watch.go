package embedded

import (
	"context"
	"strings"
	"sync"

	"go.etcd.io/etcd/server/v3/storage/mvcc"

	"github.com/coracle-project/coracle/storage"
)

// Cursors. The feed offers changes to a cursor as they are applied, and the cursor queues them up
// to a bound. Changes from before it was opened, and changes beyond the bound, are read from the
// database (past.go), up to the revision after which the feed's offers are queued again.

// These bound the queue of a cursor: events, and bytes of their values.
const (
	maxQueued      = 16384
	maxQueuedBytes = 16 << 20
)

// cursor is a position in the history of the store. It implements storage.Cursor.
type cursor struct {
	store *Store
	req   storage.WatchRequest

	// Owned by Next.

	pos   storage.Revision // every change up to here has been yielded
	until storage.Revision // if more than pos: changes up to here are read from the database; later ones are queued

	// Guarded by the feed's mutex.

	queue []storage.Event  // changes offered and not taken
	bytes int              // bytes of the values in queue
	lost  bool             // the queue was full and has been dropped
	from  storage.Revision // if lost: the dropped changes are those after it

	ready chan struct{} // capacity 1; there is something to take
	kick  chan struct{} // capacity 1; Progress was called

	closing chan struct{}
	once    sync.Once
}

// Watch implements storage.Store. It starts no goroutine.
func (s *Store) Watch(_ context.Context, req storage.WatchRequest) (storage.Cursor, error) {
	if err := s.enter("watch", req.Prefix); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	first := s.first()
	f := s.member.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.closed {
		return nil, closedError("watch", req.Prefix)
	}
	if req.After == 0 {
		req.After = storage.Revision(f.seen.Load()) // readers may be ahead of the feed
	}
	c := &cursor{store: s, req: req, pos: req.After, until: f.mu.rev, ready: make(chan struct{}, 1),
		kick: make(chan struct{}, 1), closing: make(chan struct{})}
	if req.After+1 < first { // readPast notices later compactions
		return nil, c.compacted(first)
	}
	f.mu.cursors[c] = struct{}{}
	return c, nil
}

// compacted returns the error of a position that has been compacted. first is the oldest readable
// revision, 0 if unknown.
func (c *cursor) compacted(first storage.Revision) error {
	return &storage.Error{Op: "watch", Key: c.req.Prefix, Kind: storage.Compacted, Rev: first}
}

// offerLocked queues the events that the cursor yields. If the queue becomes too long it drops the
// queue, and the cursor reads the database instead.
func (c *cursor) offerLocked(events []storage.Event) {
	if c.lost {
		return
	}
	before := len(c.queue)
	for i := range events {
		if ev := &events[i]; strings.HasPrefix(ev.Key, c.req.Prefix) && ev.Rev > c.req.After {
			c.queue = append(c.queue, *ev)
			c.bytes += len(ev.Value)
		}
	}
	if len(c.queue) == before {
		return
	}
	if len(c.queue) > maxQueued || c.bytes > maxQueuedBytes {
		c.lost, c.from = true, c.queue[0].Rev-1
		c.queue, c.bytes = nil, 0
	}
	signal(c.ready)
}

// take returns the queued changes. If the queue was dropped, it sets until, so that the dropped
// changes are read from the database.
func (c *cursor) take() []storage.Event {
	f := c.store.member.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	events := c.queue
	c.queue, c.bytes = nil, 0
	if c.until = f.mu.rev; c.lost {
		c.lost, c.pos = false, max(c.pos, c.from)
	} else {
		c.pos = max(c.pos, c.until)
	}
	return events
}

// Next implements storage.Cursor.
func (c *cursor) Next(ctx context.Context) (storage.Batch, error) {
	report := false
	for {
		select {
		case <-c.closing:
			return storage.Batch{}, closedError("watch", c.req.Prefix)
		default:
		}
		var events []storage.Event
		var err error
		past := c.pos < c.until
		if past {
			events, err = c.readPast()
		} else {
			events = c.take()
		}
		if err == nil {
			err = c.addPrevious(events)
		}
		if err != nil {
			return storage.Batch{}, err
		}
		if past = c.pos < c.until; len(events) > 0 || report && !past {
			return storage.Batch{Events: events, Rev: c.pos}, nil
		}
		if past {
			if err := ctx.Err(); err != nil {
				return storage.Batch{}, err
			}
			continue
		}
		select {
		case <-c.ready:
		case <-c.kick:
			report = true
		case <-c.closing:
		case <-ctx.Done():
			return storage.Batch{}, ctx.Err()
		}
	}
}

// addPrevious fills in the values that events have replaced, if the watch asked for them. A
// previous value that has been compacted ends the cursor with Compacted.
func (c *cursor) addPrevious(events []storage.Event) error {
	if !c.req.Prev || len(events) == 0 {
		return nil
	}
	if err := c.store.enter("watch", c.req.Prefix); err != nil {
		return err
	}
	defer c.store.life.RUnlock()
	for i := range events {
		ev := &events[i]
		if ev.Created {
			continue
		}
		r, err := c.store.one(context.Background(), []byte(ev.Key), mvcc.RangeOptions{Rev: int64(ev.Rev) - 1})
		if err != nil || len(r.KVs) == 0 {
			return c.compacted(0)
		}
		ev.Prev, ev.PrevRev = r.KVs[0].Value, storage.Revision(r.KVs[0].ModRevision)
	}
	return nil
}

// Progress implements storage.Cursor.
func (c *cursor) Progress() { signal(c.kick) }

// Close implements storage.Cursor.
func (c *cursor) Close() {
	c.once.Do(func() {
		close(c.closing)
		f := c.store.member.feed
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.mu.cursors, c)
	})
}

// signal makes ch, of capacity 1, readable.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
