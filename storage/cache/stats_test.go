package cache_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/memory"
)

// TestStats: Stats returns the resources of a cache in order, and what each holds.
func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, store, c := open(t, cache.Config{})
		if st := c.Stats(); len(st.Resources) != 0 || st.Seen != 0 {
			t.Errorf("before anything is used: got %+v", st)
		}
		var last storage.Revision
		for _, prefix := range []string{"/registry/zebras/", "/registry/things/", "/registry/apples/"} {
			r := c.Resource(cache.ResourceConfig{Name: prefix, Prefix: prefix, Decode: decode})
			if st := r.Stats(); r.Count() != 0 || st.Loaded || st.Prefix != prefix {
				t.Errorf("before the load: got %d and %+v", r.Count(), st)
			}
			last = put(t, store, prefix+"ns/a", "1", nil)
			if _, err := r.List(t.Context(), cache.ListOptions{Prefix: prefix}); err != nil {
				t.Fatal(err)
			}
			if st := r.Stats(); r.Count() != 1 || !st.Loaded || st.Objects != 1 || st.Last != last || st.WindowFloor != last || st.Window != 0 {
				t.Errorf("after the load at %d: got %d and %+v", last, r.Count(), st)
			}
		}
		synctest.Wait()
		st := c.Stats()
		var prefixes []string
		for _, r := range st.Resources {
			prefixes = append(prefixes, strings.TrimPrefix(r.Prefix, "/registry/"))
		}
		if got := strings.Join(prefixes, " "); got != "apples/ things/ zebras/" || st.Seen != last || st.Waiting != 0 {
			t.Errorf("got %s, seen %d, want them in order, seen %d", got, st.Seen, last)
		}
	})
}

// TestStatsOfWatchers: a watcher's lag is the number of changes that it still has to look at.
// Changes that do not concern a waiting watcher do not count.
func TestStatsOfWatchers(t *testing.T) {
	r, store, _ := open(t, cache.Config{})
	put(t, store, things+"ns/a", "1", color("red"))
	all := watch(t, r, cache.WatchOptions{Prefix: things})
	red := watchColor(t, r, things+"ns/", "red")
	watch(t, r, cache.WatchOptions{Prefix: things + "initial/", Initial: true})
	check := func(when string, want ...string) {
		t.Helper()
		settle(t, r)
		var got []string
		for _, w := range r.Stats().Watchers {
			got = append(got, fmt.Sprintf("%s %s lag=%d past=%t", strings.TrimPrefix(w.Prefix, things), w.Field, w.Lag, w.Initializing))
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", when, got, want)
		}
	}
	check("at first", "  lag=0 past=false", "initial/  lag=0 past=true", "ns/ color=red lag=0 past=false")
	idle(t, all)
	idle(t, red.Watcher)
	for i := range 3 {
		put(t, store, things+"ns/b", fmt.Sprint(i), color("blue"))
	}
	check("after changes of others", "  lag=3 past=false", "initial/  lag=3 past=true", "ns/ color=red lag=0 past=false")
	put(t, store, things+"ns/a", "2", color("red"))
	check("after one more", "  lag=4 past=false", "initial/  lag=4 past=true", "ns/ color=red lag=1 past=false")
	if events, err := all.Next(t.Context()); err != nil || len(events) != 4 {
		t.Errorf("Next: got %v, %v", events, err)
	}
	check("when they have been sent", "  lag=0 past=false", "initial/  lag=4 past=true", "ns/ color=red lag=1 past=false")
}

// TestReadsWait: each read waits for its own revision, and is counted while it waits.
func TestReadsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store, c := open(t, cache.Config{})
		const n = 5
		rev := put(t, store, things+"ns/a", "0", nil)
		settle(t, r)
		var answered [n + 1]bool
		begin := time.Now()
		for _, i := range []int{3, 5, 1, 4, 2} {
			go func() {
				_, err := r.Get(t.Context(), things+"ns/a", cache.Want{Match: cache.NotOlderThan, Rev: rev + storage.Revision(i)})
				if took := time.Since(begin); err != nil || took > time.Second {
					t.Errorf("Get not older than %d more: got %v after %v", i, err, took)
				}
				answered[i] = true
			}()
		}
		ctx, cancel := context.WithCancel(t.Context())
		go r.Get(ctx, things+"ns/a", cache.Want{Match: cache.NotOlderThan, Rev: rev + n + 1})
		for i := range n + 1 {
			if synctest.Wait(); i > 0 && !answered[i] || i < n && answered[i+1] {
				t.Errorf("after %d changes: answered are %v", i, answered[1:])
			}
			if got, want := c.Stats().Waiting, n+1-i; got != want {
				t.Errorf("after %d changes: %d reads wait, want %d", i, got, want)
			}
			if i < n {
				put(t, store, things+"ns/other", fmt.Sprint(i), nil)
			}
		}
		cancel()
		synctest.Wait()
		if got := c.Stats().Waiting; got != 0 {
			t.Errorf("in the end: %d reads wait", got)
		}
	})
}

