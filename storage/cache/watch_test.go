package cache_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/memory"
)

func watch(t testing.TB, r *cache.Resource, opts cache.WatchOptions) *cache.Watcher {
	t.Helper()
	w, err := r.Watch(t.Context(), opts)
	if err != nil {
		t.Fatalf("Watch(%+v): %v", opts, err)
	}
	t.Cleanup(w.Close)
	return w
}

// settle waits until the cache is loaded and has all changes of the store.
func settle(t testing.TB, r *cache.Resource) {
	t.Helper()
	if _, err := r.List(t.Context(), cache.ListOptions{Prefix: things + "none/"}); err != nil {
		t.Fatal(err)
	}
}

// TestSince: changes before Since are not a resource's history, though the store has them.
func TestSince(t *testing.T) {
	_, store, c := open(t, cache.Config{})
	first := put(t, store, "/registry/late/a", "v", nil)
	last := put(t, store, "/registry/late/a", "w", nil)
	r := c.Resource(cache.ResourceConfig{Name: "late", Prefix: "/registry/late/", Decode: decode, Since: last})
	if w, err := r.Watch(t.Context(), cache.WatchOptions{Prefix: "/registry/late/", After: first - 1}); !errors.Is(err, storage.Compacted) {
		t.Errorf("from before: got %v, %v, want %v", w, err, storage.Compacted)
	}
	w := watch(t, r, cache.WatchOptions{Prefix: "/registry/late/", After: first})
	if events, err := w.Next(t.Context()); err != nil || len(events) != 1 || events[0].Rev != last {
		t.Errorf("from then on: got %v, %v, want the change at %d", events, err, last)
	}
}

func TestSlowWatcher(t *testing.T) {
	var evicted int
	r, store, _ := open(t, cache.Config{WindowEvents: 50, Hooks: cache.Hooks{Evicted: func(string) { evicted++ }}})
	slow := watch(t, r, cache.WatchOptions{Prefix: things})
	quick := watch(t, r, cache.WatchOptions{Prefix: things})
	for i := range 100 {
		put(t, store, fmt.Sprintf("%sns/%d", things, i%10), "v", nil)
		if events, err := quick.Next(t.Context()); err != nil || len(events) != 1 {
			t.Fatalf("quick watcher: got %v, %v", events, err)
		}
	}
	if st := r.Stats(); st.Window > 50 || len(st.Watchers) != 2 {
		t.Errorf("Stats: got %+v, want a window of at most 50 and 2 watchers", st)
	}
	if events, err := slow.Next(t.Context()); !errors.Is(err, storage.Compacted) {
		t.Errorf("slow watcher: got %v, %v, want %v", events, err, storage.Compacted)
	}
	if evicted != 1 {
		t.Errorf("got %d evictions, want 1", evicted)
	}
}

// TestIdleWatcher: a watcher that no change concerns goes on after the window has dropped the
// changes that it has not looked at, whether or not it waits in Next.
func TestIdleWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store, _ := open(t, cache.Config{WindowEvents: 20})
		byPrefix := watch(t, r, cache.WatchOptions{Prefix: things + "quiet/"})
		byKey := watch(t, r, cache.WatchOptions{Prefix: things + "busy/", Key: things + "busy/k"})
		type result struct {
			event cache.Event
			err   error
		}
		results := make(chan result)
		next := func(w *cache.Watcher) {
			events, err := w.Next(t.Context())
			if err == nil && len(events) != 1 {
				err = fmt.Errorf("got %d events, want 1", len(events))
			}
			if err != nil {
				results <- result{err: err}
				return
			}
			results <- result{event: events[0]}
		}
		for round := range 5 {
			asleep := round%2 == 0
			if asleep {
				go next(byPrefix)
				go next(byKey)
				synctest.Wait()
			}
			for i := range 100 {
				put(t, store, fmt.Sprintf("%sbusy/%d", things, i), "v", nil)
				if i%10 == 0 {
					settle(t, r)
				}
			}
			a := put(t, store, things+"quiet/x", "v", nil)
			b := put(t, store, things+"busy/k", "v", nil)
			for i := range 5 {
				put(t, store, fmt.Sprintf("%sbusy/%d", things, i), "v", nil)
			}
			if !asleep {
				go next(byPrefix)
				go next(byKey)
			}
			for range 2 {
				got := <-results
				if got.err != nil || got.event.Rev != a && got.event.Rev != b {
					t.Fatalf("round %d: got %+v, want the changes at %d and %d", round, got, a, b)
				}
			}
		}
	})
}

