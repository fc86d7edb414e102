package request

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type key struct{}

func start(parent context.Context) *Context {
	c := new(Context)
	c.Start(parent, &Info{Name: "n"})
	return c
}

func TestContextValues(t *testing.T) {
	c := start(context.WithValue(t.Context(), key{}, 7))
	for _, waited := range []bool{false, true} {
		if waited {
			c.Done()
		}
		if got := From(c); got == nil || got.Name != "n" {
			t.Errorf("waited=%v: From: got %v, want the Info", waited, got)
		}
		if got := c.Value(key{}); got != 7 {
			t.Errorf("waited=%v: Value: got %v, want 7", waited, got)
		}
	}
	c.End()
	if got := From(NewContext(t.Context(), &Info{Name: "m"})); got.Name != "m" {
		t.Errorf("From(NewContext): got %v", got)
	}
	if got := From(t.Context()); got != nil {
		t.Errorf("From without Info: got %v, want nil", got)
	}
}

func TestContextEnds(t *testing.T) {
	past, future := time.Now().Add(-time.Second), time.Now().Add(time.Hour)
	for _, tt := range []struct {
		name     string
		deadline time.Time
		cancel   bool // the parent
		end      bool
		want     error
	}{
		{"open", time.Time{}, false, false, nil},
		{"open with deadline", future, false, false, nil},
		{"deadline over", past, false, false, context.DeadlineExceeded},
		{"parent gone", future, true, false, context.Canceled},
		{"parent gone, no deadline", time.Time{}, true, false, context.Canceled},
		{"ended", future, false, true, context.Canceled},
	} {
		for _, early := range []bool{false, true} {
			parent, cancel := context.WithCancel(t.Context())
			c := start(parent)
			c.SetDeadline(tt.deadline)
			if early {
				c.Done()
			}
			if tt.cancel {
				cancel()
			}
			if tt.end {
				c.End()
			}
			if got := c.Err(); !errors.Is(got, tt.want) {
				t.Errorf("%s: Err before Done: got %v, want %v", tt.name, got, tt.want)
			}
			select {
			case <-c.Done():
				if tt.want == nil {
					t.Errorf("%s: Done is closed", tt.name)
				}
			case <-time.After(10 * time.Millisecond):
				if tt.want != nil {
					t.Errorf("%s: Done is open, want closed", tt.name)
				}
			}
			if got := c.Err(); !errors.Is(got, tt.want) {
				t.Errorf("%s: Err after Done: got %v, want %v", tt.name, got, tt.want)
			}
			c.End()
			cancel()
		}
	}
}

func TestContextFires(t *testing.T) {
	c := start(t.Context())
	c.SetDeadline(time.Now().Add(5 * time.Millisecond))
	select {
	case <-c.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("Done was not closed at the deadline")
	}
	if got := c.Err(); !errors.Is(got, context.DeadlineExceeded) {
		t.Errorf("Err: got %v, want DeadlineExceeded", got)
	}
	c.End()
}

func TestContextDeadline(t *testing.T) {
	soon, late := time.Now().Add(time.Minute), time.Now().Add(time.Hour)
	parent, cancel := context.WithDeadline(t.Context(), soon)
	defer cancel()
	c := start(parent)
	c.SetDeadline(late)
	if at, ok := c.Deadline(); !ok || !at.Equal(soon) {
		t.Errorf("Deadline: got %v %v, want the parent's", at, ok)
	}
	c = start(t.Context())
	if _, ok := c.Deadline(); ok {
		t.Error("Deadline without one: got true")
	}
	c.SetDeadline(late)
	if at, ok := c.Deadline(); !ok || !at.Equal(late) {
		t.Errorf("Deadline: got %v %v, want %v", at, ok, late)
	}
}

// TestContextLift takes a deadline off, whether somebody has waited for it or not.
func TestContextLift(t *testing.T) {
	for _, early := range []bool{false, true} {
		parent, cancel := context.WithCancel(t.Context())
		c := start(parent)
		c.SetDeadline(time.Now().Add(-time.Second))
		if early {
			c.Done()
		}
		if got := c.Err(); !errors.Is(got, context.DeadlineExceeded) {
			t.Errorf("before: got %v", got)
		}
		c.SetDeadline(time.Time{})
		if _, ok := c.Deadline(); ok || c.Err() != nil {
			t.Errorf("afterwards: a deadline: %v, error: %v", ok, c.Err())
		}
		done := c.Done()
		cancel()
		<-done
		if got := c.Err(); !errors.Is(got, context.Canceled) {
			t.Errorf("with its parent: got %v", got)
		}
		c.End()
	}
}

// Children of a request's context must not cost a goroutine each.
func TestContextChildren(t *testing.T) {
	c := start(t.Context())
	c.SetDeadline(time.Now().Add(time.Hour))
	before := runtime.NumGoroutine()
	for range 100 {
		child, cancel := context.WithCancel(c)
		defer cancel()
		_ = child
	}
	if got := runtime.NumGoroutine(); got > before {
		t.Errorf("goroutines: got %d, want %d", got, before)
	}
	c.End()
}
