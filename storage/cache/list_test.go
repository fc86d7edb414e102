package cache_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/memory"
)

// TestListEdges: a list has the objects with its prefix and after its beginning, whether the cache
// or the store answers it.
func TestListEdges(t *testing.T) {
	store := memory.New(memory.Config{})
	for _, key := range []string{"a", "ns", "ns.x/a", "ns/a", "ns/b", "ns/c", "ns0", "ns0/a"} {
		put(t, store, things+key, "v", nil)
	}
	cold, _, release := unloaded(t, store)
	defer release()
	loaded := cache.New(store, cache.Config{})
	defer loaded.Close()
	r := loaded.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: decode})
	settle(t, r)
	every := func(*cache.Object) bool { return true }
	check := func(answers string, r *cache.Resource) {
		t.Helper()
		for _, tt := range []struct {
			prefix, after, only string
			limit               int
			want                string
		}{
			{"", "", "", 9, "a ns ns.x/a ns/a ns/b ns/c ns0 ns0/a"},
			{"ns/", "", "", 9, "ns/a ns/b ns/c"},
			{"ns/", "ns/", "", 9, "ns/a ns/b ns/c"},
			{"ns/", "ns/a", "", 9, "ns/b ns/c"},
			{"ns/", "ns/aa", "", 9, "ns/b ns/c"},
			{"ns/", "ns/c", "", 9, ""},
			{"none/", "", "", 9, ""},
			{"ns/", "", "", 3, "ns/a ns/b ns/c"},
			{"ns/", "", "", 2, "ns/a ns/b and 1"},
			{"ns/", "ns/a", "", 1, "ns/b and 1"},
			{"ns0/", "", "", 1, "ns0/a"},
			{"ns/", "", "ns/b", 9, "ns/b"},
			{"ns/", "ns/a", "ns/b", 9, "ns/b"},
			{"ns/", "ns/b", "ns/b", 9, ""},
			{"ns/", "", "ns/bb", 9, ""},
			{"ns/", "", "ns0", 9, ""},
		} {
			opts := cache.ListOptions{Prefix: things + tt.prefix, Limit: tt.limit}
			if opts.After = tt.after; tt.after != "" {
				opts.After = things + tt.after
			}
			if opts.Only = tt.only; tt.only != "" {
				opts.Only = things + tt.only
			}
			list := func() string {
				list, err := r.List(t.Context(), opts)
				if err != nil {
					t.Error(err)
				}
				var names []string
				for _, o := range list.Objects {
					names = append(names, strings.TrimPrefix(o.Key, things))
				}
				if list.More {
					names = append(names, fmt.Sprintf("and %d", list.Remaining))
				}
				return strings.Join(names, " ")
			}
			if got := list(); got != tt.want {
				t.Errorf("List(%+v) by the %s: got %q, want %q", tt, answers, got, tt.want)
			}
			opts.Match = every
			if got, want := list(), strings.Replace(tt.want, "and 1", "and -1", 1); got != want {
				t.Errorf("List(%+v) of those that match by the %s: got %q, want %q", tt, answers, got, want)
			}
			if opts.Match, opts.Limit = nil, 0; r != cold && !strings.Contains(tt.want, "and") {
				if got := list(); got != tt.want {
					t.Errorf("List(%+v) without limit by the %s: got %q, want %q", tt, answers, got, tt.want)
				}
			}
		}
	}
	check("store", cold)
	check("cache", r)
	if _, err := r.List(t.Context(), cache.ListOptions{Prefix: things}); err != nil {
		t.Fatal(err)
	}
	check("cache that has listed all", r)
	w := watch(t, r, cache.WatchOptions{Prefix: things + "ns/", Initial: true})
	events, err := w.Next(t.Context())
	if err != nil || len(events) != 3 || events[0].Object.Key != things+"ns/a" || events[2].Object.Key != things+"ns/c" {
		t.Errorf("Next: got %v, %v, want the three objects", events, err)
	}
}

// noRanges returns a loaded resource whose store refuses each Range, and this store, to which a
// test can write.
func noRanges(t *testing.T, cfg cache.Config) (*cache.Resource, *hookedStore) {
	u := &hookedStore{Store: memory.New(memory.Config{})}
	for i := range 5 {
		put(t, u.Store, fmt.Sprintf("%sns/%d", things, i), "old", nil)
	}
	r, _, _ := openOn(t, u, cfg)
	settle(t, r)
	u.rng = func(context.Context, storage.RangeRequest) (storage.RangeResult, error) {
		return storage.RangeResult{}, fail(storage.Compacted)
	}
	return r, u
}