// TestDigest: digests are equal for equal states, and for no others.
func TestDigest(t *testing.T) {
	r, store, _ := open(t, cache.Config{})
	digest := func() cache.Digest {
		t.Helper()
		d, err := r.Digest(t.Context())
		other, errTwin := r.Twin().Digest(t.Context())
		if err != nil || errTwin != nil || d != other {
			t.Fatalf("got %+v, %v and of another cache %+v, %v", d, err, other, errTwin)
		}
		return d
	}
	rev := put(t, store, things+"ns/a", "1", nil)
	first := digest()
	if first.Rev != rev || first.Objects != 1 {
		t.Errorf("got %+v, want one object at %d", first, rev)
	}
	put(t, store, things+"ns/a", "1", nil)
	if second := digest(); second.Sum == first.Sum || second.Objects != 1 {
		t.Errorf("after an update: got %+v after %+v", second, first)
	}
	r.Close()
	if d, err := r.Digest(t.Context()); storage.KindOf(err) != storage.Closed {
		t.Errorf("of a closed resource: got %+v, %v, want %v", d, err, storage.Closed)
	}
	if err := r.Verify(t.Context()); storage.KindOf(err) != storage.Closed {
		t.Errorf("Verify of a closed resource: got %v, want %v", err, storage.Closed)
	}
}

// TestVerifyFinds: Verify finds a difference between cache and store, wherever it is.
func TestVerifyFinds(t *testing.T) {
	const n = 1500 // more than one Range returns
	u := &hookedStore{Store: memory.New(memory.Config{})}
	for i := range n {
		put(t, u.Store, fmt.Sprintf("%sns/%04d", things, i), "v", nil)
	}
	r, _, _ := openOn(t, u, cache.Config{})
	settle(t, r)
	if err := r.Verify(t.Context()); err != nil {
		t.Errorf("without a difference: %v", err)
	}
	for _, tt := range []struct {
		name, want string
		change     func(all []storage.Entry) []storage.Entry // of the store's answer
	}{
		{"lost at the end", `the store lacks "/registry/things/ns/1499"`, func(all []storage.Entry) []storage.Entry { return all[:n-1] }},
		{"lost before", `at 1501 where the cache has "/registry/things/ns/1200" at 1202`, // the store's next object
			func(all []storage.Entry) []storage.Entry { return slices.Delete(all, 1200, n-1) }},
		{"all lost", `the store lacks "/registry/things/ns/0000"`, func([]storage.Entry) []storage.Entry { return nil }},
		{"another revision", `"/registry/things/ns/0003" at 9000 where the cache has "/registry/things/ns/0003" at 5`,
			func(all []storage.Entry) []storage.Entry { all[3].Rev = 9000; return all }},
		{"one more", `"/registry/things/ns/x" at 9000 where the cache has nothing`, func(all []storage.Entry) []storage.Entry {
			return append(all, storage.Entry{Key: things + "ns/x", Rev: 9000})
		}},
	} {
		u.rng = func(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
			res, err := u.Store.Range(ctx, storage.RangeRequest{Prefix: req.Prefix, Rev: req.Rev})
			all := tt.change(res.Entries)
			i, _ := slices.BinarySearchFunc(all, req.After+"\x00", func(e storage.Entry, key string) int { return strings.Compare(e.Key, key) })
			end := min(i+req.Limit, len(all))
			res.Entries, res.More = all[i:end], end < len(all)
			return res, err
		}
		if err := r.Verify(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
	u.rng = func(context.Context, storage.RangeRequest) (storage.RangeResult, error) {
		return storage.RangeResult{}, fail(storage.Unavailable)
	}
	if err := r.Verify(t.Context()); storage.KindOf(err) != storage.Unavailable {
		t.Errorf("of a store that does not answer: got %v", err)
	}
}
