// Package meter counts the steps of expensive work, so that the work ends soon after its client has
// gone, and before it has used up its budget.
//
// Clients decide how long decoding, patching, walking trees and making lists takes: by the size of
// a body, or by what they ask for. Such work carries a Meter and reports its steps to it. Every
// Interval steps the Meter checks the context of the request and yields to other goroutines. Once
// the context has ended, or the budget is spent, each further Step fails, and the work has to
// return. A step is about a nanosecond of work: a byte read, a node of a tree visited, two elements
// compared.
//
// The error stays: work in the middle of a recursion may return anything, and its entry point asks
// Err.
//
// Not here: what an error means to a client (router), and storage, which imports no package of
// scheme and checks the context itself.
package meter

import (
	"context"
	"errors"
	"runtime"
)

// Interval is how many steps are taken between two looks at the context, but for one Step that is
// longer by itself.
const Interval = 64 << 10

// ErrSpent is the error of a Meter whose budget is used up.
var ErrSpent = errors.New("the request takes too much work")

// Meter counts the steps of one request. It belongs to one goroutine. A nil Meter counts nothing
// and never ends: that is for work whose size is known to be small.
type Meter struct {
	ctx  context.Context
	room int // steps until the next look
	left int // steps of the budget behind those in room
	err  error
}

// New returns a Meter that ends with ctx, without a budget.
func New(ctx context.Context) *Meter { return WithBudget(ctx, int(^uint(0)>>1)) }

// Of is New for a struct that holds its Meter. It looks at ctx for the first time after an
// Interval, so that small work costs nothing.
func Of(ctx context.Context) Meter {
	return Meter{ctx: ctx, room: Interval, left: int(^uint(0)>>1) - Interval}
}

// For is New for the work on an input of some size, in bytes; on one that takes less than an
// Interval nothing is counted.
func For(ctx context.Context, size int) *Meter {
	if size < Interval {
		return nil
	}
	return New(ctx)
}

// WithBudget returns a Meter that ends with ctx, or after a number of steps.
func WithBudget(ctx context.Context, steps int) *Meter {
	return &Meter{ctx: ctx, left: steps}
}

// Step counts n steps that are about to be taken. The error is that of the context, or ErrSpent.
func (m *Meter) Step(n int) error {
	if m == nil {
		return nil
	}
	if m.room -= n; m.room >= 0 {
		return nil
	}
	return m.look()
}

// Err returns the error of the Step that failed, if one has.
func (m *Meter) Err() error {
	if m == nil {
		return nil
	}
	return m.err
}

// look settles the steps beyond room with the budget and asks the context. Then whoever else has
// something to do goes first: beside work that takes seconds, a request that takes microseconds
// need not wait until the runtime steps in.
func (m *Meter) look() error {
	over := -m.room
	m.room = 0
	switch {
	case m.err != nil:
	case over > m.left:
		m.err = ErrSpent
	default:
		m.err = m.ctx.Err()
		m.room = min(Interval, m.left-over)
		m.left -= over + m.room
		runtime.Gosched()
	}
	if m.err != nil {
		m.room = 0
	}
	return m.err
}