// TestExactFromWindow: exact lists of revisions in the window need no Range of the store. Neither
// does an update of an absent object, nor a dry run.
func TestExactFromWindow(t *testing.T) {
	r, u := noRanges(t, cache.Config{})
	floor := r.Stats().WindowFloor
	want := []string{fmt.Sprint(floor)}
	for i := range 5 {
		want = append(want, fmt.Sprint(put(t, u.Store, things+"ns/0", "new", nil)))
		if i == 2 {
			want = append(want, fmt.Sprint(remove(t, u.Store, things+"ns/0")))
		}
	}
	settle(t, r)
	for i := range want {
		rev := floor + storage.Revision(i)
		list, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Want: cache.Want{Match: cache.Exact, Rev: rev}})
		n := 5
		if i == 4 {
			n = 4
		}
		if err != nil || list.Rev != rev || len(list.Objects) != n || i != 0 && i != 4 && list.Objects[0].Rev != rev {
			t.Errorf("List exactly at %d: got %s at %d, %v", rev, show(list.Objects), list.Rev, err)
		}
	}
	if _, err := r.Update(t.Context(), things+"ns/none", cache.UpdateOptions{}, nil); storage.KindOf(err) != storage.NotFound {
		t.Errorf("Update of nothing: got %v, want %v", err, storage.NotFound)
	}
	older := func(cur *cache.Object) ([]byte, storage.LeaseID, error) {
		return body(cur.Key, value(cur)+"er", nil), 0, nil
	}
	if o, err := r.Update(t.Context(), things+"ns/1", cache.UpdateOptions{DryRun: true}, older); err != nil || value(o) != "older" {
		t.Errorf("dry run: got %v, %v, want older", o, err)
	}
	if _, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Want: cache.Want{Match: cache.Exact, Rev: floor - 1}}); storage.KindOf(err) != storage.Compacted {
		t.Errorf("List exactly at %d: got %v, want the store's %v", floor-1, err, storage.Compacted)
	}
}

// TestSnapshotBounds: the cache keeps the configured number of snapshots, each until it has not
// been used for a while.
func TestSnapshotBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, u := noRanges(t, cache.Config{Snapshots: 3, WindowEvents: 1})
		var begun []storage.Revision
		goesOn := func(rev storage.Revision, want storage.Kind) {
			t.Helper()
			list, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Limit: 2, After: things + "ns/1", Want: cache.Want{Match: cache.Exact, Rev: rev}})
			if storage.KindOf(err) != want || err == nil && (list.Rev != rev || len(list.Objects) != 2) {
				t.Errorf("the list at %d goes on with %s at %d, %v, want kind %v", rev, show(list.Objects), list.Rev, err, want)
			}
		}
		for range 5 {
			list, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Limit: 2})
			if err != nil {
				t.Fatal(err)
			}
			begun = append(begun, list.Rev)
			for range 3 {
				put(t, u.Store, things+"ns/0", "new", nil)
			}
			settle(t, r)
		}
		if n := r.Stats().Snapshots; n != 3 {
			t.Errorf("got %d snapshots, want 3", n)
		}
		for i, rev := range begun {
			want := storage.Kind(0)
			if i < 2 {
				want = storage.Compacted
			}
			goesOn(rev, want)
		}
		time.Sleep(5 * time.Minute)
		goesOn(begun[4], 0) // this is a use
		r.Trim()
		if n := r.Stats().Snapshots; n != 3 {
			t.Errorf("after 5 minutes: got %d snapshots, want 3", n)
		}
		time.Sleep(time.Minute)
		r.Trim()
		if n := r.Stats().Snapshots; n != 1 {
			t.Errorf("after 6 minutes: got %d snapshots, want the one in use", n)
		}
		time.Sleep(5 * time.Minute)
		r.Trim()
		if n := r.Stats().Snapshots; n != 0 {
			t.Errorf("in the end: got %d snapshots", n)
		}
	})
}

// TestListOvertaken: the snapshot of a list is the state that the list has shown, also if an object
// changes during the list.
func TestListOvertaken(t *testing.T) {
	r, store, _ := open(t, cache.Config{})
	for i := range 3 {
		put(t, store, fmt.Sprintf("%sns/%d", things, i), "old", nil)
	}
	settle(t, r)
	changed := false
	list, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Limit: 1, Match: func(*cache.Object) bool {
		if !changed {
			changed = true
			put(t, store, things+"ns/0", "new", nil)
			settle(t, r)
		}
		return true
	}})
	if err != nil || value(list.Objects[0]) != "old" {
		t.Fatalf("List: got %s, %v", show(list.Objects), err)
	}
	put(t, store, things+"ns/1", "new", nil)
	settle(t, r)
	for i, want := range []string{"old", "new", "new"} {
		rev := list.Rev + storage.Revision(i)
		then, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Limit: 1, Want: cache.Want{Match: cache.Exact, Rev: rev}})
		if err != nil || value(then.Objects[0]) != want {
			t.Errorf("List exactly at %d: got %s, %v, want %s", rev, show(then.Objects), err, want)
		}
	}
}

