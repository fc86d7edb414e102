package cache

import (
	"container/heap"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// question asks the store for its current revision once for many readers; consistent reads call
// Cache.Revision. clock is the revision that the cache has seen; reads wait on it (get.go) and
// Cache.ingest advances it.

// question asks the store for its current revision on behalf of many callers.
//
// An answer serves only callers that asked before the question was sent, because a write may be
// acknowledged after the store has answered. So no caller joins a question that is on its way. The
// first caller asks for itself. Callers that come meanwhile share the next question, which is sent
// when the first has been answered.
type question struct {
	mu     sync.Mutex
	asking bool    // a question is on its way; guarded by mu
	next   *answer // guarded by mu; nil if nobody waits
}

// answer is one shared question and its result. rev and err are set before done is closed.
type answer struct {
	done chan struct{}
	rev  storage.Revision
	err  error
}

// Revision returns the store's current revision, which is at least that of every write acknowledged
// before the call. Concurrent callers share a question to the store. A caller that has waited for a
// second asks for itself.
func (c *Cache) Revision(ctx context.Context) (storage.Revision, error) {
	q := &c.question
	q.mu.Lock()
	if !q.asking {
		q.asking = true
		q.mu.Unlock()
		defer c.handOver()
		return c.store.Revision(ctx)
	}
	a := q.next
	if a == nil {
		a = &answer{done: make(chan struct{})}
		q.next = a
	}
	q.mu.Unlock()
	began := time.Now()
	patience := time.NewTimer(time.Second)
	defer patience.Stop()
	select {
	case <-a.done:
		c.waited(ctx, began)
		return a.rev, a.err
	case <-patience.C: // the question before ours does not end
		return c.store.Revision(ctx)
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-c.ctx.Done():
		return 0, closed("revision", "")
	}
}

// waited tells the hook that a read has waited since began.
func (c *Cache) waited(ctx context.Context, began time.Time) {
	if hook := c.cfg.Hooks.Waited; hook != nil {
		hook(ctx, time.Since(began))
	}
}

// handOver starts a goroutine that sends the next question if a caller waits for one.
func (c *Cache) handOver() {
	q := &c.question
	q.mu.Lock()
	q.asking = q.next != nil
	more := q.asking
	q.mu.Unlock()
	if more {
		c.spawn(c.ask) // if the cache is closed, the callers see the end of c.ctx
	}
}

// ask sends one question after another until no caller waits.
func (c *Cache) ask() {
	q := &c.question
	for {
		q.mu.Lock()
		a := q.next
		q.next = nil
		q.asking = a != nil
		q.mu.Unlock()
		if a == nil {
			return
		}
		ctx, cancel := context.WithTimeout(c.ctx, 10*time.Second)
		a.rev, a.err = c.store.Revision(ctx)
		cancel()
		close(a.done)
	}
}

// progressAfter is how long a read waits for a revision before the store is asked to report its
// progress. The revision may belong to a key outside the watched prefix, and then no event brings
// it.
const progressAfter = 5 * time.Millisecond

// clock is a revision that only grows, and the waiters for it.
type clock struct {
	rev         atomic.Uint64
	waiting     atomic.Int32 // len(mu.heap), so that advance needs no lock if nobody waits
	askProgress func()       // asks the store to report its revision; called every progressAfter while a waiter waits
	// pool holds *waiter. It is one per clock, because timers and channels belong to the synctest
	// bubble of a test.
	pool sync.Pool

	mu struct {
		sync.Mutex
		heap   waitHeap    // lowest revision first
		timer  *time.Timer // calls askProgress; nil if not running
		closed bool
	}
}

// waiter waits for one revision. If another goroutine than the waiting one removes the waiter from
// the heap, it sends to woken.
type waiter struct {
	rev   storage.Revision
	woken chan struct{} // capacity 1
	index int           // in the heap, -1 if removed
	timer *time.Timer
}

// now returns the revision of the clock.
func (c *clock) now() storage.Revision { return storage.Revision(c.rev.Load()) }

// advance moves the clock forward to rev; it never moves back. It has one caller at a time.
func (c *clock) advance(rev storage.Revision) {
	if rev <= c.now() {
		return
	}
	c.rev.Store(uint64(rev))
	if c.waiting.Load() == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.mu.heap) > 0 && c.mu.heap[0].rev <= rev {
		c.wakeLocked()
	}
}

// wakeLocked removes the waiter with the lowest revision from the heap and wakes it.
func (c *clock) wakeLocked() {
	w := heap.Pop(&c.mu.heap).(*waiter)
	c.waiting.Add(-1)
	w.woken <- struct{}{}
}

// wait waits until the clock has reached rev and returns true. It returns false if limit passes or
// the clock is closed first.
func (c *clock) wait(ctx context.Context, rev storage.Revision, limit time.Duration) (bool, error) {
	w, _ := c.pool.Get().(*waiter)
	if w == nil {
		w = &waiter{woken: make(chan struct{}, 1), timer: time.NewTimer(limit)}
	} else {
		w.timer.Reset(limit)
	}
	defer c.pool.Put(w)
	defer w.timer.Stop()
	w.rev = rev
	c.mu.Lock()
	c.waiting.Add(1)
	// This is checked after waiting was raised: either advance sees the waiter or we see its
	// revision.
	if c.now() >= rev || c.mu.closed {
		c.waiting.Add(-1)
		c.mu.Unlock()
		return c.now() >= rev, nil
	}
	heap.Push(&c.mu.heap, w)
	c.alarmLocked()
	c.mu.Unlock()
	var err error
	select {
	case <-w.woken:
		return c.now() >= rev, nil
	case <-w.timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	c.mu.Lock()
	if w.index >= 0 {
		heap.Remove(&c.mu.heap, w.index)
		c.waiting.Add(-1)
	} else {
		<-w.woken // the channel must be empty in the pool
	}
	c.mu.Unlock()
	return c.now() >= rev, err
}

// alarmLocked arranges for askProgress to be called after progressAfter, and again as long as a
// waiter waits.
func (c *clock) alarmLocked() {
	if c.mu.timer != nil || c.askProgress == nil {
		return
	}
	c.mu.timer = time.AfterFunc(progressAfter, func() {
		c.mu.Lock()
		c.mu.timer = nil
		more := len(c.mu.heap) > 0 && !c.mu.closed
		if more {
			c.alarmLocked()
		}
		c.mu.Unlock()
		if more {
			c.askProgress()
		}
	})
}

// close wakes all waiters. Later calls of wait return at once.
func (c *clock) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.closed = true
	for len(c.mu.heap) > 0 {
		c.wakeLocked()
	}
	if c.mu.timer != nil {
		c.mu.timer.Stop()
	}
}

// waitHeap implements heap.Interface, with the lowest revision on top.
type waitHeap []*waiter

func (h waitHeap) Len() int           { return len(h) }
func (h waitHeap) Less(i, j int) bool { return h[i].rev < h[j].rev }
func (h waitHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *waitHeap) Push(x any) {
	w := x.(*waiter)
	w.index = len(*h)
	*h = append(*h, w)
}

func (h *waitHeap) Pop() any {
	old := *h
	w := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	w.index = -1
	return w
}