// TestBatchBeyondWindow: a change that enters and leaves the window within one batch ends the
// watchers that it concerns.
func TestBatchBeyondWindow(t *testing.T) {
	u, broken := breakableStore()
	r, store, _ := openOn(t, u, cache.Config{WindowEvents: 20})
	w := watch(t, r, cache.WatchOptions{Prefix: things + "quiet/"})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, err := w.Next(ctx); !errors.Is(err, context.DeadlineExceeded) { // it has no events
		t.Fatal(err)
	}
	open := u.watch
	gate := make(chan struct{})
	u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
		<-gate
		return open(ctx, req)
	}
	broken <- fail(storage.Unavailable)
	put(t, store, things+"quiet/x", "v", nil)
	for i := range 100 {
		put(t, store, fmt.Sprintf("%sbusy/%d", things, i), "v", nil)
	}
	close(gate)
	if events, err := w.Next(t.Context()); !errors.Is(err, storage.Compacted) && (err != nil || events[0].Object.Key != things+"quiet/x") {
		t.Errorf("Next: got %v, %v, want %v or the change", events, err, storage.Compacted)
	}
}

func TestSlowInitial(t *testing.T) {
	r, store, _ := open(t, cache.Config{WindowEvents: 50})
	for i := range 2000 {
		put(t, store, fmt.Sprintf("%sns/%d", things, i), "v", nil)
	}
	w := watch(t, r, cache.WatchOptions{Prefix: things, Initial: true})
	next := func(want error) {
		t.Helper()
		if events, err := w.Next(t.Context()); !errors.Is(err, want) || err == nil && len(events) == 0 {
			t.Fatalf("Next: got %v, %v, want %v", events, err, want)
		}
	}
	next(nil)
	change := func(n int) {
		for i := range n {
			put(t, store, fmt.Sprintf("%sns/%d", things, i), "v", nil)
		}
		settle(t, r)
		r.Trim() // drops what is old
	}
	change(50) // as many as the window holds
	next(nil)
	change(1)
	next(storage.Compacted)
}

// TestNextIsBounded: one call of Next returns 512 events, or all if there are fewer, wherever they
// come from.
func TestNextIsBounded(t *testing.T) {
	const most, n = 512, 1100
	r, store, _ := open(t, cache.Config{})
	settle(t, r)
	before, after := churn(t, store, n, n, 10)
	settle(t, r)
	late := r.Twin() // loaded after the changes, so they are only in the store's history
	settle(t, late)
	for name, w := range map[string]*cache.Watcher{
		"initial": watch(t, r, cache.WatchOptions{Prefix: things, Initial: true}),
		"window":  watch(t, r, cache.WatchOptions{Prefix: things, After: before}),
		"history": watch(t, late, cache.WatchOptions{Prefix: things, After: before}),
	} {
		for _, want := range []int{most, most, n - 2*most} {
			if events, err := w.Next(t.Context()); err != nil || len(events) != want {
				t.Errorf("Next of %s up to %d: got %d events, %v, want %d", name, after, len(events), err, want)
			}
		}
	}
}

// bubble runs f in fake time with a resource.
func bubble(t *testing.T, cfg cache.Config, f func(t *testing.T, r *cache.Resource, store storage.Store)) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Config{})
		c := cache.New(store, cfg)
		defer store.Close()
		defer c.Close()
		f(t, c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: decode}), store)
	})
}

func TestBookmarks(t *testing.T) {
	bubble(t, cache.Config{}, func(t *testing.T, r *cache.Resource, store storage.Store) {
		first := put(t, store, things+"ns/a", "1", nil)
		w := watch(t, r, cache.WatchOptions{Prefix: things + "quiet/", Bookmarks: true})
		silent := watch(t, r, cache.WatchOptions{Prefix: things + "quiet/"})
		begin := time.Now()
		want := first
		for range 5 {
			events, err := w.Next(t.Context())
			if err != nil || len(events) != 1 || events[0].Type != cache.Bookmark || events[0].Rev != want {
				t.Fatalf("Next: got %+v, %v, want a bookmark at %d", events, err, want)
			}
			if took := time.Since(begin); took < 45*time.Second || took > time.Minute {
				t.Errorf("bookmark after %v, want 45s to 1m", took)
			}
			begin = time.Now()
			want = put(t, store, things+"loud/a", "1", nil) // a new revision, but no event for the watcher
		}
		w = watch(t, r, cache.WatchOptions{Prefix: things, After: want, Bookmarks: true})
		if events, err := w.Next(t.Context()); err != nil || len(events) != 1 || events[0].Type != cache.Bookmark || events[0].Rev != want {
			t.Errorf("Next of a watch from now: got %+v, %v, want a bookmark at %d", events, err, want)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		w = watch(t, r, cache.WatchOptions{Prefix: things, After: want + 1, Bookmarks: true})
		if events, err := w.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Next of a watch from the future: got %+v, %v", events, err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if events, err := silent.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("watcher without bookmarks: got %v, %v", events, err)
		}
	})
}