// TestSnapshotHolds: a snapshot answers exact lists of all revisions before the next change, and of
// no later one. The change may come after the list or during it.
func TestSnapshotHolds(t *testing.T) {
	for _, overtaken := range []bool{false, true} {
		r, u := noRanges(t, cache.Config{WindowEvents: 1})
		other := func() storage.Revision { return put(t, u.Store, "/registry/others/a", "v", nil) }
		change := func() {
			for range 3 {
				put(t, u.Store, things+"ns/0", "new", nil)
			}
			settle(t, r)
		}
		changed := !overtaken
		list, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Limit: 2, Match: func(*cache.Object) bool {
			if !changed {
				changed = true
				change()
			}
			return true
		}})
		if err != nil {
			t.Fatal(err)
		}
		last := list.Rev
		if !overtaken {
			last = other()
			change()
		}
		for rev := list.Rev; rev <= last+1; rev++ {
			then, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Limit: 2, Want: cache.Want{Match: cache.Exact, Rev: rev}})
			known := err == nil && show(then.Objects) == show(list.Objects)
			if known != (rev <= last) || !known && storage.KindOf(err) != storage.Compacted {
				t.Errorf("overtaken %t: at %d of %d to %d: got %s, %v", overtaken, rev, list.Rev, last, show(then.Objects), err)
			}
		}
	}
}

// TestListChunks: the cache reads a list from the store in chunks. It has the store count the rest
// only if the list shows how much remains.
func TestListChunks(t *testing.T) {
	const n = 2500
	u := &hookedStore{Store: memory.New(memory.Config{})}
	for i := range n + 1 {
		put(t, u.Store, fmt.Sprintf("%sns/%04d", things, i), "v", nil)
	}
	r, _, _ := openOn(t, u, cache.Config{})
	settle(t, r)
	rev := r.Stats().WindowFloor - 1 // before the cache's window
	none := func(*cache.Object) bool { return false }
	for _, tt := range []struct {
		opts   cache.ListOptions
		reads  int
		counts bool
	}{
		{cache.ListOptions{}, 3, false},
		{cache.ListOptions{Limit: n}, 3, true},
		{cache.ListOptions{Limit: 10}, 1, true},
		{cache.ListOptions{Limit: 10, Match: none}, 3, false},
		{cache.ListOptions{Match: none}, 3, false},
	} {
		reads := 0
		u.rng = func(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
			if reads++; req.Limit < 1 || req.Limit > 1000 || req.NoCount == (tt.counts && reads == 1) {
				t.Errorf("List(%+v): read %d is %+v", tt.opts, reads, req)
			}
			return u.Store.Range(ctx, req)
		}
		tt.opts.Prefix, tt.opts.Want = things, cache.Want{Match: cache.Exact, Rev: rev}
		if list, err := r.List(t.Context(), tt.opts); err != nil || list.Rev != rev || reads != tt.reads {
			t.Errorf("List(%+v): got %d objects at %d, %v by %d reads, want %d", tt.opts, len(list.Objects), list.Rev, err, reads, tt.reads)
		}
	}
}

// TestStoreStaysBehind: if the store does not have a revision that it has shown, the cache asks it
// again after growing pauses, for as long as a read may wait.
func TestStoreStaysBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 5 * time.Second
		r, u := noRanges(t, cache.Config{MaxWait: most})
		asked := 0
		u.rng = func(context.Context, storage.RangeRequest) (storage.RangeResult, error) {
			asked++
			return storage.RangeResult{}, fail(storage.Future)
		}
		begin := time.Now()
		want := cache.Want{Match: cache.Exact, Rev: r.Stats().WindowFloor - 1} // only the store has it
		_, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Want: want})
		if took := time.Since(begin); storage.KindOf(err) != storage.Unavailable || took != most || asked > 30 {
			t.Errorf("List: got %v after %v and %d questions, want %v after %v", err, took, asked, storage.Unavailable, most)
		}
	})
}

// TestPagesAcrossRestart: a list goes on although the cache has loaded the resource again since its
// first page.
func TestPagesAcrossRestart(t *testing.T) {
	u, broken := breakableStore()
	r, store, _ := openOn(t, u, cache.Config{})
	for i := range 4 {
		put(t, store, fmt.Sprintf("%sns/%d", things, i), "old", nil)
	}
	settle(t, r)
	opts := cache.ListOptions{Prefix: things, Limit: 2}
	first, err := r.List(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	w := watch(t, r, cache.WatchOptions{Prefix: things})
	broken <- fail(storage.Compacted)
	if events, err := w.Next(t.Context()); storage.KindOf(err) != storage.Compacted {
		t.Fatalf("Next: got %v, %v, want %v", events, err, storage.Compacted)
	}
	last := put(t, store, things+"ns/3", "new", nil)
	if err := store.Compact(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	settle(t, r)
	opts.After, opts.Want = first.Objects[1].Key, cache.Want{Match: cache.Exact, Rev: first.Rev}
	if list, err := r.List(t.Context(), opts); err != nil || list.Rev != first.Rev || len(list.Objects) != 2 || value(list.Objects[1]) != "old" {
		t.Errorf("second page: got %s at %d, %v, want the old state at %d", show(list.Objects), list.Rev, err, first.Rev)
	}
}
