package memory

import (
	"context"
	"strings"
	"sync"

	"github.com/coracle-project/coracle/storage"
)

// maxBatch bounds the log entries that one Next looks at under the lock, so that no cursor holds it
// for long.
const maxBatch = 4096

// cursor is a position in the log. It implements storage.Cursor.
type cursor struct {
	store  *Store
	prefix string           // of the keys to yield
	prev   bool             // fill Event.Prev
	pos    storage.Revision // every change up to here has been yielded; owned by the goroutine in Next

	kick   chan struct{} // capacity 1; Progress was called
	closed chan struct{} // closed by Close
	once   sync.Once
}

// Watch implements storage.Store. It starts no goroutine: the cursor is a position in the log.
func (s *Store) Watch(_ context.Context, req storage.WatchRequest) (storage.Cursor, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.mu.closed {
		return nil, fail("watch", req.Prefix, storage.Closed, 0, errClosed)
	}
	after := req.After
	if after == 0 {
		after = s.Current()
	}
	if floor := storage.Revision(s.floor.Load()); after < floor {
		return nil, fail("watch", req.Prefix, storage.Compacted, floor, nil)
	}
	return &cursor{store: s, prefix: req.Prefix, prev: req.Prev, pos: after,
		kick: make(chan struct{}, 1), closed: make(chan struct{})}, nil
}

// Next implements storage.Cursor.
func (c *cursor) Next(ctx context.Context) (storage.Batch, error) {
	var report bool
	for {
		select {
		case <-c.closed:
			return storage.Batch{}, fail("watch", c.prefix, storage.Closed, 0, nil)
		case <-c.kick:
			report = true
		default:
		}
		batch, wake, err := c.collect()
		if err != nil || len(batch.Events) > 0 || (report && wake != nil) {
			return batch, err
		}
		if wake == nil {
			continue // all maxBatch entries were under other prefixes
		}
		select {
		case <-wake:
		case <-c.kick:
			report = true
		case <-c.closed:
		case <-ctx.Done():
			return storage.Batch{}, ctx.Err()
		}
	}
}

// collect returns the events after pos and moves pos behind them. At the end of the log it also
// returns the channel that the next commit closes.
func (c *cursor) collect() (storage.Batch, <-chan struct{}, error) {
	s := c.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.mu.closed {
		return storage.Batch{}, nil, fail("watch", c.prefix, storage.Closed, 0, errClosed)
	}
	floor, cur := storage.Revision(s.floor.Load()), s.Current()
	if c.pos < floor {
		return storage.Batch{}, nil, fail("watch", c.prefix, storage.Compacted, floor, nil)
	}
	if c.pos >= cur { // pos may lie in the future
		s.waiting.Store(true)
		return storage.Batch{Rev: cur}, s.mu.wake, nil
	}
	log := s.mu.log[c.pos-floor:]
	if len(log) > maxBatch {
		log = log[:maxBatch]
	}
	var events []storage.Event
	for _, v := range log {
		if strings.HasPrefix(v.key, c.prefix) {
			events = append(events, c.event(v))
		}
	}
	c.pos += storage.Revision(len(log))
	if c.pos < cur {
		return storage.Batch{Events: events, Rev: c.pos}, nil, nil
	}
	s.waiting.Store(true)
	return storage.Batch{Events: events, Rev: c.pos}, s.mu.wake, nil
}

// event returns a version as an event. Its prev is intact if the version is in the log.
func (c *cursor) event(v *version) storage.Event {
	ev := storage.Event{Key: v.key, Value: v.value, Rev: v.rev, Deleted: v.deleted}
	prev := v.prev.Load()
	ev.Created = prev == nil || prev.deleted
	if c.prev && !ev.Created {
		ev.Prev, ev.PrevRev = prev.value, prev.rev
	}
	return ev
}

// Progress implements storage.Cursor.
func (c *cursor) Progress() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// Close implements storage.Cursor.
func (c *cursor) Close() { c.once.Do(func() { close(c.closed) }) }

// wakeLocked ends the wait of all cursors. It is called with each commit, and costs nothing if no
// cursor waits.
func (s *Store) wakeLocked() {
	if s.waiting.Load() {
		close(s.mu.wake)
		s.mu.wake = make(chan struct{})
		s.waiting.Store(false)
	}
}
