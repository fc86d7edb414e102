package generic

import (
	"context"
	"sync"
)

// Work runs functions in the background, beside the requests, until it is stopped. NewWork makes
// it. All methods may be called at once.
//
// Law: after Stop has cancelled the context, no function starts, so Stop knows all functions that
// it has to wait for.
type Work struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex // held by Run, and by Stop while it cancels: see the law
	parts []*Work    // guarded by mu
}

// NewWork returns a Work whose context ends with parent at the latest. Stop must be called even if
// parent has ended, because only Stop waits for the functions.
func NewWork(parent context.Context) *Work {
	w := &Work{}
	w.ctx, w.cancel = context.WithCancel(parent)
	return w
}

// Context returns the context of the functions. It ends when w is stopped.
func (w *Work) Context() context.Context { return w.ctx }

// Part returns a Work that can be stopped before the rest of w. Stopping w stops its parts.
func (w *Work) Part() *Work {
	part := NewWork(w.ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parts = append(w.parts, part)
	return part
}

// Run starts work in a goroutine, with the context of w. After Stop it does nothing.
func (w *Work) Run(work func(ctx context.Context)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() == nil {
		w.wg.Go(func() { work(w.ctx) })
	}
}

// Stop cancels the context of w and of its parts, and waits until all their functions have
// returned. It may be called again.
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
