package request

import (
	"context"
	"sync"
	"time"
)

// Context is the context of one request: the values and the cancellation of its parent, the Info, and a deadline.
// Unlike context.WithDeadline it starts no timer until somebody asks for Done, which handlers that find everything
// in memory never do. So a deadline costs one read of the clock.
//
// Like every context it may be used by many goroutines. Start is called once, before it is used; End when the request
// has been served, or is to end.
type Context struct {
	parent   context.Context
	info     *Info
	deadline time.Time // zero for none

	mu sync.Mutex
	// Made on the first call of Done; from then on it answers for Done and Err.
	timed  context.Context
	cancel context.CancelFunc
	ended  bool
	err    error // what Err has said, and says from then on
}

// Start makes c a context with parent's values and cancellation that carries info.
func (c *Context) Start(parent context.Context, info *Info) {
	c.parent, c.info = parent, info
}

// SetDeadline lets c end at t, or with its parent; the zero time means only with that. It is called before anybody uses c
// from another goroutine, and may be called again when nobody does any more: whoever has asked for Done before is told
// that c has ended.
func (c *Context) SetDeadline(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timed != nil {
		c.cancel()
		c.timed, c.cancel = nil, nil
	}
	c.deadline, c.err = t, nil
}

// End frees the timer, if there is one, and cancels c for whoever still waits for it.
func (c *Context) End() {
	c.mu.Lock()
	c.ended = true
	cancel := c.cancel
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// Deadline returns when c ends by itself, or what its parent says.
func (c *Context) Deadline() (time.Time, bool) {
	at, ok := c.parent.Deadline()
	if !c.deadline.IsZero() && (!ok || c.deadline.Before(at)) {
		return c.deadline, true
	}
	return at, ok
}

// Done returns a channel that is closed when c ends.
func (c *Context) Done() <-chan struct{} {
	return c.waitable().Done()
}

func (c *Context) waitable() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timed != nil {
		return c.timed
	}
	if c.deadline.IsZero() {
		c.timed, c.cancel = context.WithCancel(c.parent)
	} else {
		c.timed, c.cancel = context.WithDeadline(c.parent, c.deadline)
	}
	if c.ended {
		c.cancel()
	}
	return c.timed
}

// Err says why c has ended, or nil. When the deadline is over that is it, even if the parent has ended as well: the end of a
// connection may be what came of the deadline.
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = c.endLocked()
	}
	return c.err
}

func (c *Context) endLocked() error {
	switch {
	case c.timed != nil:
		return c.timed.Err()
	case !c.deadline.IsZero() && !time.Now().Before(c.deadline):
		return context.DeadlineExceeded
	case c.parent.Err() != nil:
		return c.parent.Err()
	case c.ended:
		return context.Canceled
	}
	return nil
}

// Value returns the Info for its key, else the value of the parent.
func (c *Context) Value(key any) any {
	if _, ok := key.(contextKey); ok {
		return c.info
	}
	c.mu.Lock()
	timed := c.timed
	c.mu.Unlock()
	// The context package asks for a key of its own to find out whether children can hang on to a context without
	// a goroutine. The answer has to be the context whose Done channel we return.
	if timed != nil {
		return timed.Value(key)
	}
	return c.parent.Value(key)
}
