package cache_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/embedded"
	"github.com/coracle-project/coracle/storage/memory"
)

// unloaded returns a resource whose load waits until release is called.
func unloaded(t *testing.T, store storage.Store) (r *cache.Resource, c *cache.Cache, release func()) {
	gate := make(chan struct{})
	u := &hookedStore{Store: store}
	u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
		select {
		case <-gate:
			return u.Store.Watch(ctx, req)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	r, _, c = openOn(t, u, cache.Config{MaxWait: 20 * time.Millisecond})
	return r, c, sync.OnceFunc(func() { close(gate) })
}

// TestColdReads: while the objects are not loaded, the store answers reads of few objects, with the
// same results.
func TestColdReads(t *testing.T) {
	for engine, open := range engines {
		t.Run(engine, func(t *testing.T) {
			store := open(t)
			key := things + "ns/03"
			for i := range 10 {
				put(t, store, fmt.Sprintf("%sns/%02d", things, i), "old", color([]string{"red", "blue"}[i%2]))
			}
			old, err := store.Revision(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			now := put(t, store, key, "new", color("blue"))
			r, _, release := unloaded(t, store)
			get := func(want cache.Want, expect string) {
				t.Helper()
				if o, err := r.Get(t.Context(), key, want); err != nil || value(o) != expect {
					t.Errorf("Get(%+v): got %v, %v, want %s", want, o, err, expect)
				}
			}
			get(cache.Want{}, "new")
			get(cache.Want{Match: cache.Any}, "new")
			get(cache.Want{Match: cache.NotOlderThan, Rev: now}, "new")
			get(cache.Want{Match: cache.Exact, Rev: now}, "new")
			get(cache.Want{Match: cache.Exact, Rev: old}, "old")
			var e *storage.Error
			if _, err := r.Get(t.Context(), things+"ns/none", cache.Want{}); !errors.As(err, &e) || e.Kind != storage.NotFound || e.Rev != now {
				t.Errorf("Get of nothing: got %v, want %v at %d", err, storage.NotFound, now)
			}
			if rev, err := r.Exists(t.Context(), key); err != nil || rev != now {
				t.Errorf("Exists: got %d, %v, want %d", rev, err, now)
			}
			for _, only := range []string{key, things + "ns/none", things + "ns/030"} {
				list, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Only: only})
				if found := len(list.Objects) == 1; err != nil || found != (only == key) || list.Rev != now || list.More {
					t.Errorf("List of %s alone: got %+v, %v", only, list, err)
				}
			}
			blue := func(o *cache.Object) bool { c, _ := o.Labels.Get("color"); return c == "blue" }
			list, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Limit: 2, After: things + "ns/01", Match: blue})
			if err != nil || len(list.Objects) != 2 || list.Objects[0].Key != key || !list.More || list.Remaining != -1 {
				t.Errorf("List of two that match: got %s, %+v, %v", show(list.Objects), list, err)
			}
			if o, err := r.Update(t.Context(), key, cache.UpdateOptions{}, func(cur *cache.Object) ([]byte, storage.LeaseID, error) {
				return body(key, value(cur)+"er", nil), 0, nil
			}); err != nil || value(o) != "newer" {
				t.Errorf("Update: got %v, %v", o, err)
			}
			get(cache.Want{}, "newer")
			if _, err := r.Delete(t.Context(), key, cache.DeleteOptions{}, nil); err != nil {
				t.Errorf("Delete: %v", err)
			}
			if _, err := r.Create(t.Context(), key, body(key, "newest", nil), 0); err != nil {
				t.Errorf("Create: %v", err)
			}
			get(cache.Want{}, "newest")
			if st := r.Stats(); st.Loaded || st.StoreReads[cache.Loading] < 10 {
				t.Errorf("Stats: got loaded %t and %d cold reads, want false and more than 10", st.Loaded, st.StoreReads[cache.Loading])
			}
			all := make(chan error)
			go func() {
				_, err := r.List(t.Context(), cache.ListOptions{Prefix: things})
				all <- err
			}()
			select {
			case err := <-all:
				t.Errorf("List of all before the load: %v", err)
			case <-time.After(5 * time.Millisecond):
			}
			release()
			if err := <-all; err != nil {
				t.Errorf("List of all: %v", err)
			}
			before := r.Stats().StoreReads
			get(cache.Want{}, "newest")
			_, err = r.Get(t.Context(), key, cache.Want{Match: cache.NotOlderThan, Rev: now + 100})
			if !errors.As(err, &e) || e.Kind != storage.Future {
				t.Errorf("Get of the future: got %v, want %v", err, storage.Future)
			}
			if st := r.Stats(); !st.Loaded || st.StoreReads != before {
				t.Errorf("Stats: got loaded %t and reads of the store %v, want true and %v", st.Loaded, st.StoreReads, before)
			}
			if err := r.Verify(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestColdFuture: a read of a revision that the store does not have waits for it, loaded or not.
func TestColdFuture(t *testing.T) {
	store := memory.New(memory.Config{})
	r, _, release := unloaded(t, store)
	key := things + "ns/a"
	rev := put(t, store, key, "1", nil)
	result := make(chan error)
	go func() {
		o, err := r.Get(t.Context(), key, cache.Want{Match: cache.NotOlderThan, Rev: rev + 1})
		if err == nil && o.Rev != rev+1 {
			err = fmt.Errorf("got revision %d, want %d", o.Rev, rev+1)
		}
		result <- err
	}()
	put(t, store, key, "2", nil)
	release()
	if err := <-result; err != nil {
		t.Error(err)
	}
	for _, match := range []cache.Match{cache.NotOlderThan, cache.Exact} { // the revision never comes
		r, _, release := unloaded(t, memory.New(memory.Config{Rev: 5}))
		go func() {
			_, err := r.Get(t.Context(), key, cache.Want{Match: match, Rev: 100})
			result <- err
		}()
		release()
		var e *storage.Error
		if err := <-result; !errors.As(err, &e) || e.Kind != storage.Future || e.Rev != 5 {
			t.Errorf("Get of the future that does not come: got %v, want %v at 5", err, storage.Future)
		}
	}
}

// TestColdNeighbors: a read of a key is not answered with an object whose key is similar.
func TestColdNeighbors(t *testing.T) {
	store := memory.New(memory.Config{})
	key := things + "ns/b"
	for _, near := range []string{"ns/a", "ns/a\xff!", "ns/a\xff\xff", "ns/b!", "ns/ba"} {
		put(t, store, things+near, "near", nil)
	}
	rev := put(t, store, key, "it", nil)
	r, _, release := unloaded(t, store)
	defer release()
	for _, want := range []cache.Want{{}, {Match: cache.NotOlderThan, Rev: rev}, {Match: cache.Exact, Rev: rev}} {
		if o, err := r.Get(t.Context(), key, want); err != nil || value(o) != "it" {
			t.Errorf("Get(%+v): got %v, %v, want it", want, o, err)
		}
	}
	if o, err := r.Get(t.Context(), key, cache.Want{Match: cache.Exact, Rev: rev - 1}); storage.KindOf(err) != storage.NotFound {
		t.Errorf("Get of the time before: got %v, %v, want %v", o, err, storage.NotFound)
	}
}

// TestColdPage: a read of a page reads no more objects from the store than the page has.
func TestColdPage(t *testing.T) {
	u := &hookedStore{Store: memory.New(memory.Config{})}
	const n = 20
	for i := range n {
		put(t, u.Store, fmt.Sprintf("%sns/%02d", things, i), "v", color([]string{"red", "blue"}[i%2]))
	}
	r, _, release := unloaded(t, u)
	defer release()
	read := 0
	u.rng = func(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
		res, err := u.Store.Range(ctx, req)
		read += len(res.Entries)
		return res, err
	}
	blue := func(o *cache.Object) bool { c, _ := o.Labels.Get("color"); return c == "blue" }
	for _, tt := range []struct {
		limit     int
		match     func(*cache.Object) bool
		more      bool
		remaining int64
	}{{5, nil, true, 15}, {n - 1, nil, true, 1}, {n, nil, false, 0}, {n + 1, nil, false, 0},
		{5, blue, true, -1}, {n/2 - 1, blue, true, -1}, {n / 2, blue, false, 0}, {n/2 + 1, blue, false, 0}} {
		read = 0
		list, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Limit: tt.limit, Match: tt.match})
		if err != nil || list.More != tt.more || list.Remaining != tt.remaining {
			t.Errorf("List of %d, some: %t: got %+v, %v, want more: %t, %d", tt.limit, tt.match != nil, list, err, tt.more, tt.remaining)
		}
		if tt.match == nil && read > tt.limit {
			t.Errorf("List of %d: read %d", tt.limit, read)
		}
	}
}

// TestColdNotOlder: the store may show a change to watchers a little earlier than to readers. A
// read that wants a revision does not get an older state.
func TestColdNotOlder(t *testing.T) {
	u := &hookedStore{Store: memory.New(memory.Config{})}
	key := things + "ns/a"
	old := put(t, u, key, "old", nil)
	put(t, u, key, "new", nil)
	now := put(t, u, things+"ns/b", "new", nil)
	u.rng = func(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
		if req.Rev == 0 {
			req.Rev = old
		}
		return u.Store.Range(ctx, req)
	}
	u.get = func(ctx context.Context, key string) (storage.Entry, error) {
		res, err := u.Range(ctx, storage.RangeRequest{Prefix: things})
		for _, e := range res.Entries {
			if e.Key == key {
				return e, nil
			}
		}
		return storage.Entry{}, cmp.Or(err, error(&storage.Error{Op: "get", Key: key, Kind: storage.NotFound, Rev: res.Rev}))
	}
	r, _, _ := unloaded(t, u)
	want := cache.Want{Match: cache.NotOlderThan, Rev: now}
	for _, key := range []string{key, things + "ns/b"} {
		if o, err := r.Get(t.Context(), key, want); err != nil || value(o) != "new" {
			t.Errorf("Get(%s): got %v, %v, want new", key, o, err)
		}
	}
	var e *storage.Error
	if _, err := r.Get(t.Context(), things+"ns/c", want); !errors.As(err, &e) || e.Kind != storage.NotFound || e.Rev < now {
		t.Errorf("Get of nothing: got %v, want %v at %d", err, storage.NotFound, now)
	}
	for _, opts := range []cache.ListOptions{{Prefix: things, Limit: 2, Want: want}, {Prefix: things, Only: key, Want: want}} {
		list, err := r.List(t.Context(), opts)
		if err != nil || list.Rev < now || len(list.Objects) == 0 || value(list.Objects[0]) != "new" {
			t.Errorf("List(%+v): got %s at %d, %v, want new at %d", opts, show(list.Objects), list.Rev, err, now)
		}
	}
}

// TestPagesAcrossLoad: a list that begins in the store goes on in the cache at the same revision,
// and a watch from there misses nothing.
func TestPagesAcrossLoad(t *testing.T) {
	const n, limit = 40, 7
	blue := func(o *cache.Object) bool { c, _ := o.Labels.Get("color"); return c == "blue" }
	for _, match := range []func(*cache.Object) bool{nil, blue} {
		for loadAt := range 4 {
			t.Run(fmt.Sprintf("match=%t/load=%d", match != nil, loadAt), func(t *testing.T) {
				store := memory.New(memory.Config{})
				want := replica{}
				for i := range n {
					key, c := fmt.Sprintf("%sns/%02d", things, i), []string{"red", "blue"}[i%2]
					if rev := put(t, store, key, "v", color(c)); match == nil || c == "blue" {
						want[key] = rev
					}
				}
				r, _, release := unloaded(t, store)
				defer release()
				opts := cache.ListOptions{Prefix: things, Limit: limit, Match: match}
				got, rev := replica{}, storage.Revision(0)
				for page := 0; ; page++ {
					if page == loadAt {
						release()
						settle(t, r)
					}
					list, err := r.List(t.Context(), opts)
					if err != nil || rev != 0 && list.Rev != rev {
						t.Fatalf("page %d: got revision %d, %v, want %d", page, list.Rev, err, rev)
					}
					rev = list.Rev
					for _, o := range list.Objects {
						got[o.Key] = o.Rev
					}
					if remaining := int64(len(want) - len(got)); list.More && match == nil && list.Remaining != remaining {
						t.Errorf("page %d: got %d remaining, want %d", page, list.Remaining, remaining)
					}
					if !list.More {
						break
					}
					if match != nil && list.Remaining != -1 {
						t.Errorf("page %d of some: got %d remaining, want -1", page, list.Remaining)
					}
					opts.After = list.Objects[len(list.Objects)-1].Key
					opts.Want = cache.Want{Match: cache.Exact, Rev: rev}
					for i := range 3 { // changes that the list must not show
						put(t, store, fmt.Sprintf("%sns/%02d", things, (page*11+i*13)%n), "later", color("blue"))
						put(t, store, fmt.Sprintf("%sns/%02da", things, page), "later", color("blue"))
					}
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("got %v, want %v", got, want)
				}
				stop, err := store.Revision(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				release()
				all := replica{}
				for key, rev := range got {
					all[key] = rev
				}
				watchUntil(t, r, cache.WatchOptions{Prefix: things, Match: match, After: rev}, stop, all)
				list, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Match: match})
				if err != nil || fmt.Sprint(all) != fmt.Sprint(replicaOf(list)) {
					t.Errorf("watched: got %v, %v, want %v", all, err, replicaOf(list))
				}
			})
		}
	}
}

