package backend

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coracle-project/coracle/filters/audit"
)

const (
	// maxCalls is the largest number of batches that are on their way to the webhook at once.
	maxCalls = 64
	// readyEvents is the number of waiting events that the log takes at once, if the batches are
	// smaller and not throttled. A log has no batches that anybody sees, and one write for many
	// events costs less.
	readyEvents = 256
	// gatherTime is how long the worker of a log that is not throttled lets further events come
	// before it writes. Without it each event costs a write and a wake-up of the worker.
	gatherTime = 2 * time.Millisecond
)

// queue is a sink that keeps events in a buffer, from which a worker gives them to a store in
// batches: the mode batch.
//
// The worker takes a slot for each batch, and waits while none is free. So as many batches are
// under way as there are slots: one for the log, and for the webhook as many as the buffer could
// hold, up to maxCalls. While all are under way the buffer fills, and when it is full events are
// dropped. Kubernetes has no such bound.
type queue struct {
	to       store
	events   chan *audit.Event // the buffer
	slots    chan batch        // free slots
	calls    bool              // batches are delivered by goroutines of their own
	full     int               // events for which the worker waits
	most     int               // events in a batch at most, >= full
	wait     time.Duration     // longest time to wait for a full batch
	gather   time.Duration     // time to let further events come after the first one of a batch
	throttle *bucket           // nil: not throttled

	failed, dropped *failures
	life            queueLife
}

// batch has events that are delivered together. A slot lends it to one delivery after the other.
type batch []*audit.Event

// queueLife is the state of a queue's end.
type queueLife struct {
	ctx    context.Context // of the deliveries
	cancel context.CancelFunc
	hurry  chan struct{} // closed when the queue is closed
	ended  chan struct{} // closed when the worker has ended

	mu     sync.RWMutex // guards closed, and that nothing is sent on events after it
	closed bool
}

var errFull = errors.New("audit buffer queue blocked")

// newQueue returns a queue to the store called name, and starts its worker, which ends after close.
func newQueue(to store, name string, b *Batch, failed, dropped *failures) *queue {
	q := &queue{
		to: to, events: make(chan *audit.Event, b.Buffer), calls: name == webhookName,
		full: b.Size, most: b.Size, wait: b.Wait, failed: failed, dropped: dropped,
		life: queueLife{hurry: make(chan struct{}), ended: make(chan struct{})},
	}
	q.life.ctx, q.life.cancel = context.WithCancel(context.Background())
	if b.Throttle {
		q.throttle = newBucket(b.QPS, b.Burst, time.Now())
	}
	slots := 1
	switch {
	case q.calls:
		slots = min(max(b.Buffer/b.Size, 1), maxCalls)
	case !b.Throttle:
		q.most, q.gather = max(b.Size, readyEvents), gatherTime
	}
	q.slots = make(chan batch, slots)
	for range slots {
		q.slots <- nil
	}
	go q.work()
	return q
}

// process implements sink. It never waits, and reports no failure.
func (q *queue) process(e *audit.Event) bool {
	q.life.mu.RLock()
	err := errClosed
	if !q.life.closed {
		select {
		case q.events <- e:
			err = nil
		default:
			err = errFull
		}
	}
	q.life.mu.RUnlock()
	if err != nil {
		q.dropped.add(1, err)
	}
	return true
}

// close implements sink.
func (q *queue) close(ctx context.Context) {
	q.life.mu.Lock()
	q.life.closed = true
	q.life.mu.Unlock()
	close(q.events)
	close(q.life.hurry)
	finish(ctx, q.life.ended, q.life.cancel)
	q.drop() // the worker may hang in a write
}

// drop drops what is in the buffer of a closed queue.
func (q *queue) drop() {
	lost := 0
	for range q.events {
		lost++
	}
	if lost > 0 {
		q.dropped.add(lost, errClosed)
	}
}

// work delivers batches until the queue is closed and empty. Then it closes the store.
func (q *queue) work() {
	defer close(q.life.ended)
	timer := time.NewTimer(q.wait)
	defer timer.Stop()
	for open := true; open; {
		events := <-q.slots
		if events, open = q.collect(events[:0], timer); len(events) == 0 {
			q.slots <- events
			continue
		}
		q.slowDown()
		if q.calls {
			go q.deliver(events) // gives the slot back, for which work waits at its end
		} else {
			q.deliver(events)
		}
	}
	for range cap(q.slots) {
		<-q.slots
	}
	q.to.close(q.life.ctx)
}

// collect waits for an event, and appends it and the next ones to events until they are a batch. It
// returns false when the queue is closed and empty.
func (q *queue) collect(events batch, timer *time.Timer) (batch, bool) {
	var late <-chan time.Time // nil until the worker waits for more than the first event
	for len(events) < q.most {
		select { // without the timer: while events are waiting, it is not needed
		case e, open := <-q.events:
			if !open {
				return events, false
			}
			events = append(events, e)
			continue
		default:
		}
		if len(events) >= q.full {
			break
		}
		if len(events) > 0 && late == nil {
			timer.Reset(q.wait)
			late = timer.C
		}
		select {
		case e, open := <-q.events:
			if !open {
				return events, false
			}
			if events = append(events, e); len(events) == 1 {
				q.pause(q.gather)
			}
		case <-late:
			return events, true
		}
	}
	return events, true
}

// slowDown waits until the throttle allows a batch. It does not wait when the queue is closed.
func (q *queue) slowDown() {
	if q.throttle == nil {
		return
	}
	q.pause(q.throttle.take(time.Now()))
}

// pause waits for d, or until the queue is closed.
func (q *queue) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-q.life.hurry:
	}
}

// deliver gives a batch to the store, and the slot back. After the end of ctx it drops the batch.
func (q *queue) deliver(events batch) {
	if q.life.ctx.Err() != nil {
		q.dropped.add(len(events), errClosed)
	} else if lost, err := q.to.deliver(q.life.ctx, events); lost > 0 {
		q.failed.add(lost, err)
	}
	clear(events) // so that the events can be collected
	q.slots <- events
}
