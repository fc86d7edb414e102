package backend

import (
	"context"
	"sync"

	"github.com/coracle-project/coracle/filters/audit"
)

// blocking is a sink that gives each event to its store before process returns: the modes blocking
// and blocking-strict.
type blocking struct {
	to     store
	strict bool // a failure at RequestReceived is reported
	failed *failures
	ctx    context.Context // of the deliveries
	cancel context.CancelFunc

	mu      sync.RWMutex // guards closed, and that running does not grow after it
	closed  bool
	running sync.WaitGroup // calls of process
}

func newBlocking(to store, strict bool, failed *failures) *blocking {
	b := &blocking{to: to, strict: strict, failed: failed}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// process implements sink.
func (b *blocking) process(e *audit.Event) bool {
	lost, err := 1, errClosed
	if b.enter() {
		defer b.running.Done()
		lost, err = b.to.deliver(b.ctx, []*audit.Event{e})
	}
	if lost > 0 {
		b.failed.add(lost, err)
	}
	return lost == 0 || !b.strict || e.Stage != audit.RequestReceived
}

// enter counts a call of process as running, unless the sink is closed.
func (b *blocking) enter() bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if !b.closed {
		b.running.Add(1)
	}
	return !b.closed
}

// close implements sink.
func (b *blocking) close(ctx context.Context) {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	done := make(chan struct{})
	go func() { // ends with the last call of process
		b.running.Wait()
		b.to.close(b.ctx)
		close(done)
	}()
	finish(ctx, done, b.cancel)
}
