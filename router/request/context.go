package request

import (
	"context"
	"sync"
	"time"
)

// Context is the context of one request: the values and the cancellation of its parent, the Info,
// and a deadline. It differs from context.WithDeadline in one thing: no timer starts until somebody
// calls Done, which handlers that find everything in memory never do. So a deadline costs one read
// of the clock.
//
// A Context may be used by many goroutines, like every context. Start is called once, before any
// use. End is called when the request has been served, or when it must end early.
type Context struct {
	parent   context.Context
	info     *Info
	deadline time.Time // zero for none

	mu sync.Mutex
	// waiting and cancel are made by the first call of Done. From then on waiting answers Done and
	// Err.
	waiting context.Context
	cancel  context.CancelFunc
	ended   bool
	err     error // the first error that Err returned, which it returns from then on; only SetDeadline resets it
}

// Start makes c a context with parent's values and cancellation that carries info.
func (c *Context) Start(parent context.Context, info *Info) {
	c.parent, c.info = parent, info
}

// SetDeadline makes c end at t, or with its parent if that ends first; a zero t leaves only the
// parent. It must not be called while another goroutine uses c. A channel that Done returned
// earlier is closed, because that channel belongs to the old deadline.
func (c *Context) SetDeadline(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting != nil {
		c.cancel()
		c.waiting, c.cancel = nil, nil
	}
	c.deadline, c.err = t, nil
}

// End stops the timer, if one runs, and cancels c for every goroutine that still waits on it.
func (c *Context) End() {
	c.mu.Lock()
	c.ended = true
	cancel := c.cancel
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// Deadline returns the time at which c ends by itself: its own deadline or its parent's, whichever
// is earlier.
func (c *Context) Deadline() (time.Time, bool) {
	at, ok := c.parent.Deadline()
	if !c.deadline.IsZero() && (!ok || c.deadline.Before(at)) {
		return c.deadline, true
	}
	return at, ok
}

// Done returns a channel that is closed when c ends. The first call starts the timer.
func (c *Context) Done() <-chan struct{} {
	return c.waitable().Done()
}

// waitable returns the context with a Done channel, which it makes on the first call.
func (c *Context) waitable() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting != nil {
		return c.waiting
	}
	if c.deadline.IsZero() {
		c.waiting, c.cancel = context.WithCancel(c.parent)
	} else {
		c.waiting, c.cancel = context.WithDeadline(c.parent, c.deadline)
	}
	if c.ended {
		c.cancel()
	}
	return c.waiting
}

// Err returns why c has ended, or nil. Once the deadline has passed, the result is DeadlineExceeded
// even if the parent has ended as well: the passing of the deadline may be what closed the
// connection.
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = c.endLocked()
	}
	return c.err
}

// endLocked computes the result of Err. The caller holds mu.
func (c *Context) endLocked() error {
	switch {
	case c.waiting != nil:
		return c.waiting.Err()
	case !c.deadline.IsZero() && !time.Now().Before(c.deadline):
		return context.DeadlineExceeded
	case c.parent.Err() != nil:
		return c.parent.Err()
	case c.ended:
		return context.Canceled
	}
	return nil
}

// Value returns the Info for its own key, otherwise the value of the parent.
func (c *Context) Value(key any) any {
	if _, ok := key.(contextKey); ok {
		return c.info
	}
	c.mu.Lock()
	timed := c.waiting
	c.mu.Unlock()
	// The context package asks with a private key whether a child can be attached to this context
	// without a goroutine. The context that answers must be the one whose Done channel we return.
	if timed != nil {
		return timed.Value(key)
	}
	return c.parent.Value(key)
}