// TestColdMatch: if a page selects few of many objects, the cache stops to search in the store, and
// waits for the load.
func TestColdMatch(t *testing.T) {
	const n = 5000
	entries := make([]storage.Entry, n)
	for i := range entries {
		key := fmt.Sprintf("%sns/%05d", things, i)
		entries[i] = storage.Entry{Key: key, Value: body(key, "v", nil), Rev: storage.Revision(i + 2)}
	}
	var mu sync.Mutex
	looked := map[string]bool{}
	match := func(o *cache.Object) bool {
		mu.Lock()
		defer mu.Unlock()
		looked[o.Key] = true
		return strings.HasSuffix(o.Key, "999")
	}
	u := &hookedStore{Store: memory.New(memory.Config{Entries: entries})}
	loaded := make(chan struct{})
	release := sync.OnceFunc(func() { close(loaded) })
	u.rng = func(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
		if req.After == "" && req.Limit < 1000 { // the load, whose first chunk is small
			select {
			case <-loaded:
			case <-ctx.Done():
				return storage.RangeResult{}, ctx.Err()
			}
		}
		return u.Store.Range(ctx, req)
	}
	r, store, _ := openOn(t, u, cache.Config{})
	result := make(chan string)
	go func() {
		list, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Limit: 4, Match: match})
		result <- fmt.Sprintf("%s %t %v", show(list.Objects), list.More, err)
	}()
	var got string
	for waiting := true; waiting; { // until the rest can only come from the cache
		mu.Lock()
		waiting = len(looked) < 2000
		mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	select {
	case got = <-result:
		t.Errorf("List: got %s before the load", got)
	case <-time.After(10 * time.Millisecond):
	}
	mu.Lock()
	if len(looked) > 2000 {
		t.Errorf("looked at %d objects in the store", len(looked))
	}
	mu.Unlock()
	// The rest of the list may be of a later revision than its beginning.
	if err := store.Compact(t.Context(), put(t, store, "/registry/others/a", "v", nil)); err != nil {
		t.Fatal(err)
	}
	release()
	if got, want := <-result, "ns/00999=v@1001 ns/01999=v@2001 ns/02999=v@3001 ns/03999=v@4001 true <nil>"; got != want {
		t.Errorf("List: got %s, want %s", got, want)
	}
}

