package cache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/embedded"
	"github.com/coracle-project/coracle/storage/memory"
)

// engines are the stores under the cache.
var engines = map[string]func(t testing.TB) storage.Store{
	"memory": func(testing.TB) storage.Store { return memory.New(memory.Config{}) },
	"embedded": func(t testing.TB) storage.Store {
		s, err := embedded.Open(t.Context(), embedded.Config{Dir: t.TempDir(), NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		return s
	},
}

// TestLaws runs each law of the package comment over each engine.
func TestLaws(t *testing.T) {
	laws := []struct {
		name string
		run  func(t *testing.T, r *cache.Resource, store storage.Store)
	}{
		{"consistent reads see acknowledged writes", lawConsistent},
		{"NotOlderThan waits", lawNotOlderThan},
		{"exact reads", lawExact},
		{"pages show one revision", lawPages},
		{"watch after list", lawListWatch},
		{"watch is resumable", lawResume},
		{"deletions and selectors", lawSelectors},
		{"initial events", lawInitial},
		{"watch a future revision", lawFuture},
		{"the cache equals the store", lawVerify},
		{"what is shown is there", lawShown},
		{"random operations", lawRandom},
	}
	for engine, open := range engines {
		for _, law := range laws {
			t.Run(engine+"/"+law.name, func(t *testing.T) {
				t.Parallel()
				r, store, _ := openOn(t, open(t), cache.Config{})
				law.run(t, r, store)
			})
		}
	}
}

func lawConsistent(t *testing.T, r *cache.Resource, store storage.Store) {
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			key := fmt.Sprintf("%sns/%d", things, g)
			for i := range 200 {
				e, err := store.Put(t.Context(), key, body(key, fmt.Sprint(i), nil), storage.Pre{}, 0)
				if err != nil {
					t.Error(err)
					return
				}
				o, err := r.Get(t.Context(), key, cache.Want{})
				if err != nil || o.Rev != e.Rev {
					t.Errorf("Get after Put at %d: got %+v, %v", e.Rev, o, err)
				}
				list, err := r.List(t.Context(), cache.ListOptions{Prefix: things + "ns/"})
				if err != nil || list.Rev < e.Rev || !slices.ContainsFunc(list.Objects, func(o *cache.Object) bool { return o.Rev == e.Rev }) {
					t.Errorf("List after Put at %d: got %s at %d, %v", e.Rev, show(list.Objects), list.Rev, err)
				}
			}
		})
	}
	wg.Wait()
}

func lawNotOlderThan(t *testing.T, r *cache.Resource, store storage.Store) {
	key := things + "ns/a"
	rev := put(t, store, key, "1", nil)
	settle(t, r)
	result := make(chan error)
	go func() {
		o, err := r.Get(t.Context(), key, cache.Want{Match: cache.NotOlderThan, Rev: rev + 1})
		if err == nil && o.Rev != rev+1 {
			err = fmt.Errorf("got revision %d, want %d", o.Rev, rev+1)
		}
		result <- err
	}()
	time.Sleep(10 * time.Millisecond)
	put(t, store, key, "2", nil)
	if err := <-result; err != nil {
		t.Error(err)
	}
	// Somebody else's key raises the store's revision, not the watch's: the store must be asked for
	// progress.
	e, err := store.Put(t.Context(), "/elsewhere/x", []byte("{}"), storage.Pre{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Get(t.Context(), key, cache.Want{Match: cache.NotOlderThan, Rev: e.Rev}); err != nil {
		t.Errorf("Get not older than another key's revision: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := r.Get(ctx, key, cache.Want{Match: cache.NotOlderThan, Rev: e.Rev + 100}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Get of the future until a deadline: got %v", err)
	}
}

func lawExact(t *testing.T, r *cache.Resource, store storage.Store) {
	states := map[storage.Revision]string{}
	now := map[string]string{}
	note := func(rev storage.Revision) {
		var all []string
		for _, k := range slices.Sorted(maps.Keys(now)) {
			all = append(all, now[k])
		}
		states[rev] = strings.Join(all, " ")
	}
	write := func(i int) {
		k := fmt.Sprintf("ns/%d", i%5)
		var rev storage.Revision
		if _, ok := now[k]; ok && i%3 == 0 {
			rev = remove(t, store, things+k)
			delete(now, k)
		} else {
			rev = put(t, store, things+k, fmt.Sprint(i), nil)
			now[k] = fmt.Sprintf("%s=%d@%d", k, i, rev)
		}
		note(rev)
	}
	for i := range 20 {
		write(i)
	}
	if _, err := r.List(t.Context(), cache.ListOptions{Prefix: things}); err != nil { // loads the resource: earlier changes are only in the store's history
		t.Fatal(err)
	}
	for i := 20; i < 40; i++ {
		write(i)
	}
	for rev, want := range states {
		list, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Want: cache.Want{Match: cache.Exact, Rev: rev}})
		if got := show(list.Objects); err != nil || got != want || list.Rev != rev {
			t.Errorf("List exactly at %d: got %q at %d, %v, want %q", rev, got, list.Rev, err, want)
		}
		o, err := r.Get(t.Context(), things+"ns/1", cache.Want{Match: cache.Exact, Rev: rev})
		if i := slices.IndexFunc(list.Objects, func(o *cache.Object) bool { return o.Key == things+"ns/1" }); i < 0 && !errors.Is(err, storage.NotFound) ||
			i >= 0 && (err != nil || o.Rev != list.Objects[i].Rev) {
			t.Errorf("Get exactly at %d: got %v, %v, want that of %q", rev, o, err, want)
		}
	}
	rev := put(t, store, things+"ns/x", "x", nil)
	if err := store.Compact(t.Context(), rev); err != nil {
		t.Fatal(err)
	}
	_, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Want: cache.Want{Match: cache.Exact, Rev: 3}})
	if !errors.Is(err, storage.Compacted) {
		t.Errorf("List exactly at a compacted revision: got %v, want %v", err, storage.Compacted)
	}
}

