package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router/request"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// encoded is an object as JSON.
type encoded string

func (e encoded) JSON() []byte                                                { return []byte(e) }
func (e encoded) Head() int                                                   { return 1 }
func (e encoded) Form(_ uint32, build func() ([]byte, error)) ([]byte, error) { return build() }

func object(namespace, name string) request.Encoded {
	return encoded(fmt.Sprintf(`{"kind":"X","apiVersion":"v1","metadata":{"name":%q,"namespace":%q}}`, name, namespace))
}

// source is a Source that shows what it is given.
type source struct {
	events chan []request.Event
	mu     sync.Mutex
	opened int
	fail   int // so many calls of Watch
}

func (s *source) Watch(context.Context, *request.ListRequest) (request.EventCursor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	if s.fail > 0 {
		s.fail--
		return nil, errors.New("no watch")
	}
	return &sourceCursor{s}, nil
}

type sourceCursor struct{ s *source }

func (c *sourceCursor) Next(ctx context.Context) ([]request.Event, error) {
	select {
	case e := <-c.s.events:
		if e == nil {
			return nil, io.EOF
		}
		return e, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *sourceCursor) Close() {}

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
func inLoop(t *testing.T, src *source, c *calls, f func()) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		src.events = make(chan []request.Event)
		c.begun = time.Now()
		done := make(chan struct{})
		go func() {
			newLoop(src, c.reconcile, zap.NewNop()).run(ctx)
			close(done)
		}()
		f()
		cancel()
		<-done
	})
}

func added(objects ...request.Encoded) []request.Event {
	events := []request.Event{{Type: request.Bookmark, ResourceVersion: "7"}}
	for _, o := range objects {
		events = append(events, request.Event{Type: request.Added, Object: o})
	}
	return events
}

func want(t *testing.T, c *calls, text string) {
	t.Helper()
	synctest.Wait()
	if got := c.String(); got != text {
		t.Errorf("reconciled %q, want %q", got, text)
	}
}

func TestLoopReconcilesChanges(t *testing.T) {
	src, c := &source{}, &calls{}
	inLoop(t, src, c, func() {
		src.events <- added(object("ns", "a"))
		want(t, c, "ns/a@0s")
		time.Sleep(time.Second)
		src.events <- added(object("ns", "a"))
		want(t, c, "ns/a@0s ns/a@1s")
	})
}

func TestLoopComesAgain(t *testing.T) {
	src, c := &source{}, &calls{again: 10 * time.Second}
	inLoop(t, src, c, func() {
		src.events <- added(object("", "a"))
		time.Sleep(time.Minute)
		want(t, c, "/a@0s /a@10s")
	})
}

func TestLoopBacksOff(t *testing.T) {
	src, c := &source{}, &calls{errs: 4}
	inLoop(t, src, c, func() {
		src.events <- added(object("", "a"))
		time.Sleep(time.Hour)
		want(t, c, "/a@0s /a@50ms /a@150ms /a@350ms /a@750ms")
		c.mu.Lock()
		c.errs, c.list, c.begun = 1, nil, time.Now() // after a success, pauses are short again
		c.mu.Unlock()
		src.events <- added(object("", "a"))
		time.Sleep(time.Hour)
		want(t, c, "/a@0s /a@50ms")
	})
}

func TestLoopPausesAtMostAMinute(t *testing.T) {
	src, c := &source{}, &calls{errs: 1000}
	inLoop(t, src, c, func() {
		src.events <- added(object("", "a"))
		time.Sleep(time.Hour)
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if n := len(c.list); n < 65 || n > 75 {
			t.Errorf("got %d tries in an hour, want about one a minute", n)
		}
	})
}

func TestLoopWatchesAgain(t *testing.T) {
	src, c := &source{fail: 2}, &calls{}
	inLoop(t, src, c, func() {
		time.Sleep(2500 * time.Millisecond)
		src.events <- added(object("", "a"))
		src.events <- nil // the watch ends
		time.Sleep(1500 * time.Millisecond)
		src.events <- added(object("", "b"))
		want(t, c, "/a@2.5s /b@4s")
		if src.opened != 4 {
			t.Errorf("opened %d watches, want 4", src.opened)
		}
	})
}

// TestLoopEndsWithAFailure lets the context end while a try fails: nothing is put off.
func TestLoopEndsWithAFailure(t *testing.T) {
	src, c := &source{}, &calls{errs: 1 << 30}
	inLoop(t, src, c, func() { src.events <- added(object("", "a"), object("", "b")) })
}
