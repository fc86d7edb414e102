package cache_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/memory"
)

// silent is a cursor that never yields.
type silent struct {
	once sync.Once
	done chan struct{}
}

func (s *silent) Next(ctx context.Context) (storage.Batch, error) {
	select {
	case <-ctx.Done():
		return storage.Batch{}, ctx.Err()
	case <-s.done:
		return storage.Batch{}, fail(storage.Closed)
	}
}
func (s *silent) Progress() {}
func (s *silent) Close()    { s.once.Do(func() { close(s.done) }) }

// slowCursor is a cursor that yields one change at a time, each after a delay.
type slowCursor struct {
	storage.Cursor
	delay time.Duration
	rest  []storage.Event
	rev   storage.Revision
}

func (c *slowCursor) Next(ctx context.Context) (storage.Batch, error) {
	if len(c.rest) == 0 {
		batch, err := c.Cursor.Next(ctx)
		if err != nil || len(batch.Events) == 0 {
			return batch, err
		}
		c.rest, c.rev = batch.Events, batch.Rev
	}
	time.Sleep(c.delay)
	ev := c.rest[:1:1]
	if c.rest = c.rest[1:]; len(c.rest) == 0 {
		return storage.Batch{Events: ev, Rev: c.rev}, nil
	}
	return storage.Batch{Events: ev, Rev: ev[0].Rev}, nil
}

// TestLaggingStream loads resources while the watch is far behind the store, and resumes watches
// from its past.
func TestLaggingStream(t *testing.T) {
	u := &hookedStore{Store: memory.New(memory.Config{})}
	u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
		cur, err := u.Store.Watch(ctx, req)
		return &slowCursor{Cursor: cur, delay: 300 * time.Microsecond}, err
	}
	_, store, c := openOn(t, u, cache.Config{})
	other := c.Resource(cache.ResourceConfig{Name: "others", Prefix: "/registry/others/", Decode: decode})
	begin := put(t, store, "/registry/others/x", "v", nil)
	if _, err := other.List(t.Context(), cache.ListOptions{Prefix: "/registry/others/"}); err != nil { // opens the watch
		t.Fatal(err)
	}
	const writes = 40
	for i := range writes {
		put(t, store, fmt.Sprintf("%sns/%d", things, i%5), fmt.Sprint(i), nil)
	}
	for range 4 {
		r := c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: decode})
		for i := range 5 {
			put(t, store, fmt.Sprintf("%sns/%d", things, i%5), fmt.Sprint(i), nil)
			list, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Want: cache.Want{Match: cache.Any}})
			if err != nil {
				t.Fatal(err)
			}
			res, err := store.Range(t.Context(), storage.RangeRequest{Prefix: things, Rev: list.Rev})
			if err != nil {
				t.Fatal(err)
			}
			want := replica{}
			for _, e := range res.Entries {
				want[e.Key] = e.Rev
			}
			if got := replicaOf(list); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("List at %d: got %v, want %v", list.Rev, got, want)
			}
		}
		w := watch(t, r, cache.WatchOptions{Prefix: things, After: begin})
		for rev := begin + 1; rev <= begin+writes; {
			events, err := w.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if e.Rev != rev {
					t.Fatalf("watch after %d: got %d, want %d", begin, e.Rev, rev)
				}
				rev++
			}
		}
		w.Close()
		r.Close()
	}
}

// held is a cursor that yields nothing until release is closed.
type held struct {
	storage.Cursor
	release <-chan struct{}
}

func (h held) Next(ctx context.Context) (storage.Batch, error) {
	select {
	case <-h.release:
		return h.Cursor.Next(ctx)
	case <-ctx.Done():
		return storage.Batch{}, ctx.Err()
	}
}

// TestPastAheadOfWindow resumes a watch from the store's history, which is ahead of the shared
// watch. When the shared watch catches up, no change comes twice.
func TestPastAheadOfWindow(t *testing.T) {
	u := &hookedStore{Store: memory.New(memory.Config{})}
	release := make(chan struct{})
	u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
		cur, err := u.Store.Watch(ctx, req)
		if err != nil || req.Prev {
			return cur, err
		}
		return held{cur, release}, nil
	}
	r, store, _ := openOn(t, u, cache.Config{})
	key := things + "ns/a"
	begin := put(t, store, key, "0", nil)
	put(t, store, key, "1", nil)
	if _, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Want: cache.Want{Match: cache.Any}}); err != nil { // loads
		t.Fatal(err)
	}
	for i := range 5 {
		put(t, store, key, fmt.Sprint(i+2), nil)
	}
	w := watch(t, r, cache.WatchOptions{Prefix: things, After: begin})
	follows(t, w, begin+1, begin+6)
	close(release)
	last := put(t, store, key, "last", nil)
	follows(t, w, begin+7, last)
}

// lateProgress is a cursor that reports progress only from the third request on.
type lateProgress struct {
	storage.Cursor
	asked atomic.Int32
}

func (c *lateProgress) Progress() {
	if c.asked.Add(1) >= 3 {
		c.Cursor.Progress()
	}
}

func (c *lateProgress) Next(ctx context.Context) (storage.Batch, error) {
	for {
		batch, err := c.Cursor.Next(ctx)
		if err != nil || len(batch.Events) > 0 || c.asked.Load() >= 3 {
			return batch, err
		}
	}
}