// TestColdClosed: a closed resource or cache answers nothing, loaded or not.
func TestColdClosed(t *testing.T) {
	for _, whole := range []bool{false, true} {
		t.Run(fmt.Sprintf("cache=%t", whole), func(t *testing.T) {
			store := memory.New(memory.Config{})
			key := things + "ns/a"
			put(t, store, key, "1", nil)
			r, c, _ := unloaded(t, store)
			if _, err := r.Get(t.Context(), key, cache.Want{}); err != nil {
				t.Fatal(err)
			}
			if whole {
				c.Close() // while the load waits
			} else {
				r.Close()
			}
			if o, err := r.Get(t.Context(), key, cache.Want{}); !errors.Is(err, storage.Closed) {
				t.Errorf("Get: got %v, %v, want %v", o, err, storage.Closed)
			}
		})
	}
}

// TestLoadChunks: a load reads as many objects at once as fit into a chunk.
func TestLoadChunks(t *testing.T) {
	for _, tt := range []struct{ size, objects, calls int }{
		{100, 20_000, 13},
		{200_000, 160, 6}, // the first chunk has 100, because the size of objects is not known yet
	} {
		t.Run(fmt.Sprintf("size=%d", tt.size), func(t *testing.T) {
			entries, value := make([]storage.Entry, tt.objects), body("any", strings.Repeat("x", tt.size), nil)
			for i := range entries {
				entries[i] = storage.Entry{Key: fmt.Sprintf("%sns/%05d", things, i), Value: value, Rev: storage.Revision(i + 2)}
			}
			u := &hookedStore{Store: memory.New(memory.Config{Entries: entries})}
			most, calls := 0, 0
			u.rng = func(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
				res, err := u.Store.Range(ctx, req)
				bytes := 0
				for _, e := range res.Entries {
					bytes += len(e.Value)
				}
				if calls++; calls > 1 {
					most = max(most, bytes)
				}
				return res, err
			}
			_, _, c := openOn(t, u, cache.Config{})
			r := c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: cheapDecode})
			settle(t, r)
			if most > 5<<20 || calls > tt.calls || r.Count() != tt.objects {
				t.Errorf("%d objects came in %d calls of at most %d bytes, want at most %d of 5 MiB", r.Count(), calls, most, tt.calls)
			}
		})
	}
}

