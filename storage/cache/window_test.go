package cache_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/memory"
)

// TestWindowShrinks: the window of a quiet resource shrinks, also if a large part of it is dropped
// at once.
func TestWindowShrinks(t *testing.T) {
	for _, bytes := range []int64{16 << 20, 700 << 10} {
		bubble(t, cache.Config{WindowBytes: bytes}, func(t *testing.T, r *cache.Resource, store storage.Store) {
			w := watch(t, r, cache.WatchOptions{Prefix: things})
			for i := range 1000 {
				put(t, store, things+"ns/a", fmt.Sprint(i), nil)
			}
			settle(t, r)
			remembers := func(when string, want int) {
				t.Helper()
				if n := r.Stats().Window; n != want {
					t.Errorf("window %s: got %d changes, want %d", when, n, want)
				}
			}
			remembers("at first", 1000)
			for n := 0; n < 1000; {
				events, err := w.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				n += len(events)
			}
			time.Sleep(75 * time.Second)
			r.Trim()
			remembers("after 75 s", 1000)
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			remembers("after 10 minutes", 100)
			rev := put(t, store, things+"ns/a", "last", nil)
			if events, err := w.Next(t.Context()); err != nil || events[0].Rev != rev {
				t.Errorf("Next: got %v, %v", events, err)
			}
		})
	}
}

func TestWindowBytes(t *testing.T) {
	const limit = 1 << 20
	r, store, _ := open(t, cache.Config{WindowBytes: limit, SnapshotBytes: limit})
	settle(t, r)
	big := strings.Repeat("x", 100_000)
	for i := range 50 {
		put(t, store, things+"ns/a", big, nil)
		put(t, store, fmt.Sprintf("%sns/b%d", things, i), "v", nil)
		if _, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Limit: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if st := r.Stats(); st.WindowBytes > limit || st.Snapshots > 12 || st.Snapshots < 2 {
		t.Errorf("Stats: got a window of %d bytes and %d snapshots, want at most %d bytes", st.WindowBytes, st.Snapshots, limit)
	}
}

// TestWindowReleases: dropped changes are not kept alive by the array of the window.
func TestWindowReleases(t *testing.T) {
	store := memory.New(memory.Config{HistoryBytes: 256 << 10})
	r, _, _ := openOn(t, store, cache.Config{WindowBytes: 1 << 20})
	settle(t, r)
	for i := range 2000 { // makes the array large
		put(t, store, things+"ns/a", "v", nil)
		if i%1000 == 0 {
			settle(t, r)
		}
	}
	settle(t, r)
	before, most := heap(), int64(0)
	big := strings.Repeat("x", 50_000)
	for i := range 100 {
		put(t, store, things+"ns/a", big, nil)
		settle(t, r)
		if i%10 == 9 {
			most = max(most, heap()-before)
		}
	}
	if most > 7<<18 {
		t.Errorf("5 MB of changes hold %d KB more than a full window, want at most 1,750", most>>10)
	}
}

// heap returns the bytes of reachable objects.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestQuietWindowReleases: changes that the window has dropped for their age, or for lack of room,
// are not kept alive.
func TestQuietWindowReleases(t *testing.T) {
	for _, tt := range []struct {
		cfg   cache.Config
		quiet time.Duration
	}{{cache.Config{}, 10 * time.Minute}, {cache.Config{WindowEvents: 100}, 0}} {
		synctest.Test(t, func(t *testing.T) {
			r, store, _ := openOn(t, memory.New(memory.Config{HistoryBytes: 64 << 10}), tt.cfg)
			settle(t, r)
			before := heap()
			for i := range 200 { // the last 100 stay
				put(t, store, things+"ns/a", strings.Repeat("x", 20_000*(1-i/100)), nil)
				settle(t, r)
			}
			time.Sleep(tt.quiet)
			r.Trim()
			if n, grown := r.Stats().Window, heap()-before; n != 100 || grown > 1<<19 {
				t.Errorf("after %v: got %d changes and %d KB, want 100 and at most 500", tt.quiet, n, grown>>10)
			}
		})
	}
}

// TestFullWindowCosts: dropping an old change for a new one does not copy the window.
func TestFullWindowCosts(t *testing.T) {
	const window, changes = 10_000, 1000
	r, store, _ := open(t, cache.Config{WindowEvents: window})
	settle(t, r)
	change := func(n int) {
		for range n {
			put(t, store, things+"ns/a", "v", nil)
		}
		settle(t, r)
	}
	change(window)
	before := allocated()
	for range changes {
		change(1)
	}
	if each := (allocated() - before) / changes; each > window*8/4 {
		t.Errorf("got %d bytes allocated for each change, want less than a fourth of the window", each)
	}
}

// allocated returns the bytes that have been allocated since the start.
func allocated() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}

