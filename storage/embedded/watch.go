package embedded

import (
	"context"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/etcd"
)

const (
	// Bounds of what a cursor holds ready. The server holds 128 more changes; a watcher behind those is served
	// from the database in slow steps.
	maxQueued      = 16384
	maxQueuedBytes = 16 << 20

	// The server drops a request for progress while the watcher catches up; it is repeated this often.
	progressAgain = 20 * time.Millisecond
)

// cursor reads what has happened from the database (see readPast) and is then a watcher of the server. Its loop empties
// the server's short channel into a bounded queue, since a watcher that lets the channel fill up is demoted to slow steps.
type cursor struct {
	store *Store
	req   storage.WatchRequest
	ws    mvcc.WatchStream

	// Owned by Next.

	pos   storage.Revision // everything up to here has been yielded
	live  bool             // the past has been read
	until int64            // and reaches up to here, or 0; what the server sends of it is left out
	id    mvcc.WatchID

	mu struct {
		sync.Mutex
		queue []mvcc.WatchResponse
		count int // events in queue
		bytes int // of their values
	}
	ready chan struct{} // capacity 1: queue is not empty
	space chan struct{} // capacity 1: queue has been emptied
	kick  chan struct{} // capacity 1: Progress

	closing chan struct{}
	once    sync.Once
	done    chan struct{} // closed when the loop has ended
}

// Watch implements storage.Store. A cursor has one goroutine.
func (s *Store) Watch(_ context.Context, req storage.WatchRequest) (storage.Cursor, error) {
	s.life.RLock()
	defer s.life.RUnlock()
	s.cursors.Lock()
	defer s.cursors.Unlock()
	if s.cursors.open == nil {
		return nil, closedError(req.Prefix)
	}
	now, start := s.kv.Rev(), int64(req.After)+1
	if req.After == 0 {
		req.After = storage.Revision(now)
		start = 0 // the server's own word for it; a number might be behind already, and such a watcher begins slowly
	}
	c := &cursor{store: s, req: req, pos: req.After, ws: s.kv.NewWatchStream(),
		ready: make(chan struct{}, 1), space: make(chan struct{}, 1), kick: make(chan struct{}, 1),
		closing: make(chan struct{}), done: make(chan struct{})}
	var err error
	// A member that was never compacted says -1.
	if first := s.kv.FirstRev(); int64(req.After)+1 < first {
		err = c.compacted(first)
	} else if c.live = start == 0 || start > now; c.live {
		err = c.watch(start)
	}
	if err != nil {
		c.ws.Close()
		return nil, err
	}
	s.cursors.open[c] = struct{}{}
	go c.run()
	return c, nil
}

func closedError(prefix string) error {
	return &storage.Error{Op: "watch", Key: prefix, Kind: storage.Closed}
}

func (c *cursor) compacted(first int64) error {
	return &storage.Error{Op: "watch", Key: c.req.Prefix, Kind: storage.Compacted, Rev: storage.Revision(first)}
}

// run moves responses into the queue until the stream is closed.
func (c *cursor) run() {
	defer close(c.done)
	for resp := range c.ws.Chan() {
		mvcc.ReportEventReceived(len(resp.Events))
		if !c.push(resp) {
			select {
			case <-c.space:
			case <-c.closing:
			}
		}
	}
}

// push reports whether the queue takes more.
func (c *cursor) push(resp mvcc.WatchResponse) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.queue = append(c.mu.queue, resp)
	c.mu.count += len(resp.Events)
	for _, ev := range resp.Events {
		c.mu.bytes += len(ev.Kv.Value)
	}
	signal(c.ready)
	if c.mu.count < maxQueued && c.mu.bytes < maxQueuedBytes && len(c.mu.queue) < 2*maxQueued {
		return true
	}
	select {
	case <-c.space: // from before
	default:
	}
	return false
}

func (c *cursor) take() []mvcc.WatchResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	queue := c.mu.queue
	c.mu.queue, c.mu.count, c.mu.bytes = nil, 0, 0
	signal(c.space)
	return queue
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Next implements storage.Cursor.
func (c *cursor) Next(ctx context.Context) (storage.Batch, error) {
	var again <-chan time.Time
	for {
		select {
		case <-c.closing:
			return storage.Batch{}, closedError(c.req.Prefix)
		default:
		}
		if !c.live {
			if batch, err := c.readPast(); err != nil || len(batch.Events) > 0 {
				return batch, err
			}
			if err := ctx.Err(); err != nil {
				return storage.Batch{}, err
			}
			continue
		}
		select {
		case <-c.ready:
			batch, err := c.batch(c.take())
			if err != nil || batch.Rev != 0 {
				return batch, err
			}
		case <-c.kick:
			c.ws.RequestProgress(c.id)
			again = time.After(progressAgain)
		case <-again:
			c.ws.RequestProgress(c.id)
			again = time.After(progressAgain)
		case <-c.closing:
		case <-ctx.Done():
			return storage.Batch{}, ctx.Err()
		}
	}
}

