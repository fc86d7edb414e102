package controller

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source is a Source that yields what it is given: names, and for "" an error.
type source chan Name

func (s source) names(ctx context.Context) iter.Seq2[Name, error] {
	return func(yield func(Name, error) bool) {
		for {
			var err error
			select {
			case name := <-s:
				if name.Name == "" {
					err = errors.New("no watch")
				}
				if !yield(name, err) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// calls records when names are reconciled.
type calls struct {
	mu    sync.Mutex
	begun time.Time
	list  []string
	again time.Duration
	errs  int // so many calls fail
}

func (c *calls) reconcile(_ context.Context, name Name) (time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, fmt.Sprintf("%s/%s@%v", name.Namespace, name.Name, time.Since(c.begun)))
	if c.errs > 0 {
		c.errs--
		return 0, errors.New("not yet")
	}
	again := c.again
	c.again = 0
	return again, nil
}

func (c *calls) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.list, " ")
}

// inLoop runs f beside a loop in fake time, and ends the loop.
func inLoop(t *testing.T, c *calls, f func(src source)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		src := make(source)
		c.begun = time.Now()
		done := make(chan struct{})
		go func() {
			newLoop(src.names, c.reconcile, zap.NewNop()).run(ctx)
			close(done)
		}()
		f(src)
		cancel()
		<-done
	})
}

func want(t *testing.T, c *calls, text string) {
	t.Helper()
	synctest.Wait()
	if got := c.String(); got != text {
		t.Errorf("reconciled %q, want %q", got, text)
	}
}

func TestLoopReconcilesChanges(t *testing.T) {
	c := &calls{}
	inLoop(t, c, func(src source) {
		src <- Name{"ns", "a"}
		want(t, c, "ns/a@0s")
		time.Sleep(time.Second)
		src <- Name{"ns", "a"}
		want(t, c, "ns/a@0s ns/a@1s")
	})
}

func TestLoopComesAgain(t *testing.T) {
	c := &calls{again: 10 * time.Second}
	inLoop(t, c, func(src source) {
		src <- Name{"", "a"}
		time.Sleep(time.Minute)
		want(t, c, "/a@0s /a@10s")
	})
}

func TestLoopBacksOff(t *testing.T) {
	c := &calls{errs: 4}
	inLoop(t, c, func(src source) {
		src <- Name{"", "a"}
		time.Sleep(time.Hour)
		want(t, c, "/a@0s /a@50ms /a@150ms /a@350ms /a@750ms")
		c.mu.Lock()
		c.errs, c.list, c.begun = 1, nil, time.Now() // after a success, pauses are short again
		c.mu.Unlock()
		src <- Name{"", "a"}
		time.Sleep(time.Hour)
		want(t, c, "/a@0s /a@50ms")
	})
}

func TestLoopPausesAtMostAMinute(t *testing.T) {
	c := &calls{errs: 1000}
	inLoop(t, c, func(src source) {
		src <- Name{"", "a"}
		time.Sleep(time.Hour)
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if n := len(c.list); n < 65 || n > 75 {
			t.Errorf("got %d tries in an hour, want about one a minute", n)
		}
	})
}

// TestLoopOutlivesErrors lets the source fail for a while.
func TestLoopOutlivesErrors(t *testing.T) {
	c := &calls{}
	inLoop(t, c, func(src source) {
		src <- Name{}
		src <- Name{"", "a"}
		time.Sleep(time.Second)
		src <- Name{}
		src <- Name{"", "b"}
		want(t, c, "/a@0s /b@1s")
	})
}

// TestLoopEndsWithAFailure lets the context end while a try fails: nothing is put off.
func TestLoopEndsWithAFailure(t *testing.T) {
	c := &calls{errs: 1 << 30}
	inLoop(t, c, func(src source) {
		src <- Name{"", "a"}
		src <- Name{"", "b"}
	})
}
