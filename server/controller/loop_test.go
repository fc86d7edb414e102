package controller_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/server/controller"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source is a Source of the names that are sent to it; "" stands for an error.
type source chan controller.Name

func (s source) names(ctx context.Context, add func(controller.Name), failed func(error)) {
	for {
		select {
		case name := <-s:
			if name.Name == "" {
				failed(errors.New("no watch"))
				continue
			}
			add(name)
		case <-ctx.Done():
			return
		}
	}
}

// calls records the calls of reconcile and their times.
type calls struct {
	mu    sync.Mutex
	begun time.Time
	list  []string
	again time.Duration
	errs  int // how many of the next calls fail
}

func (c *calls) reconcile(_ context.Context, name controller.Name) (time.Duration, error) {
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
			controller.Loop{Source: src.names, Reconcile: c.reconcile}.Run(ctx)
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
		src <- controller.Name{Namespace: "ns", Name: "a"}
		want(t, c, "ns/a@0s")
		time.Sleep(time.Second)
		src <- controller.Name{Namespace: "ns", Name: "a"}
		want(t, c, "ns/a@0s ns/a@1s")
	})
}

func TestLoopComesAgain(t *testing.T) {
	c := &calls{again: 10 * time.Second}
	inLoop(t, c, func(src source) {
		src <- controller.Name{Name: "a"}
		time.Sleep(time.Minute)
		want(t, c, "/a@0s /a@10s")
	})
}

func TestLoopBacksOff(t *testing.T) {
	c := &calls{errs: 4}
	inLoop(t, c, func(src source) {
		src <- controller.Name{Name: "a"}
		time.Sleep(time.Hour)
		want(t, c, "/a@0s /a@50ms /a@150ms /a@350ms /a@750ms")
		c.mu.Lock()
		c.errs, c.list, c.begun = 1, nil, time.Now() // a success has made the pauses short again
		c.mu.Unlock()
		src <- controller.Name{Name: "a"}
		time.Sleep(time.Hour)
		want(t, c, "/a@0s /a@50ms")
	})
}

func TestLoopPausesAtMostAMinute(t *testing.T) {
	c := &calls{errs: 1000}
	inLoop(t, c, func(src source) {
		src <- controller.Name{Name: "a"}
		time.Sleep(time.Hour)
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if n := len(c.list); n < 65 || n > 75 {
			t.Errorf("got %d tries in an hour, want about one a minute", n)
		}
	})
}

// TestLoopOutlivesErrors: a Source that fails for a while does not end the Loop.
func TestLoopOutlivesErrors(t *testing.T) {
	c := &calls{}
	inLoop(t, c, func(src source) {
		src <- controller.Name{}
		src <- controller.Name{Name: "a"}
		time.Sleep(time.Second)
		src <- controller.Name{}
		src <- controller.Name{Name: "b"}
		want(t, c, "/a@0s /b@1s")
	})
}

// TestLoopEndsWithAFailure: if the context ends while a try fails, the Loop ends without another
// try.
func TestLoopEndsWithAFailure(t *testing.T) {
	c := &calls{errs: 1 << 30}
	inLoop(t, c, func(src source) {
		src <- controller.Name{Name: "a"}
		src <- controller.Name{Name: "b"}
	})
}

// workload reconciles many names, each for a random time, and fails the test if two workers have
// one name at once.
type workload struct {
	t     *testing.T
	mu    sync.Mutex
	busy  map[controller.Name]bool
	most  int                     // the largest number of names in work at once
	owed  map[controller.Name]int // the changes of each name after which no call has begun
	calls int
	rand  *rand.Rand
}

func (c *workload) reconcile(ctx context.Context, name controller.Name) (again time.Duration, err error) {
	c.mu.Lock()
	if c.busy[name] {
		c.t.Errorf("two work on %v", name)
	}
	c.busy[name] = true
	c.most = max(c.most, len(c.busy))
	c.calls++
	delete(c.owed, name)
	lasts, outcome := time.Duration(c.rand.IntN(20))*time.Millisecond, c.rand.IntN(10)
	c.mu.Unlock()
	select {
	case <-time.After(lasts):
	case <-ctx.Done():
	}
	c.mu.Lock()
	delete(c.busy, name)
	c.mu.Unlock()
	switch outcome {
	case 0:
		return 0, errors.New("not yet")
	case 1:
		return 10 * time.Millisecond, nil
	}
	return 0, nil
}

