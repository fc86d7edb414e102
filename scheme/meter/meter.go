// Package meter counts the steps of expensive work, so that the work ends soon after its client has
// gone, and before it has used up its budget.
//
// Clients decide how long decoding, patching, walking trees and making lists take, by the size of a
// body or by the list that they ask for. Such work carries a Meter and reports its steps to it. A
// step is about a nanosecond of work: a byte read, a node of a tree visited, two elements compared.
// Every Interval steps the Meter checks the context of the request and yields to other goroutines.
//
// Laws:
//   - Once the context has ended, or the budget is spent, each further Step returns an error, and
//     the work must return soon.
//   - The error stays. So work in the middle of a recursion may return anything, and its entry
//     point asks Err.
//
// A Meter belongs to one goroutine.
//
// Not here: the Status that a client gets for an error (router), and storage, which imports no
// package of scheme and checks the context itself.
package meter

import (
	"context"
	"errors"
	"runtime"
)

// Interval is the number of steps between two checks of the context. A single Step may be longer.
const Interval = 64 << 10

// ErrSpent is the error of a Meter whose budget is used up.
var ErrSpent = errors.New("the request takes too much work")

// Meter counts the steps of one request. It belongs to one goroutine. A nil Meter counts nothing
// and never ends; it is for work that is known to be small.
type Meter struct {
	ctx  context.Context
	room int   // steps until the next check of ctx
	left int   // steps of the budget after those in room
	err  error // of ctx, or ErrSpent; once set, it stays
}

// New returns a Meter that ends with ctx, without a budget.
func New(ctx context.Context) *Meter { return WithBudget(ctx, int(^uint(0)>>1)) }

// NewValue returns a Meter like that of New as a value, for a struct that holds its Meter. It
// checks ctx for the first time after an Interval, so small work costs nothing.
func NewValue(ctx context.Context) Meter {
	return Meter{ctx: ctx, room: Interval, left: int(^uint(0)>>1) - Interval}
}

// ForSize returns a Meter like that of New for work on an input of size bytes. If the size is below
// Interval, it returns nil, and nothing is counted.
func ForSize(ctx context.Context, size int) *Meter {
	if size < Interval {
		return nil
	}
	return New(ctx)
}

// WithBudget returns a Meter that ends with ctx, or after a number of steps, with ErrSpent.
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

// Err returns the error of the first Step that failed, nil if none has.
func (m *Meter) Err() error {
	if m == nil {
		return nil
	}
	return m.err
}

// look subtracts the steps beyond room from the budget and checks the context. Then it lets other
// goroutines run: beside work that takes seconds, a request that takes microseconds should not wait
// until the runtime preempts the work, after 10 ms.
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