// BenchmarkColdStart opens an embedded store of 150,000 objects of 1 KiB and reads some of them
// while they load: one, then a page, then others until the load has ended. It reports the longest
// time of each.
func BenchmarkColdStart(b *testing.B) {
	const n, writers = 150_000, 64
	dir := b.TempDir()
	s, err := embedded.Open(b.Context(), embedded.Config{Dir: dir, NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range writers {
		wg.Go(func() {
			for i := g; i < n; i += writers {
				key := fmt.Sprintf("%sns%d/object-%07d", things, i%10, i)
				if _, err := s.Put(b.Context(), key, body(key, strings.Repeat("x", 900), nil), storage.Pre{}, 0); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s.Close()
	var load, first, worst, page time.Duration
	took := func(f func() error) time.Duration {
		begin := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		return time.Since(begin)
	}
	for b.Loop() {
		b.StopTimer()
		runtime.GC()
		s, err := embedded.Open(b.Context(), embedded.Config{Dir: dir, NoSync: true})
		if err != nil {
			b.Fatal(err)
		}
		loaded := make(chan time.Duration, 1)
		c := cache.New(s, cache.Config{Hooks: cache.Hooks{Loaded: func(_ string, _ int, took time.Duration) { loaded <- took }}})
		r := c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: cheapDecode})
		i := 0
		get := func() error {
			i = (i + 7919) % n
			_, err := r.Get(b.Context(), fmt.Sprintf("%sns%d/object-%07d", things, i%10, i), cache.Want{})
			return err
		}
		b.StartTimer()
		first = max(first, took(get))
		page = max(page, took(func() error {
			_, err := r.List(b.Context(), cache.ListOptions{Prefix: things, Limit: 500})
			return err
		}))
		for done := false; !done; {
			select {
			case d := <-loaded:
				load, done = max(load, d), true
			default:
				worst = max(worst, took(get))
			}
		}
		b.StopTimer()
		c.Close()
		s.Close()
		b.StartTimer()
	}
	for _, m := range []struct {
		name string
		d    time.Duration
	}{{"load", load}, {"first", first}, {"page", page}, {"worst", worst}} {
		b.ReportMetric(float64(m.d.Microseconds())/1000, "ms-"+m.name)
	}
}