// TestLoopWorkers gives several workers many names that change all the time: no two workers have
// one name, no change is missed, and all workers work.
func TestLoopWorkers(t *testing.T) {
	const workers, names, changes = 8, 50, 5000
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			c := &workload{t: t, busy: map[controller.Name]bool{}, owed: map[controller.Name]int{}, rand: rand.New(rand.NewPCG(seed, 0))}
			src := make(source)
			done := make(chan struct{})
			go func() {
				controller.Loop{Source: src.names, Reconcile: c.reconcile, Workers: workers}.Run(ctx)
				close(done)
			}()
			change := rand.New(rand.NewPCG(seed, 1))
			for range changes {
				name := controller.Name{Name: fmt.Sprint(change.IntN(names))}
				c.mu.Lock()
				c.owed[name]++
				c.mu.Unlock()
				src <- name
				time.Sleep(time.Duration(change.IntN(2000)) * time.Microsecond)
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			c.mu.Lock()
			if len(c.owed) > 0 {
				t.Errorf("seed %d: no call has begun after the changes %v", seed, c.owed)
			}
			if c.most != workers {
				t.Errorf("seed %d: %d names were in work at once, want %d", seed, c.most, workers)
			}
			settled := c.calls
			c.mu.Unlock()
			time.Sleep(time.Hour)
			if c.calls != settled {
				t.Errorf("seed %d: %d calls for nothing", seed, c.calls-settled)
			}
			cancel()
			<-done
		})
	}
}

// TestLoopIsFair: one name is added again all the time, beside others. The next name is always the
// one that has waited longest.
func TestLoopIsFair(t *testing.T) {
	c := &calls{again: time.Second}
	slow := func(ctx context.Context, name controller.Name) (time.Duration, error) {
		time.Sleep(2 * time.Second)
		return c.reconcile(ctx, name)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		src := make(source)
		c.begun = time.Now()
		done := make(chan struct{})
		go func() {
			controller.Loop{Source: src.names, Reconcile: slow}.Run(ctx)
			close(done)
		}()
		for _, name := range []string{"busy", "a", "busy", "b", "busy", "c"} {
			src <- controller.Name{Name: name}
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		want(t, c, "/busy@2s /a@4s /busy@6s /b@8s /c@10s")
		cancel()
		<-done
	})
}

// TestLoopEndsWithManyWaiting: a Loop ends at once, although its names are due much later.
func TestLoopEndsWithManyWaiting(t *testing.T) {
	later := func(context.Context, controller.Name) (time.Duration, error) { return 24 * time.Hour, nil }
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		src := make(source)
		done := make(chan struct{})
		go func() {
			controller.Loop{Source: src.names, Reconcile: later, Workers: 4}.Run(ctx)
			close(done)
		}()
		for i := range 10_000 {
			src <- controller.Name{Name: fmt.Sprint(i)}
		}
		synctest.Wait()
		begun := time.Now()
		cancel()
		<-done
		if took := time.Since(begun); took > 0 {
			t.Errorf("the loop ended after %v", took)
		}
	})
}

// BenchmarkLoop measures how soon a change is reconciled while many names wait for their time.
func BenchmarkLoop(b *testing.B) {
	for _, waiting := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			src, seen := make(source), make(chan struct{})
			reconcile := func(context.Context, controller.Name) (time.Duration, error) {
				seen <- struct{}{}
				return 24 * time.Hour, nil
			}
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan struct{})
			go func() {
				controller.Loop{Source: src.names, Reconcile: reconcile}.Run(ctx)
				close(done)
			}()
			for i := range waiting {
				src <- controller.Name{Name: fmt.Sprint(i)}
				<-seen
			}
			b.ReportAllocs()
			for b.Loop() {
				src <- controller.Name{Name: "change"}
				<-seen
			}
			cancel()
			<-done
		})
	}
}
