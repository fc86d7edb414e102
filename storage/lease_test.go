package storage_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
	"github.com/coracle-project/coracle/storage/storagetest"
)

// granting counts leases.
type granting struct {
	storage.Store
	n    atomic.Int64
	last atomic.Int64 // the time to live of the newest
}

func (g *granting) Lease(ctx context.Context, ttl time.Duration) (storage.LeaseID, error) {
	g.n.Add(1)
	g.last.Store(int64(ttl))
	return g.Store.Lease(ctx, ttl)
}

func TestLeasesShare(t *testing.T) {
	g := &granting{Store: memory.New(memory.Config{})}
	defer g.Close()
	now := time.Unix(1000, 0)
	l := storage.NewLeases(g, func() time.Time { return now })
	step := func(advance, ttl time.Duration, wantLeases int64) {
		t.Helper()
		now = now.Add(advance)
		if _, err := l.Get(t.Context(), ttl); err != nil {
			t.Fatal(err)
		}
		if got := g.n.Load(); got != wantLeases {
			t.Fatalf("got %d leases, want %d", got, wantLeases)
		}
	}
	step(0, time.Hour, 1)
	step(30*time.Second, time.Hour, 1)
	step(30*time.Second, time.Hour, 1)
	step(time.Second, time.Hour, 2) // the first would end too early
	step(0, time.Minute, 3)
	step(0, time.Hour, 3) // both remain in use
	step(0, time.Hour-20*time.Second, 3)
	if got, want := time.Duration(g.last.Load()), time.Minute+3*time.Second; got != want {
		t.Errorf("lease for a minute: got %v, want %v", got, want)
	}
	for range 1000 {
		step(0, 2*time.Hour, 4)
	}
	step(0, 2*time.Hour, 5) // the fourth is full
}

func TestLeasesConcurrent(t *testing.T) {
	g := &granting{Store: memory.New(memory.Config{})}
	defer g.Close()
	l := storage.NewLeases(g, nil)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if _, err := l.Put(t.Context(), fmt.Sprintf("/a/%d", i), nil, storage.Pre{}, time.Hour); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := g.n.Load(); got != 1 {
		t.Errorf("got %d leases for 50 keys at once, want 1", got)
	}
}

// fakeClock ends leases on demand.
type fakeClock struct {
	mu    sync.Mutex
	funcs []func()
	ttls  []time.Duration
}

func (c *fakeClock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.funcs, c.ttls = append(c.funcs, f), append(c.ttls, d)
	return func() bool { return true }
}

func TestLeasesReplaceEnded(t *testing.T) {
	clock := &fakeClock{}
	mem := memory.New(memory.Config{Clock: clock})
	defer mem.Close()
	l := storage.NewLeases(mem, nil)
	if _, err := l.Put(t.Context(), "/a/x", nil, storage.Pre{}, time.Minute); err != nil {
		t.Fatal(err)
	}
	clock.funcs[0]()
	if _, err := mem.Get(t.Context(), "/a/x"); storage.KindOf(err) != storage.NotFound {
		t.Fatalf("Get after the end: %v", err)
	}
	if _, err := l.Put(t.Context(), "/a/y", nil, storage.Pre{}, time.Minute); err != nil {
		t.Fatalf("Put when the shared lease has ended early: %v", err)
	}
	if len(clock.ttls) != 2 {
		t.Errorf("got %d leases, want 2", len(clock.ttls))
	}
}

func TestLeasesFault(t *testing.T) {
	for i := 0; ; i++ {
		f := storagetest.NewFaulty(memory.New(memory.Config{}))
		f.FailAt(i, storagetest.Refuse)
		l := storage.NewLeases(f, nil)
		_, err := l.Put(t.Context(), "/a/x", nil, storage.Pre{}, time.Minute)
		f.Close()
		if f.Ops() <= i {
			if err != nil {
				t.Errorf("without a fault: %v", err)
			}
			return
		}
		if storage.KindOf(err) != storage.Unavailable {
			t.Errorf("fault %d: got %v", i, err)
		}
	}
}