func lawPages(t *testing.T, r *cache.Resource, store storage.Store) {
	var want []string
	var rev storage.Revision
	for i := range 25 {
		key := fmt.Sprintf("%sns/%02d", things, i)
		rev = put(t, store, key, "v", nil)
		want = append(want, fmt.Sprintf("ns/%02d=v@%d", i, rev))
	}
	put(t, store, things+"other/x", "v", nil)
	for _, churn := range []int{0, 1, 150} {
		var got []string
		opts := cache.ListOptions{Prefix: things + "ns/", Limit: 7}
		for page := 0; ; page++ {
			list, err := r.List(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			if page == 0 {
				rev = list.Rev
			}
			if list.Rev != rev {
				t.Errorf("page %d: got revision %d, want %d", page, list.Rev, rev)
			}
			got = append(got, show(list.Objects))
			if !list.More {
				break
			}
			if want := int64(25 - 7*(page+1)); list.Remaining != want {
				t.Errorf("page %d: got %d remaining, want %d", page, list.Remaining, want)
			}
			last := list.Objects[len(list.Objects)-1].Key
			token := cache.EncodeContinue(list.Rev, last[len(opts.Prefix):])
			opts.Want.Match = cache.Exact
			if opts.Want.Rev, opts.After, err = cache.DecodeContinue(token, opts.Prefix); err != nil {
				t.Fatal(err)
			}
			for i := range churn {
				key := fmt.Sprintf("%sns/0%da", things, i%10)
				put(t, store, key, "new", nil)
				remove(t, store, key)
			}
		}
		if g, w := strings.Join(got, " "), strings.Join(want, " "); g != w {
			t.Errorf("pages with %d changes between: got %s, want %s", churn, g, w)
		}
	}
}

// replica is the state that a client builds from a list and a watch.
type replica map[string]storage.Revision

func (m replica) apply(t *testing.T, e cache.Event) {
	t.Helper()
	if e.Type == cache.Bookmark {
		return
	}
	_, have := m[e.Object.Key]
	if have == (e.Type == cache.Added) {
		t.Errorf("event %d of %s at %d: the client has it: %t", e.Type, e.Object.Key, e.Rev, have)
	}
	if e.Object.Rev != e.Rev {
		t.Errorf("event %d of %s: object at %d, event at %d", e.Type, e.Object.Key, e.Object.Rev, e.Rev)
	}
	if e.Type == cache.Deleted {
		delete(m, e.Object.Key)
	} else {
		m[e.Object.Key] = e.Rev
	}
}

func replicaOf(list cache.List) replica {
	m := replica{}
	for _, o := range list.Objects {
		m[o.Key] = o.Rev
	}
	return m
}

// follow lists, watches from the list's revision until stop has been seen, and returns the replica.
func follow(t *testing.T, r *cache.Resource, opts cache.WatchOptions, stop storage.Revision) replica {
	list, err := r.List(t.Context(), cache.ListOptions{Prefix: opts.Prefix, Match: opts.Match})
	if err != nil {
		t.Error(err)
		return nil
	}
	m := replicaOf(list)
	opts.After = list.Rev
	watchUntil(t, r, opts, stop, m)
	return m
}

// watchUntil applies events to m until a list proves that stop was reached.
func watchUntil(t *testing.T, r *cache.Resource, opts cache.WatchOptions, stop storage.Revision, m replica) {
	w, err := r.Watch(t.Context(), opts)
	if err != nil {
		t.Error(err)
		return
	}
	defer w.Close()
	for last := opts.After; last < stop; {
		events, err := w.Next(t.Context())
		if err != nil {
			t.Errorf("Next after %d: %v", last, err)
			return
		}
		for _, e := range events {
			if e.Rev <= last && e.Type != cache.Bookmark {
				t.Errorf("event at %d after one at %d", e.Rev, last)
			}
			last = e.Rev
			m.apply(t, e)
		}
	}
}

func lawListWatch(t *testing.T, r *cache.Resource, store storage.Store) {
	const writes = 600
	var wg sync.WaitGroup
	stop := storage.Revision(0)
	{
		// Each write is one revision, so the number of revisions is known.
		rev, err := store.Revision(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		stop = rev + writes
	}
	replicas := make([]replica, 8)
	for i := range replicas {
		wg.Go(func() {
			time.Sleep(time.Duration(i) * 3 * time.Millisecond)
			replicas[i] = follow(t, r, cache.WatchOptions{Prefix: things}, stop)
		})
	}
	wg.Go(func() {
		rnd := rand.New(rand.NewPCG(1, 2))
		have := map[string]bool{}
		for i := range writes {
			key := fmt.Sprintf("%sns/%d", things, rnd.IntN(20))
			if have[key] && rnd.IntN(3) == 0 && i < writes-1 {
				remove(t, store, key)
				have[key] = false
			} else {
				put(t, store, key, "v", nil)
				have[key] = true
			}
			if i%20 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
	})
	wg.Wait()
	list, err := r.List(t.Context(), cache.ListOptions{Prefix: things})
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range replicas {
		if want := replicaOf(list); !maps.Equal(got, want) {
			t.Errorf("replica %d: got %v, want %v", i, got, want)
		}
	}
}

func lawResume(t *testing.T, r *cache.Resource, store storage.Store) {
	begin, err := store.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var revs []storage.Revision
	for i := range 10 { // before the load, so only the store has them
		revs = append(revs, put(t, store, fmt.Sprintf("%sns/%d", things, i%3), "v", nil))
	}
	if _, err := r.List(t.Context(), cache.ListOptions{Prefix: things}); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if i == 5 {
			revs = append(revs, remove(t, store, things+"ns/0"))
			continue
		}
		revs = append(revs, put(t, store, fmt.Sprintf("%sns/%d", things, i%3), "v", nil))
	}
	watch := func(after, until storage.Revision) []string {
		w, err := r.Watch(t.Context(), cache.WatchOptions{Prefix: things, After: after})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		var got []string
		for {
			events, err := w.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				got = append(got, fmt.Sprint(e.Type, " ", e.Object.Key, "@", e.Rev, " ", string(e.Object.JSON())))
				if e.Rev == until {
					return got
				}
			}
		}
	}
	last := revs[len(revs)-1]
	all := watch(max(begin, 1), last)
	if len(all) != len(revs) {
		t.Fatalf("watch from the beginning: got %d events, want %d: %v", len(all), len(revs), all)
	}
	for i, rev := range revs[:len(revs)-1] {
		if got, want := watch(rev, last), all[i+1:]; !slices.Equal(got, want) {
			t.Errorf("resumed at %d: got %v, want %v", rev, got, want)
		}
	}
}

func lawSelectors(t *testing.T, r *cache.Resource, store storage.Store) {
	key, other := things+"ns/a", things+"ns/b"
	red := func(o *cache.Object) bool { c, _ := o.Labels.Get("color"); return c == "red" }
	watchers := []*cache.Watcher{
		watch(t, r, cache.WatchOptions{Prefix: things, Match: red}),
		watch(t, r, cache.WatchOptions{Prefix: things, Match: red, Field: cache.Pair{Key: "color", Value: "red"}}),
		watch(t, r, cache.WatchOptions{Prefix: things + "ns/", Match: red, Field: cache.Pair{Key: "color", Value: "red"}}),
		watch(t, r, cache.WatchOptions{Prefix: things, Match: red, Field: cache.Pair{Key: "unknown", Value: "red"}}),
	}
	put(t, store, key, "1", map[string]string{"color": "blue"})
	put(t, store, key, "2", map[string]string{"color": "red"})
	put(t, store, key, "3", map[string]string{"color": "red"})
	left := put(t, store, key, "4", map[string]string{"color": "blue"})
	put(t, store, key, "5", map[string]string{"color": "green"})
	put(t, store, key, "6", map[string]string{"color": "red"})
	deleted := remove(t, store, key)
	end := put(t, store, other, "end", map[string]string{"color": "red"})
	for i, w := range watchers {
		var got []string
		for done := false; !done; {
			events, err := w.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				done = e.Rev == end
				got = append(got, fmt.Sprint(e.Type, "=", value(e.Object)))
				if want := fmt.Sprintf(`"resourceVersion":"%d"`, e.Rev); !strings.Contains(string(e.Object.JSON()), want) {
					t.Errorf("event: got %s, want %s in it", e.Object.JSON(), want)
				}
				if e.Type == cache.Deleted && e.Rev != left && e.Rev != deleted {
					t.Errorf("deletion at %d, want %d or %d", e.Rev, left, deleted)
				}
			}
		}
		want := []string{"0=2", "1=3", "2=3", "0=6", "2=6", "0=end"}
		if !slices.Equal(got, want) {
			t.Errorf("watcher %d: got %v, want %v", i, got, want)
		}
	}
}

