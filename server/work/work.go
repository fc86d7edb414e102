// Package work runs what goes on beside requests, and waits for its end.
//
// Guarantees: nothing starts once Stop has begun. When Stop returns, everything that the Group has
// run has ended.
//
// A Group may be made over the context of another one. It then ends with that one, but only its own
// Stop waits for it. All methods may be called at once.
//
// Not here: in which order a server stops its groups (server).
package work

import (
	"context"
	"sync"
)

// Group is work that goes on beside requests until it is stopped.
type Group struct {
	ctx    context.Context
	cancel context.CancelFunc
	mu     sync.Mutex // nothing starts beside Stop
	wg     sync.WaitGroup
}

// New returns a group without work. It ends with parent, or when it is stopped.
func New(parent context.Context) *Group {
	g := &Group{}
	g.ctx, g.cancel = context.WithCancel(parent)
	return g
}

// Context ends when the group does.
func (g *Group) Context() context.Context { return g.ctx }

// Run starts work, which must end when its context does. It does nothing if the group has ended.
func (g *Group) Run(work func(ctx context.Context)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx.Err() == nil {
		g.wg.Go(func() { work(g.ctx) })
	}
}

// Stop ends all work and waits for it. It may be called again.
func (g *Group) Stop() {
	g.mu.Lock()
	g.cancel()
	g.mu.Unlock()
	g.wg.Wait()
}
