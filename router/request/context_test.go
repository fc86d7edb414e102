package request

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type key struct{}

func start(parent context.Context) *Context {
	c := new(Context)
	c.Start(parent, &Info{Attributes: Attributes{Name: "n"}})
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
	if got := From(NewContext(t.Context(), &Info{Attributes: Attributes{Name: "m"}})); got.Name != "m" {
		t.Errorf("From(NewContext): got %v", got)
	}
	if got := From(t.Context()); got != nil {
		t.Errorf("From without Info: got %v, want nil", got)
	}
}

func TestContextEnds(t *testing.T) {
	for _, tt := range []struct {
		name     string
		deadline time.Duration // from now; 0 for none
		cancel   bool          // of the parent
		end      bool
		want     error
	}{
		{"open", 0, false, false, nil},
		{"open with deadline", time.Hour, false, false, nil},
		{"deadline over", -time.Second, false, false, context.DeadlineExceeded},
		{"parent gone", time.Hour, true, false, context.Canceled},
		{"parent gone, no deadline", 0, true, false, context.Canceled},
		{"ended", time.Hour, false, true, context.Canceled},
		{"ended, no deadline", 0, false, true, context.Canceled},
	} {
		for _, early := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithCancel(t.Context())
				defer cancel()
				c := start(parent)
				defer c.End()
				if tt.deadline != 0 {
					c.SetDeadline(time.Now().Add(tt.deadline))
				}
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
				done := c.Done()
				synctest.Wait()
				if closed := isClosed(done); closed != (tt.want != nil) {
					t.Errorf("%s: Done is closed: %v", tt.name, closed)
				}
				if got := c.Err(); !errors.Is(got, tt.want) {
					t.Errorf("%s: Err after Done: got %v, want %v", tt.name, got, tt.want)
				}
			})
		}
	}
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func TestContextFires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, begun := start(t.Context()), time.Now()
		defer c.End()
		c.SetDeadline(begun.Add(time.Minute))
		<-c.Done()
		if got, after := c.Err(), time.Since(begun); !errors.Is(got, context.DeadlineExceeded) || after != time.Minute {
			t.Errorf("Err: got %v after %v, want DeadlineExceeded after a minute", got, after)
		}
	})
}

// TestContextEndsOnTime: a context ends at its deadline and not before, even if nobody waits on
// Done.
func TestContextEndsOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t.Context())
		defer c.End()
		c.SetDeadline(time.Now().Add(time.Minute))
		time.Sleep(time.Minute - 1)
		if err := c.Err(); err != nil {
			t.Errorf("before: got %v", err)
		}
		time.Sleep(time.Nanosecond)
		if err := c.Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("at the deadline: got %v, want DeadlineExceeded", err)
		}
	})
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

// TestContextErrStays: Err keeps its first result when the parent ends or the deadline passes
// later. If both happen before the first call of Err, the deadline counts.
func TestContextErrStays(t *testing.T) {
	for _, waited := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			for _, want := range []error{context.DeadlineExceeded, context.Canceled} {
				parent, cancel := context.WithCancel(t.Context())
				c := start(parent)
				c.SetDeadline(time.Now().Add(time.Minute))
				if want == context.Canceled {
					cancel()
				} else {
					time.Sleep(time.Minute)
				}
				first := c.Err()
				if waited {
					<-c.Done()
				}
				cancel()
				time.Sleep(time.Minute)
				if last := c.Err(); first != want || last != want {
					t.Errorf("waited for: %v: got %v, then %v, want %v", waited, first, last, want)
				}
				c.End()
			}
		})
	}
	parent, cancel := context.WithCancel(t.Context())
	c := start(parent)
	c.SetDeadline(time.Now().Add(-time.Second))
	cancel()
	if got := c.Err(); got != context.DeadlineExceeded {
		t.Errorf("both over: got %v, want the deadline", got)
	}
	c.End()
}

// TestContextLift removes a deadline, whether or not somebody has called Done.
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

// TestContextChildren: children of a request's context do not cost a goroutine each.
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