// TestWindowThatFits: the window uses all of its bounds, in bytes and in changes.
func TestWindowThatFits(t *testing.T) {
	window := func(cfg cache.Config, changes int) cache.ResourceStats {
		r, store, _ := open(t, cfg)
		settle(t, r)
		for i := range changes {
			put(t, store, things+"ns/a", fmt.Sprintf("%03d", i), nil)
			settle(t, r)
		}
		return r.Stats()
	}
	// The first change has no previous state to hold.
	more, less := window(cache.Config{}, 201).WindowBytes, window(cache.Config{}, 101).WindowBytes
	if got := window(cache.Config{WindowBytes: more - less}, 400).Window; got != 100 {
		t.Errorf("within the bytes of 100 changes: got %d", got)
	}
	if got := window(cache.Config{WindowEvents: 100}, 400).Window; got != 100 {
		t.Errorf("within 100 changes: got %d", got)
	}
}

// TestWindowKeepsRevisions: the changes of one revision leave the window together, so that a watch
// from its floor gets all of its changes.
func TestWindowKeepsRevisions(t *testing.T) {
	const groups, size, first = 7, 4, 1000
	for _, tt := range []struct{ most, want int }{{10, 2 * size}, {8, 2 * size}, {2, 0}} {
		u := &hookedStore{Store: memory.New(memory.Config{})}
		batch := storage.Batch{Rev: first + groups}
		for i := range groups * size {
			key := fmt.Sprintf("%sns/%02d", things, i)
			put(t, u.Store, key, "v", nil)
			batch.Events = append(batch.Events, storage.Event{Key: key, Rev: first + storage.Revision(i/size), Deleted: true})
		}
		release := make(chan struct{})
		u.watch = func(context.Context, storage.WatchRequest) (storage.Cursor, error) {
			return held{&scripted{silent{done: make(chan struct{})}, batch}, release}, nil
		}
		r, _, _ := openOn(t, u, cache.Config{WindowEvents: tt.most})
		settle(t, r)
		close(release)
		if _, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Want: cache.Want{Match: cache.NotOlderThan, Rev: batch.Rev}}); err != nil {
			t.Fatal(err)
		}
		st := r.Stats()
		if st.Window != tt.want {
			t.Errorf("got %d changes in a window of %d, want %d", st.Window, tt.most, tt.want)
		}
		if st.Window == 0 {
			continue
		}
		events, err := watch(t, r, cache.WatchOptions{Prefix: things, After: st.WindowFloor}).Next(t.Context())
		if err != nil || len(events) != st.Window {
			t.Errorf("got %d events after %d, %v, want %d", len(events), st.WindowFloor, err, st.Window)
		}
	}
}

// TestWindowCounts: WindowBytes is at least the size of the objects that only the window holds, and
// not many times as much.
func TestWindowCounts(t *testing.T) {
	for _, tt := range []struct {
		key, labels, value int
		fields             bool // as many fields as labels
	}{{10, 0, 0, false}, {1000, 0, 0, false}, {10, 100, 0, false}, {10, 100, 0, true}, {10, 0, 5000, false}} {
		_, store, c := open(t, cache.Config{})
		r := c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: func(key string, value []byte) (cache.Decoded, error) {
			d, err := decode(key, value)
			if tt.fields {
				d.Fields = slices.Clone(d.Labels)
			}
			return d, err
		}})
		settle(t, r)
		labels := map[string]string{}
		for i := range tt.labels {
			labels[fmt.Sprintf("%03d", i)] = "v"
		}
		key := things + "ns/" + strings.Repeat("k", tt.key)
		const n = 20
		for i := range n + 1 {
			put(t, store, key, fmt.Sprintf("%02d", i)+strings.Repeat("x", tt.value), labels)
		}
		o, err := r.Get(t.Context(), key, cache.Want{})
		if err != nil {
			t.Fatal(err)
		}
		least := int64(n * (len(o.Key) + len(o.JSON()) + 32*(len(o.Labels)+len(o.Fields))))
		if got := r.Stats().WindowBytes; got < least || got > 3*least+n*500 {
			t.Errorf("%+v: got %d bytes, want at least %d", tt, got, least)
		}
	}
}