// TestProgressIsAskedFor: while a read waits for a revision that another key has, the cache asks
// the store for progress again and again. The hook is told of each wait.
func TestProgressIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &hookedStore{Store: memory.New(memory.Config{})}
		u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
			cur, err := u.Store.Watch(ctx, req)
			return &lateProgress{Cursor: cur}, err
		}
		var waits []time.Duration
		r, store, _ := openOn(t, u, cache.Config{Hooks: cache.Hooks{Waited: func(_ context.Context, took time.Duration) {
			waits = append(waits, took)
		}}})
		rev := put(t, store, things+"ns/a", "1", nil)
		settle(t, r)
		waits = nil
		for range 2 {
			put(t, store, "/elsewhere/x", "v", nil)
			if o, err := r.Get(t.Context(), things+"ns/a", cache.Want{}); err != nil || o.Rev != rev {
				t.Errorf("Get: got %v, %v, want revision %d", o, err, rev)
			}
		}
		countStoreReads(t, r, cache.Behind, 0)
		if want := []time.Duration{15 * time.Millisecond, 5 * time.Millisecond}; !slices.Equal(waits, want) {
			t.Errorf("the hook was told of waits %v, want %v", waits, want)
		}
	})
}

// TestInitialAheadOfWindow: the initial objects of a watch do not come again when the shared watch
// catches up.
func TestInitialAheadOfWindow(t *testing.T) {
	u := &hookedStore{Store: memory.New(memory.Config{})}
	release := make(chan struct{})
	u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
		cur, err := u.Store.Watch(ctx, req)
		return held{cur, release}, err
	}
	_, store, c := openOn(t, u, cache.Config{})
	other := c.Resource(cache.ResourceConfig{Name: "others", Prefix: "/registry/others/", Decode: decode})
	if _, err := other.List(t.Context(), cache.ListOptions{Prefix: "/registry/others/"}); err != nil { // opens the watch
		t.Fatal(err)
	}
	key := things + "ns/a"
	rev := put(t, store, key, "1", nil)
	r := c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: decode})
	w := watch(t, r, cache.WatchOptions{Prefix: things, Initial: true, Want: cache.Want{Match: cache.Any}})
	for _, want := range []cache.Event{{Type: cache.Added, Rev: rev}, {Type: cache.Modified, Rev: rev + 1}} {
		events, err := w.Next(t.Context())
		if err != nil || len(events) != 1 || events[0].Type != want.Type || events[0].Rev != want.Rev {
			t.Fatalf("Next: got %+v, %v, want event %d at %d", events, err, want.Type, want.Rev)
		}
		if want.Type == cache.Added {
			close(release)
			put(t, store, key, "2", nil)
		}
	}
}

// TestCompactedWhileLoading: the shared watch loses changes after a load has read the objects and
// before it has joined the watch.
func TestCompactedWhileLoading(t *testing.T) {
	u, broken := breakableStore()
	var mu sync.Mutex
	reopened := make(chan struct{})
	stage := 0
	key := things + "ns/a"
	u.rng = func(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
		res, err := u.Store.Range(ctx, req)
		mu.Lock()
		first := stage == 0
		if first {
			stage = 1
		}
		mu.Unlock()
		if first {
			broken <- fail(storage.Compacted)
			<-reopened
		}
		return res, err
	}
	u.revision = func(ctx context.Context) (storage.Revision, error) {
		mu.Lock()
		defer mu.Unlock()
		if stage == 1 { // the cache asks for the revision to go on at: the change has an earlier one
			stage = 2
			put(t, u.Store, key, "lost", nil)
			close(reopened)
		}
		return u.Store.Revision(ctx)
	}
	r, store, _ := openOn(t, u, cache.Config{})
	put(t, store, key, "1", nil)
	if _, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Want: cache.Want{Match: cache.Any}}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Millisecond)
	if o, err := r.Get(t.Context(), key, cache.Want{}); err != nil || value(o) != "lost" {
		t.Errorf("Get: got %v, %v, want the lost change", value(o), err)
	}
	if err := r.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestCompactedAtTheEndOfLoad: the shared watch ends while a load applies the changes that came
// during it.
func TestCompactedAtTheEndOfLoad(t *testing.T) {
	u, broken := breakableStore()
	c := cache.New(u, cache.Config{})
	defer u.Close()
	defer c.Close()
	key := things + "ns/a"
	put(t, u, key, "before", nil)
	watches, open := make(chan struct{}, 10), u.watch
	u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
		watches <- struct{}{}
		return open(ctx, req)
	}
	var during sync.Once
	u.rng = func(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
		res, err := u.Store.Range(ctx, req)
		during.Do(func() {
			for rev := put(t, u, key, "during", nil); c.Seen() < rev; {
				time.Sleep(time.Millisecond)
			}
		})
		return res, err
	}
	var lose sync.Once
	r := c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: func(key string, value []byte) (cache.Decoded, error) {
		if strings.Contains(string(value), "during") {
			lose.Do(func() {
				<-watches
				broken <- fail(storage.Compacted)
				<-watches
				time.Sleep(5 * time.Millisecond) // until the resource knows it
			})
		}
		return decode(key, value)
	}})
	list, err := r.List(t.Context(), cache.ListOptions{Prefix: things})
	if err != nil || len(list.Objects) != 1 || value(list.Objects[0]) != "during" {
		t.Errorf("List: got %s, %v, want the object as it became during the load", show(list.Objects), err)
	}
}
