package generic

import (
	"context"
	"sync"
)

// Work is work that goes on beside requests until it is stopped. Make it with NewWork. All methods
// may be called at once.
type Work struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex // nothing starts beside Stop
	parts []*Work    // guarded by mu
}

// NewWork returns work that does not go on beyond the end of parent. It still has to be stopped,
// which waits for it.
func NewWork(parent context.Context) *Work {
	w := &Work{}
	w.ctx, w.cancel = context.WithCancel(parent)
	return w
}

// Context ends when the work is stopped.
func (w *Work) Context() context.Context { return w.ctx }

// Part returns work that can be stopped before the rest of w. Stop of w stops it, too.
func (w *Work) Part() *Work {
	part := NewWork(w.ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parts = append(w.parts, part)
	return part
}

// Run runs work until Stop, and not at all after that.
func (w *Work) Run(work func(ctx context.Context)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() == nil {
		w.wg.Go(func() { work(w.ctx) })
	}
}

// Stop ends all work and waits for it, with the requests that it has under way. It may be called
// again.
func (w *Work) Stop() {
	w.mu.Lock()
	w.cancel()
	parts := w.parts
	w.mu.Unlock()
	for _, part := range parts {
		part.Stop()
	}
	w.wg.Wait()
}
