package backend

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/filters/audit"
)

func TestBatchesAreFullOrLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, to := newGauges(t), &fake{}
		q := newQueue(to, webhookName, &Batch{Buffer: 100, Size: 4, Wait: time.Minute}, g.failures(webhookName), g.failures(bufferedName))
		begun := time.Now()
		time.Sleep(time.Hour) // an idle queue does not wait for its first event
		for _, e := range eventsOf("e", 10) {
			q.process(e)
		}
		synctest.Wait()
		if got := to.sizes(); !slices.Equal(got, []int{4, 4}) {
			t.Errorf("batches at once: got %v, want two of 4", got)
		}
		time.Sleep(time.Minute - 1)
		synctest.Wait()
		if got := to.sizes(); len(got) != 2 {
			t.Errorf("batches before the wait is over: got %v", got)
		}
		time.Sleep(1)
		synctest.Wait()
		if got := to.sizes(); !slices.Equal(got, []int{4, 4, 2}) || to.times[2].Sub(begun) != time.Hour+time.Minute {
			t.Errorf("batches after the wait: got %v, want 4, 4 and 2", got)
		}
		for range len(q.slots) {
			slot := <-q.slots
			for _, e := range slot[:cap(slot)] {
				if e != nil {
					t.Fatalf("a slot keeps the event %s, which has been delivered", e.AuditID)
				}
			}
			q.slots <- slot
		}
		q.process(eventOf("last"))
		time.Sleep(time.Second)
		q.close(t.Context())
		if got := to.ids(); len(got) != 11 || got[10] != "last" || !to.closed {
			t.Errorf("after close: got %v, closed %v", got, to.closed)
		}
	})
}

// TestLogWaitsForNothing wants the log's worker to take a single event at once, and all that wait
// while it writes in one delivery.
func TestLogWaitsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, to := newGauges(t), &fake{hold: make(chan struct{})}
		batch := DefaultLog().Batch
		q := newQueue(to, logName, &batch, g.failures(logName), g.failures(bufferedName))
		q.process(eventOf("first"))
		synctest.Wait()
		for _, e := range eventsOf("e", readyEvents+1) {
			q.process(e)
		}
		synctest.Wait()
		if to.highest != 1 {
			t.Errorf("got %d deliveries at once, want 1", to.highest)
		}
		close(to.hold)
		synctest.Wait()
		if got := to.sizes(); !slices.Equal(got, []int{1, readyEvents, 1}) {
			t.Errorf("got deliveries of %v events, want 1, %d, 1", got, readyEvents)
		}
		once(t, to.ids(), append(idsOf(eventsOf("e", readyEvents+1)), "first"))
		q.close(t.Context())
	})
}

// TestSlowStoreBlocksNobody fills the slots and the buffer of a store that does not answer.
func TestSlowStoreBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, to := newGauges(t), &fake{hold: make(chan struct{})}
		q := newQueue(to, webhookName, &Batch{Buffer: 20, Size: 5, Wait: time.Second}, g.failures(webhookName), g.failures(bufferedName))
		begun := time.Now()
		events := eventsOf("e", 60)
		for _, e := range events {
			if !q.process(e) {
				t.Error("the mode batch reported a failure")
			}
			synctest.Wait() // the worker takes the event, if it can
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("process waited: the events took %v", took)
		}
		if to.highest != 4 || q.held() != 40 {
			t.Errorf("got %d calls at once and %d events in memory, want 4 and 40", to.highest, q.held())
		}
		g.want(bufferedName, 20)
		close(to.hold)
		q.close(t.Context())
		once(t, to.ids(), idsOf(events[:40]))
		g.want(bufferedName, 20)
		g.want(webhookName, 0)
		if lines := g.lines.All(); len(lines) != 1 || lines[0].ContextMap()["error"] != errFull.Error() {
			t.Errorf("got %d lines in the log, want one about the full buffer: %v", len(lines), lines)
		}
	})
}

// held returns the number of events in the buffer and under way, for a store that fails no event
// and does not answer.
func (q *queue) held() int { return len(q.events) + (cap(q.slots)-len(q.slots))*q.full }