func lawInitial(t *testing.T, r *cache.Resource, store storage.Store) {
	const n = 1100 // several chunks
	for i := range n {
		put(t, store, fmt.Sprintf("%sns/%04d", things, i), "v", nil)
	}
	last := put(t, store, things+"zz/x", "v", nil)
	w, err := r.Watch(t.Context(), cache.WatchOptions{Prefix: things + "ns/", Initial: true, InitialEnd: true, Bookmarks: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	after := put(t, store, things+"ns/0000", "new", nil)
	var added int
	var ended, modified bool
	for !modified {
		events, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			switch {
			case e.Type == cache.Added && !ended:
				if want := fmt.Sprintf("%sns/%04d", things, added); e.Object.Key != want {
					t.Fatalf("event %d: got %q, want %q", added, e.Object.Key, want)
				}
				added++
			case e.Type == cache.Bookmark && e.InitialEnd && !ended && added == n:
				ended = true
				if e.Rev < last {
					t.Errorf("end of the initial events: got revision %d, want at least %d", e.Rev, last)
				}
			case e.Type == cache.Modified && e.Rev == after && ended:
				modified = true
			default:
				t.Fatalf("unexpected event %+v after %d", e, added)
			}
		}
	}
	one, err := r.Watch(t.Context(), cache.WatchOptions{Prefix: things + "ns/", Key: things + "ns/0007", Initial: true})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	if events, err := one.Next(t.Context()); err != nil || len(events) != 1 || events[0].Object.Key != things+"ns/0007" {
		t.Errorf("watch of one object: got %v, %v", events, err)
	}
}

func lawFuture(t *testing.T, r *cache.Resource, store storage.Store) {
	rev := put(t, store, things+"ns/a", "1", nil)
	w, err := r.Watch(t.Context(), cache.WatchOptions{Prefix: things, After: rev + 2})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i := range 4 {
		put(t, store, things+"ns/a", fmt.Sprint(i), nil)
	}
	events, err := w.Next(t.Context())
	if err != nil || events[0].Rev != rev+3 {
		t.Errorf("Next: got %+v, %v, want the change at %d", events, err, rev+3)
	}
}

func lawVerify(t *testing.T, r *cache.Resource, store storage.Store) {
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for g := range 2 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(3, uint64(g)))
			for ctx.Err() == nil {
				key := fmt.Sprintf("%sns%d/%d", things, g, rnd.IntN(50))
				_, err := store.Put(t.Context(), key, body(key, "v", nil), storage.Pre{}, 0)
				if err == nil && rnd.IntN(2) == 0 {
					_, err = store.Delete(t.Context(), key, storage.Pre{})
				}
				if err != nil {
					t.Error(err)
				}
				time.Sleep(10 * time.Microsecond) // otherwise the store forgets the revision before the test reads it
			}
		})
	}
	for range 20 {
		if err := r.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := r.Digest(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	wg.Wait()
}