// batch joins responses. Its revision is 0 if there are none.
func (c *cursor) batch(responses []mvcc.WatchResponse) (storage.Batch, error) {
	var b storage.Batch
	n := 0
	for _, resp := range responses {
		n += len(resp.Events)
	}
	if n > 0 {
		b.Events = make([]storage.Event, 0, n)
	}
	for _, resp := range responses {
		if resp.CompactRevision != 0 {
			if len(b.Events) > 0 { // hand these over first; the next call finds the mark again
				c.push(resp)
				break
			}
			return b, c.compacted(resp.CompactRevision)
		}
		if err := c.add(&b, resp.Events); err != nil {
			return storage.Batch{}, err
		}
		if len(resp.Events) == 0 { // progress; a response with events may be ahead of what has been sent
			b.Rev = max(b.Rev, storage.Revision(resp.Revision))
		} else if n := len(b.Events); n > 0 {
			b.Rev = b.Events[n-1].Rev
		}
	}
	if b.Rev == 0 {
		return b, nil
	}
	b.Rev = max(b.Rev, c.pos)
	if !c.store.await(b.Rev) {
		return storage.Batch{}, closedError(c.req.Prefix)
	}
	c.pos = b.Rev
	return b, nil
}

// await returns when readers see rev, of which the server has told a watcher. It reports false if the store is closed.
//
// The server tells watchers before it ends the transaction: watchableStoreTxnWrite.End calls notify, and then
// storeTxnWrite.End, which raises the revision and lets go of the backend's transaction (etcd's
// server/storage/mvcc/watchable_store_txn.go and kvstore_txn.go). Whoever reads in between does not find what was told.
// The transaction has been held since it began, so whoever gets it next knows that the end has come. That is seldom
// needed: mostly the end was quicker than the cursor.
func (s *Store) await(rev storage.Revision) bool {
	if s.Seen() >= rev {
		return true
	}
	s.life.RLock()
	defer s.life.RUnlock()
	if s.IsClosed() {
		return false
	}
	if s.present() < rev {
		tx := s.server.Backend().BatchTx()
		tx.LockOutsideApply()
		tx.Unlock()
	}
	s.Saw(rev)
	return true
}

// present returns the revision that readers see. Unlike that of WatchableKV.Rev, its transaction copies nothing of what is
// not yet in the database.
func (s *Store) present() storage.Revision {
	tx := s.kv.Read(mvcc.SharedBufReadTxMode, nil)
	defer tx.End()
	return storage.Revision(tx.Rev())
}

// add converts the server's events, and leaves out what the past has brought.
func (c *cursor) add(b *storage.Batch, events []*mvccpb.Event) error {
	for _, ev := range events {
		if c.live && ev.Kv.ModRevision <= c.until {
			continue
		}
		if c.req.Prev && !(ev.Type == mvccpb.Event_PUT && ev.Kv.CreateRevision == ev.Kv.ModRevision) {
			ev = &mvccpb.Event{Type: ev.Type, Kv: ev.Kv, PrevKv: c.previous(ev)}
		}
		e, ok := etcd.Event(ev, c.req.Prev)
		if !ok && c.store.IsClosed() {
			return closedError(c.req.Prefix)
		}
		if !ok {
			return c.compacted(0)
		}
		b.Events = append(b.Events, e)
	}
	return nil
}

// previous reads the value that an event has replaced, nil if it is not there any more.
func (c *cursor) previous(ev *mvccpb.Event) *mvccpb.KeyValue {
	c.store.life.RLock()
	defer c.store.life.RUnlock()
	if c.store.IsClosed() {
		return nil
	}
	r, err := c.store.kv.Range(context.Background(), ev.Kv.Key, nil, mvcc.RangeOptions{Rev: ev.Kv.ModRevision - 1})
	if err != nil || len(r.KVs) == 0 {
		return nil
	}
	return r.KVs[0]
}

// Progress implements storage.Cursor.
func (c *cursor) Progress() { signal(c.kick) }

// Close implements storage.Cursor.
func (c *cursor) Close() {
	c.once.Do(func() {
		close(c.closing)
		c.ws.Close()
		c.store.cursors.Lock()
		delete(c.store.cursors.open, c)
		c.store.cursors.Unlock()
	})
	<-c.done
}
