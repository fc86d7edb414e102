// Package metertest is for tests that expensive work ends soon after its context has ended.
package metertest

import (
	"context"
	"errors"
	"testing"
)

// Context is a context that ends at the End-th call of Err. It belongs to one goroutine.
type Context struct {
	context.Context
	End   int // 0 means never
	Looks int // calls of Err so far
}

// Err implements context.Context.
func (c *Context) Err() error {
	if c.Looks++; c.Looks >= c.End && c.End > 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// Ends fails the test unless work calls Err of its context at least least times, and returns the
// context's error right after the first call that returns one.
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