func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, to := newGauges(t), &fake{}
		q := newQueue(to, webhookName, &Batch{Buffer: 1000, Size: 2, Wait: time.Second, Throttle: true, QPS: 10, Burst: 3}, g.failures(webhookName), g.failures(bufferedName))
		begun := time.Now()
		for _, e := range eventsOf("e", 12) {
			q.process(e)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		var at []time.Duration
		for _, when := range to.times {
			at = append(at, when.Sub(begun))
		}
		if want := []time.Duration{0, 0, 0, 100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond}; !slices.Equal(at, want) {
			t.Errorf("batches at %v, want %v", at, want)
		}
		for _, e := range eventsOf("late", 40) {
			q.process(e)
		}
		closing := time.Now()
		q.close(t.Context())
		if took := time.Since(closing); took != 0 || len(to.ids()) != 52 {
			t.Errorf("close of a throttled queue: %v and %d events, want 0 and 52", took, len(to.ids()))
		}
	})
}

func TestBucket(t *testing.T) {
	now := time.Now()
	b := newBucket(0.5, 2, now)
	for i, step := range []struct{ after, want time.Duration }{
		{0, 0}, {0, 0}, {0, 2 * time.Second}, {0, 4 * time.Second}, {4 * time.Second, 2 * time.Second},
		{time.Hour, 0}, {0, 0}, {time.Second, time.Second},
	} {
		now = now.Add(step.after)
		if got := b.take(now); got != step.want {
			t.Errorf("step %d: got %v, want %v", i, got, step.want)
		}
	}
	if got := newBucket(1e-30, 1, now); got.take(now) != 0 || got.take(now) < 1000*time.Hour {
		t.Error("a bucket that nearly never fills does not make anybody wait")
	}
}

// TestCloseGivesUp wants the end of the context to end the delivery, and every event to be counted.
func TestCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, to := newGauges(t), &fake{hold: make(chan struct{})}
		q := newQueue(to, webhookName, &Batch{Buffer: 20, Size: 5, Wait: time.Second}, g.failures(webhookName), g.failures(bufferedName))
		for _, e := range eventsOf("e", 40) {
			q.process(e)
			synctest.Wait()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		q.close(ctx)
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("close took %v, want a minute", took)
		}
		g.want(webhookName, 20)
		g.want(bufferedName, 20)
		q.process(eventOf("late"))
		g.want(bufferedName, 21)
	})
}

// TestCloseOutlivesAHangingWrite wants Close to end although the store does not.
func TestCloseOutlivesAHangingWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, to := newGauges(t), &hanging{free: make(chan struct{})}
		q := newQueue(to, logName, &Batch{Buffer: 20, Size: 1}, g.failures(logName), g.failures(bufferedName))
		for i, e := range eventsOf("e", 20) {
			q.process(e)
			if i == 0 {
				time.Sleep(2 * gatherTime) // the write of the first event begins, and hangs
			}
			synctest.Wait()
		}
		begun := time.Now()
		q.close(ended(t))
		if took := time.Since(begun); took != lastWait {
			t.Errorf("close took %v, want %v", took, lastWait)
		}
		g.want(bufferedName, 19)
		close(to.free)
		<-q.life.ended
		g.want(logName, 1)
	})
}

// hanging is a store whose deliveries ignore their context.
type hanging struct {
	fake
	free chan struct{}
}

func (h *hanging) deliver(_ context.Context, events []*audit.Event) (int, error) {
	<-h.free
	return len(events), errors.New("it hung")
}

// TestCloseRace closes a queue while many goroutines send events. What process took is delivered or
// counted, each event once. Run it with -race.
func TestCloseRace(t *testing.T) {
	for range 50 {
		g, to := newGauges(t), &fake{}
		q := newQueue(to, webhookName, &Batch{Buffer: 64, Size: 3}, g.failures(webhookName), g.failures(bufferedName))
		var sending sync.WaitGroup
		const senders, each = 4, 50
		for i := range senders {
			sending.Go(func() {
				for _, e := range eventsOf(strings.Repeat("x", i+1), each) {
					q.process(e)
				}
			})
		}
		q.close(t.Context())
		sending.Wait()
		ids := to.ids()
		once(t, ids, slices.Compact(slices.Sorted(slices.Values(ids))))
		g.want(bufferedName, senders*each-len(ids))
	}
}