// TestBookmarkWhilePublishing: no bookmark is sent while a change is being published, because the
// watcher may not have got it.
func TestBookmarkWhilePublishing(t *testing.T) {
	bubble(t, cache.Config{}, func(t *testing.T, r *cache.Resource, store storage.Store) {
		put(t, store, things+"ns/a", "1", nil)
		w := watch(t, r, cache.WatchOptions{Prefix: things, Bookmarks: true})
		w.Announce()
		go func() {
			time.Sleep(2 * time.Minute)
			put(t, store, things+"ns/a", "2", nil)
		}()
		if events, err := w.Next(t.Context()); err != nil || len(events) != 1 || events[0].Type != cache.Modified {
			t.Errorf("Next: got %+v, %v, want the change", events, err)
		}
	})
}

// TestBookmarkBeforeDeadline: the last bookmark comes as late as the client can still get it.
func TestBookmarkBeforeDeadline(t *testing.T) {
	for _, tt := range []struct{ lasts, before time.Duration }{
		{30 * time.Second, 2 * time.Second},
		{5 * time.Second, 2 * time.Second},
		{4 * time.Second, 2 * time.Second},
		{3 * time.Second, 1500 * time.Millisecond},
		{time.Second, 500 * time.Millisecond},
	} {
		bubble(t, cache.Config{}, func(t *testing.T, r *cache.Resource, store storage.Store) {
			w := watch(t, r, cache.WatchOptions{Prefix: things, Bookmarks: true})
			ctx, cancel := context.WithTimeout(t.Context(), tt.lasts)
			defer cancel()
			deadline, _ := ctx.Deadline()
			w.SetDeadline(deadline)
			rev := put(t, store, things+"ns/a", "1", nil)
			if events, err := w.Next(ctx); err != nil || events[0].Rev != rev {
				t.Fatalf("%v: Next: got %v, %v", tt.lasts, events, err)
			}
			events, err := w.Next(ctx)
			if err != nil || events[0].Type != cache.Bookmark || events[0].Rev != rev {
				t.Fatalf("%v: Next: got %+v, %v, want a bookmark at %d", tt.lasts, events, err, rev)
			}
			if left := time.Until(deadline); left != tt.before {
				t.Errorf("%v: bookmark %v before the deadline, want %v", tt.lasts, left, tt.before)
			}
			if events, err := w.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v: Next: got %v, %v", tt.lasts, events, err)
			}
		})
	}
}

// TestBookmarkInterval: a bookmark comes within the interval, however short the interval is.
func TestBookmarkInterval(t *testing.T) {
	for _, interval := range []time.Duration{1, 5, time.Second} {
		bubble(t, cache.Config{BookmarkInterval: interval}, func(t *testing.T, r *cache.Resource, _ storage.Store) {
			w := watch(t, r, cache.WatchOptions{Prefix: things, Bookmarks: true})
			begin := time.Now()
			events, err := w.Next(t.Context())
			if took := time.Since(begin); err != nil || events[0].Type != cache.Bookmark || took > interval {
				t.Errorf("Next: got %+v, %v after %v, want a bookmark within %v", events, err, took, interval)
			}
		})
	}
}

// TestBookmarkAfterDeadline: after the deadline no bookmark comes because of it.
func TestBookmarkAfterDeadline(t *testing.T) {
	for _, lasts := range []time.Duration{0, -time.Second, -time.Hour} {
		bubble(t, cache.Config{}, func(t *testing.T, r *cache.Resource, _ storage.Store) {
			w := watch(t, r, cache.WatchOptions{Prefix: things, Bookmarks: true})
			w.SetDeadline(time.Now().Add(lasts))
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if events, err := w.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v: Next: got %+v, %v", lasts, events, err)
			}
		})
	}
}

