package registry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// ending is a context that ends when it is looked at for the end-th time.
type ending struct {
	context.Context
	looks, end int
}

func (c *ending) Err() error {
	if c.looks++; c.looks >= c.end && c.end > 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// A list by many requirements is worked on as long as the request lasts.
func TestListEnds(t *testing.T) {
	k := newKit(t, options{})
	k.fill(30, "ns", "other")
	var requirements []string
	for i := range 2000 {
		requirements = append(requirements, fmt.Sprintf("!k%d", i))
	}
	for _, fields := range []string{"", "spec.color=blue"} {
		req := selectors(t, "", strings.Join(requirements, ","), fields)
		ctx := &ending{Context: k.ctx}
		list, err := k.List(ctx, &req)
		if err != nil || list.Len == 0 || ctx.looks < 10 {
			t.Fatalf("List(fields %q): got %v after %d looks at the context", fields, err, ctx.looks)
		}
		for end := 1; end <= ctx.looks; end++ {
			ctx := &ending{Context: k.ctx, end: end}
			if _, err := k.List(ctx, &req); !errors.Is(err, context.DeadlineExceeded) || ctx.looks > end+1 {
				t.Errorf("List(fields %q), time is up at look %d: got %v after %d looks", fields, end, err, ctx.looks)
			}
		}
	}
}
