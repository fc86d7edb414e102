package server

import (
	"context"
	"sync"
)

// background is work that goes on beside requests until it is stopped.
type background struct {
	ctx    context.Context
	cancel context.CancelFunc
	mu     sync.Mutex // nothing starts beside stop
	wg     sync.WaitGroup
}

func newBackground(parent context.Context) *background {
	b := &background{}
	b.ctx, b.cancel = context.WithCancel(parent)
	return b
}

// run runs work until stop, and not at all after that.
func (b *background) run(work func(ctx context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() == nil {
		b.wg.Go(func() { work(b.ctx) })
	}
}

// stop ends all and waits for it, with the requests that it has under way. It may be called again.
func (b *background) stop() {
	b.mu.Lock()
	b.cancel()
	b.mu.Unlock()
	b.wg.Wait()
}