func TestClose(t *testing.T) {
	store := memory.New(memory.Config{})
	defer store.Close()
	c := cache.New(store, cache.Config{})
	r := c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: decode})
	other := c.Resource(cache.ResourceConfig{Name: "others", Prefix: "/registry/others/", Decode: decode})
	put(t, store, things+"ns/a", "1", nil)
	var wg sync.WaitGroup
	ended := func(what string, f func() error) {
		wg.Go(func() {
			if err := f(); !errors.Is(err, storage.Closed) {
				t.Errorf("%s: got %v, want %v", what, err, storage.Closed)
			}
		})
	}
	w := watch(t, r, cache.WatchOptions{Prefix: things})
	ended("Next", func() error { _, err := w.Next(t.Context()); return err })
	ended("Get", func() error {
		_, err := r.Get(t.Context(), things+"ns/a", cache.Want{Match: cache.NotOlderThan, Rev: 100})
		return err
	})
	wo := watch(t, other, cache.WatchOptions{Prefix: "/registry/others/"})
	time.Sleep(10 * time.Millisecond)
	other.Close()
	if _, err := wo.Next(t.Context()); !errors.Is(err, storage.Closed) {
		t.Errorf("Next of a closed resource: got %v, want %v", err, storage.Closed)
	}
	if _, err := other.Get(t.Context(), "/registry/others/x", cache.Want{}); !errors.Is(err, storage.Closed) {
		t.Errorf("Get of a closed resource: got %v, want %v", err, storage.Closed)
	}
	c.Close()
	wg.Wait()
	if _, err := r.Get(t.Context(), things+"ns/a", cache.Want{}); !errors.Is(err, storage.Closed) {
		t.Errorf("Get after Close: got %v, want %v", err, storage.Closed)
	}
	if _, err := r.Watch(t.Context(), cache.WatchOptions{Prefix: things}); !errors.Is(err, storage.Closed) {
		t.Errorf("Watch after Close: got %v, want %v", err, storage.Closed)
	}
}

// TestCloseLeavesOthers: closing one of two resources with the same prefix does not affect the
// other.
func TestCloseLeavesOthers(t *testing.T) {
	for _, first := range []bool{true, false} {
		r, store, _ := open(t, cache.Config{})
		twin := r.Twin()
		settle(t, r)
		settle(t, twin)
		if first {
			r, twin = twin, r
		}
		r.Close()
		key := things + "ns/a"
		rev := put(t, store, key, "1", nil)
		if o, err := twin.Get(t.Context(), key, cache.Want{}); err != nil || o.Rev != rev {
			t.Errorf("Get: got %v, %v, want revision %d", o, err, rev)
		}
	}
}

// TestCloseWhileLoading: Close ends the reads that wait for a load, and the resource stays closed.
func TestCloseWhileLoading(t *testing.T) {
	for _, whole := range []bool{false, true} {
		u := &hookedStore{Store: memory.New(memory.Config{})}
		entered, gate := make(chan struct{}, 10), make(chan struct{})
		u.rng = func(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
			entered <- struct{}{}
			select {
			case <-gate:
				return u.Store.Range(ctx, req)
			case <-ctx.Done():
				return storage.RangeResult{}, ctx.Err()
			}
		}
		r, _, c := openOn(t, u, cache.Config{})
		list := func() error { _, err := r.List(t.Context(), cache.ListOptions{Prefix: things}); return err }
		result := make(chan error)
		go func() { result <- list() }()
		<-entered
		if whole {
			c.Close()
		} else {
			r.Close()
		}
		close(gate)
		for _, err := range []error{<-result, list()} {
			if !errors.Is(err, storage.Closed) {
				t.Errorf("List, the cache closed: %t: got %v, want %v", whole, err, storage.Closed)
			}
		}
	}
}

// TestBroken: the reads that would show an object that cannot be decoded fail, and no others.
func TestBroken(t *testing.T) {
	var failed []string
	var mu sync.Mutex
	r, store, _ := open(t, cache.Config{Hooks: cache.Hooks{DecodeFailed: func(_ string, err *storage.Error) {
		mu.Lock()
		failed = append(failed, err.Key)
		mu.Unlock()
	}}})
	good := put(t, store, things+"good/a", "1", nil)
	bad := things + "bad/b"
	if _, err := store.Put(t.Context(), bad, []byte("}{"), storage.Pre{}, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Get(t.Context(), bad, cache.Want{}); !errors.Is(err, storage.Corrupt) {
		t.Errorf("Get: got %v, want %v", err, storage.Corrupt)
	}
	if _, err := r.List(t.Context(), cache.ListOptions{Prefix: things}); !errors.Is(err, storage.Corrupt) {
		t.Errorf("List: got %v, want %v", err, storage.Corrupt)
	}
	if list, err := r.List(t.Context(), cache.ListOptions{Prefix: things + "good/"}); err != nil || list.Objects[0].Rev != good {
		t.Errorf("List of the good: got %v, %v", list, err)
	}
	w := watch(t, r, cache.WatchOptions{Prefix: things, Initial: true})
	if _, err := w.Next(t.Context()); !errors.Is(err, storage.Corrupt) {
		t.Errorf("Next: got %v, want %v", err, storage.Corrupt)
	}
	put(t, store, bad, "mended", nil)
	if list, err := r.List(t.Context(), cache.ListOptions{Prefix: things}); err != nil || len(list.Objects) != 2 {
		t.Errorf("List of the mended: got %v, %v", list, err)
	}
	if len(failed) == 0 || failed[0] != bad {
		t.Errorf("DecodeFailed: got %v, want %q", failed, bad)
	}
}
