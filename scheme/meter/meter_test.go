package meter

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/coracle-project/coracle/scheme/meter/metertest"
)

func TestStep(t *testing.T) {
	for _, size := range []int{1, 7, Interval, 3 * Interval} {
		ctx := &metertest.Context{Context: t.Context(), End: 4}
		m := New(ctx)
		steps, between := 0, 0
		for before := 0; m.Step(size) == nil; before = ctx.Looks {
			if steps += size; ctx.Looks != before {
				between = 0
			}
			if between += size; between > Interval+size {
				t.Fatalf("Step(%d): %d steps without a look", size, between)
			}
		}
		if ctx.Looks != 4 || !errors.Is(m.Err(), context.DeadlineExceeded) || steps > 4*(Interval+size) {
			t.Errorf("Step(%d): got %d looks, %d steps, error %v", size, ctx.Looks, steps, m.Err())
		}
		if err := m.Step(1); !errors.Is(err, context.DeadlineExceeded) || ctx.Looks != 4 {
			t.Errorf("Step after the end: got %v after %d looks, want the same error and no look", err, ctx.Looks)
		}
	}
}

func TestBudget(t *testing.T) {
	for _, budget := range []int{0, 1, Interval - 1, Interval, Interval + 1, 10 * Interval} {
		for _, size := range []int{1, 1000, Interval + 5} {
			m := WithBudget(t.Context(), budget)
			steps := 0
			for m.Step(size) == nil {
				steps += size
			}
			if want := budget / size * size; steps != want || m.Err() != ErrSpent {
				t.Errorf("budget %d, Step(%d): got %d steps, error %v, want %d", budget, size, steps, m.Err(), want)
			}
		}
	}
}

func TestNone(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	m := ForSize(ended, Interval-1)
	if err := m.Step(1 << 40); m != nil || err != nil || m.Err() != nil {
		t.Errorf("a small input: got %v, %v", m, err)
	}
	if err := ForSize(ended, Interval).Step(1); !errors.Is(err, context.Canceled) {
		t.Errorf("a large input: got %v, want that the context has ended", err)
	}
}

// At each check of the context, other goroutines may run. (The runtime keeps two queues, so one
// check may not be enough for a single goroutine.)
func TestOthersRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	m := New(t.Context())
	for range 100 {
		var ran atomic.Bool
		done := make(chan struct{})
		go func() {
			ran.Store(true)
			close(done)
		}()
		looks := 0
		for ; looks < 10 && !ran.Load(); looks++ {
			m.Step(Interval + 1)
		}
		if !ran.Load() {
			t.Fatalf("a goroutine that was ready has not run after %d looks", looks)
		}
		<-done
	}
}
