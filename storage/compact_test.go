package storage_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
	"github.com/coracle-project/coracle/storage/storagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// compacting records compactions.
type compacting struct {
	storage.Store
	n    atomic.Int64
	last atomic.Uint64
}

func (c *compacting) Compact(ctx context.Context, rev storage.Revision) error {
	c.n.Add(1)
	c.last.Store(uint64(rev))
	return c.Store.Compact(ctx, rev)
}

func write(t *testing.T, s storage.Store, n int) storage.Revision {
	t.Helper()
	var rev storage.Revision
	for i := range n {
		e, err := s.Put(t.Context(), fmt.Sprintf("/a/%d", i%10), nil, storage.Pre{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		rev = e.Rev
	}
	return rev
}

func TestCompactorInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		defer mem.Close()
		s := &compacting{Store: mem}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 3 { // three servers, one store
			wg.Go(func() { (&storage.Compactor{Store: s, Interval: time.Minute}).Run(ctx) })
		}
		synctest.Wait()
		write(t, s, 20)
		time.Sleep(70 * time.Second)
		synctest.Wait()
		mark := mem.Current()
		write(t, s, 20)
		for i := range 3 {
			time.Sleep(time.Minute)
			synctest.Wait()
			if got, most := s.n.Load(), int64(i+2); got > most {
				t.Fatalf("minute %d: got %d compactions of 3 servers, want at most %d", i+2, got, most)
			}
		}
		if got := s.last.Load(); got < uint64(mark) {
			t.Errorf("compacted to %d, want at least %d", got, mark)
		}
		n, rev := s.n.Load(), mem.Current()
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := mem.Current(); got > rev+6 {
			t.Errorf("an idle store went from revision %d to %d in an hour (%d compactions)", rev, got, s.n.Load()-n)
		}
		cancel()
		wg.Wait()
	})
}

func TestCompactorKeepsAnInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		defer mem.Close()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { (&storage.Compactor{Store: mem, Interval: time.Minute}).Run(ctx) })
		var past []storage.Revision
		for i := range 300 { // two writes per second
			past = append(past, write(t, mem, 2))
			time.Sleep(time.Second)
			synctest.Wait()
			if i < 59 {
				continue
			}
			if _, err := mem.Range(ctx, storage.RangeRequest{Prefix: "/a/", Rev: past[i-58]}); err != nil {
				t.Fatalf("second %d: reading what was current 59 s ago: %v", i, err)
			}
		}
		if _, err := mem.Range(ctx, storage.RangeRequest{Prefix: "/a/", Rev: past[0]}); !errors.Is(err, storage.Compacted) {
			t.Errorf("reading what was current 5 intervals ago: got %v, want Compacted", err)
		}
		cancel()
		wg.Wait()
	})
}

func TestCompactorRevisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		defer mem.Close()
		s := &compacting{Store: mem}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				(&storage.Compactor{Store: s, Interval: time.Hour, Revisions: 100, Poll: time.Second}).Run(ctx)
			})
		}
		synctest.Wait()
		write(t, s, 90)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got := s.n.Load(); got != 0 {
			t.Fatalf("a history of 90: got %d compactions, want 0", got)
		}
		now := write(t, s, 30)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if n, to := s.n.Load(), s.last.Load(); n != 1 || to != uint64(now)-50 {
			t.Errorf("a history of 120: got %d compactions, to %d, want 1, to %d", n, to, now-50)
		}
		cancel()
		wg.Wait()
	})
}

func TestCompactorFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for i := range 12 {
			mem := memory.New(memory.Config{})
			f := storagetest.NewFaulty(mem)
			f.FailAt(i, storagetest.Pretend)
			ctx, cancel := context.WithCancel(t.Context())
			failed := 0
			var wg sync.WaitGroup
			c := &storage.Compactor{Store: f, Interval: time.Minute, Revisions: -1, Failed: func(error) { failed++ }}
			wg.Go(func() { c.Run(ctx) })
			for range 8 {
				write(t, mem, 10)
				time.Sleep(time.Minute)
				synctest.Wait()
			}
			cancel()
			wg.Wait()
			if failed != 1 {
				t.Errorf("fault %d: %d reports, want 1", i, failed)
			}
			if _, err := mem.Range(t.Context(), storage.RangeRequest{Prefix: "/a/", Rev: 10}); !errors.Is(err, storage.Compacted) {
				t.Errorf("fault %d: nothing has been compacted after it: %v", i, err)
			}
			mem.Close()
		}
	})
}
