package embedded

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/storage/mvcc"

	"github.com/coracle-project/coracle/storage"
)

// halting is a store that calls halt before each transaction that writes.
type halting struct {
	mvcc.KV
	halt func(n int) // n counts from 1
	n    int
}

func (h *halting) Write(trace *traceutil.Trace) mvcc.TxnWrite {
	h.n++
	h.halt(h.n)
	return h.KV.Write(trace)
}

// openHalting opens a store whose leader calls halt before it applies a change.
func openHalting(t *testing.T, dir string, halt func(s *Store, n int)) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Dir: dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.member.kv = &halting{KV: s.member.kv, halt: func(n int) { halt(s, n) }}
	return s
}

// awaitQueue waits until n requests wait for the leader.
func (m *member) awaitQueue(n int) {
	for {
		m.mu.Lock()
		waiting := len(m.mu.queue)
		m.mu.Unlock()
		if waiting >= n {
			return
		}
		runtime.Gosched()
	}
}

// TestPanic lets a leader panic. The panic reaches its caller. The other writes of the batch are in
// doubt, and waiting and later ones are refused. Reads go on, and the next start has what was in
// the log.
func TestPanic(t *testing.T) {
	t.Parallel()
	const writers = 8
	dir := t.TempDir()
	led, half := make(chan struct{}), make(chan struct{})
	s := openHalting(t, dir, func(s *Store, n int) {
		switch n {
		case 1:
			close(led)
			s.member.awaitQueue(writers) // which are the next batch
		case 3:
			close(half)
			s.member.awaitQueue(1)
			panic("halted")
		}
	})
	put := func(key string) (err error) {
		defer func() {
			if reason := recover(); reason != nil {
				err = fmt.Errorf("panic: %v", reason)
			}
		}()
		_, err = s.Put(t.Context(), key, nil, storage.Pre{}, 0)
		return err
	}
	var wg sync.WaitGroup
	errs := make([]error, writers)
	wg.Go(func() {
		if err := put("/a/first"); err != nil {
			t.Errorf("Put: %v", err)
		}
	})
	wg.Go(func() {
		<-half
		if err := put("/a/late"); !errors.Is(err, storage.Unavailable) {
			t.Errorf("Put behind the batch: got %v, want %v", err, storage.Unavailable)
		}
	})
	<-led
	for w := range errs {
		wg.Go(func() { errs[w] = put(fmt.Sprintf("/a/%d", w)) })
	}
	wg.Wait()
	panicked := 0
	for _, err := range errs {
		if !errors.Is(err, storage.InDoubt) {
			panicked++
		}
	}
	if panicked != 1 {
		t.Errorf("%d writers are not in doubt, want the one that panicked", panicked)
	}
	if err := put("/a/more"); !errors.Is(err, storage.Unavailable) {
		t.Errorf("Put afterwards: got %v, want %v", err, storage.Unavailable)
	}
	if _, err := s.Get(t.Context(), "/a/first"); err != nil {
		t.Errorf("Get afterwards: %v", err)
	}
	now, err := s.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Watch(t.Context(), storage.WatchRequest{Prefix: "/a/", After: 1})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := c.Next(t.Context()); err != nil || b.Rev != now || len(b.Events) != int(now-1) {
		t.Errorf("Next afterwards: got %+v, %v, want all up to %d", b, err, now)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(t.Context(), Config{Dir: dir, NoSync: true}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r, err := s.Range(t.Context(), storage.RangeRequest{Prefix: "/a/"}); err != nil || len(r.Entries) != 1+writers {
		t.Errorf("after a restart: got %d entries, %v, want %d", len(r.Entries), err, 1+writers)
	}
}

// TestWatchFromNow: a watch from the current revision does not show a write that could be read
// before the watch was opened. This is so even if the rest of the write's batch is still being
// applied.
func TestWatchFromNow(t *testing.T) {
	t.Parallel()
	half, watched := make(chan struct{}), make(chan struct{})
	s := openHalting(t, t.TempDir(), func(s *Store, n int) {
		switch n {
		case 1:
			s.member.awaitQueue(2)
		case 3:
			close(half)
			<-watched
		}
	})
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			if _, err := s.Put(t.Context(), fmt.Sprintf("/a/%d", w), nil, storage.Pre{}, 0); err != nil {
				t.Error(err)
			}
		})
	}
	<-half
	read, err := s.Range(t.Context(), storage.RangeRequest{Prefix: "/a/"})
	if err != nil || len(read.Entries) != 2 {
		t.Fatalf("Range: got %+v, %v, want 2 entries", read, err)
	}
	c, err := s.Watch(context.Background(), storage.WatchRequest{Prefix: "/a/"})
	if err != nil {
		t.Fatal(err)
	}
	close(watched)
	wg.Wait()
	b, err := c.Next(t.Context())
	if err != nil || len(b.Events) != 1 || b.Events[0].Rev != read.Rev+1 {
		t.Errorf("Next: got %+v, %v, want the event at %d", b, err, read.Rev+1)
	}
}
