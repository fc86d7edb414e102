package embedded

import (
	"context"
	"strings"
	"sync"

	"go.etcd.io/etcd/server/v3/storage/mvcc"

	"github.com/coracle-project/coracle/storage"
)

// A cursor is told of changes as they are applied, and holds some ready. What was before it was opened, and what it could not
// hold, it reads from the database (see past.go): up to the revision from which on it is told (again).

// Bounds of what a cursor holds ready.
const (
	maxQueued      = 16384
	maxQueuedBytes = 16 << 20
)

type cursor struct {
	store *Store
	req   storage.WatchRequest

	// Owned by Next.

	pos   storage.Revision // everything up to here has been yielded
	until storage.Revision // and up to here is in the database, if that is more; what comes then is told

	// Guarded by the feed's mutex.

	queue []storage.Event
	bytes int              // of their values
	lost  bool             // it could not hold more, and holds nothing
	from  storage.Revision // if lost: what was behind this

	ready chan struct{} // capacity 1: there is something to take
	kick  chan struct{} // capacity 1: Progress

	closing chan struct{}
	once    sync.Once
}

// Watch implements storage.Store.
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
		req.After = storage.Revision(f.seen.Load()) // readers may be ahead of what has been told
	}
	c := &cursor{store: s, req: req, pos: req.After, until: f.mu.rev, ready: make(chan struct{}, 1),
		kick: make(chan struct{}, 1), closing: make(chan struct{})}
	if req.After+1 < first { // what is forgotten from now on readPast notices
		return nil, c.compacted(first)
	}
	f.mu.cursors[c] = struct{}{}
	return c, nil
}

func (c *cursor) compacted(first storage.Revision) error {
	return &storage.Error{Op: "watch", Key: c.req.Prefix, Kind: storage.Compacted, Rev: first}
}

// offerLocked keeps what the cursor is interested in.
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

// take returns what has been told. If that was too much, the cursor reads the database up to where it is told again.
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

// addPrevious fills in the values that events have replaced, if they are asked for.
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

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
