// Package metertest is for tests that dear work ends soon after its context.
package metertest

import (
	"context"
	"errors"
	"testing"
)

// Context ends with its End-th look, that is, call of Err; 0 is never. It belongs to one goroutine.
type Context struct {
	context.Context
	End   int
	Looks int // so far
}

// Err implements context.Context.
func (c *Context) Err() error {
	if c.Looks++; c.Looks >= c.End && c.End > 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// Ends fails unless work looks at its context as often as that at least, and when that has ended
// returns its error without looking again.
func Ends(t *testing.T, least int, work func(ctx context.Context) error) {
	t.Helper()
	ctx := &Context{Context: t.Context()}
	if err := work(ctx); err != nil || ctx.Looks < least {
		t.Fatalf("got %v after %d looks at the context", err, ctx.Looks)
	}
	for end := 1; end <= ctx.Looks; end += 1 + ctx.Looks/4 {
		ctx := &Context{Context: t.Context(), End: end}
		if err := work(ctx); !errors.Is(err, context.DeadlineExceeded) || ctx.Looks != end {
			t.Errorf("a context that ends at look %d: got %v after %d looks", end, err, ctx.Looks)
		}
	}
}
