package followtest

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/follow"
)

// The laws of slow readers and of the end of following. Run (suite.go) calls each as a subtest.

// testSlowReader checks that a reader that does not read costs one open stream and no further
// goroutine, however much is written, and that it gets each change afterwards.
func testSlowReader[V any](t *testing.T, b *bench[V]) {
	b.put("a", 0)
	r := b.read(false)
	r.inStep()
	before := runtime.NumGoroutine()
	const n = 300
	for i := 1; i <= n; i++ {
		b.put("a", i)
	}
	if after := runtime.NumGoroutine(); after > before+20 {
		t.Errorf("there are %d goroutines, and were %d before so much was written", after, before)
	}
	if open := r.breaker.open.Load(); open > 1 {
		t.Errorf("%d streams are open", open)
	}
	last := 0
	for last < n {
		for _, number := range r.next().numbers {
			if number != last+1 {
				t.Fatalf("told of %d after %d", number, last)
			}
			last = number
		}
	}
}

// testEnd checks that no stream and no goroutine is left, however following ends: the context ends
// while it waits, the context has ended before it begins, or the loop is left.
func testEnd[V any](t *testing.T, b *bench[V]) {
	b.put("a", 1)
	b.put("b", 1)
	goroutines := runtime.NumGoroutine()
	for _, way := range []string{"context ends", "context has ended", "loop is left"} {
		br := newBreaker(b.rig.Source)
		ctx, cancel := context.WithCancel(t.Context())
		if way == "context has ended" {
			cancel()
		}
		ended := make(chan int, 1)
		go func() {
			told := 0
			for batch := range follow.Changes(ctx, follow.Source[V](br), follow.Options{}) {
				told++
				if way == "loop is left" {
					break
				}
				if batch.InStep { // the follower waits for changes next
					time.AfterFunc(10*time.Millisecond, cancel)
				}
			}
			ended <- told
		}()
		select {
		case told := <-ended:
			if way == "loop is left" && told != 1 {
				t.Errorf("%s: told %d batches", way, told)
			}
		case <-time.After(patience):
			t.Fatalf("%s, and following goes on", way)
		}
		cancel()
		if n := br.open.Load(); n != 0 {
			t.Errorf("%s: %d streams are left open", way, n)
		}
	}
	for until := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines+5 { // connections come and go
		t.Error(fmt.Sprintf("there are %d goroutines, and were %d before", n, goroutines))
	}
}
