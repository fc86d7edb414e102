package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/memory"
)

// spoil puts a value that no decoder can read.
func spoil(t testing.TB, store storage.Store, key string) storage.Revision {
	t.Helper()
	e, err := store.Put(t.Context(), key, []byte("}{"), storage.Pre{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return e.Rev
}

// keysOf returns the keys of the joined errors of a list.
func keysOf(t testing.TB, err error) []string {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || !errors.Is(err, storage.Corrupt) {
		t.Fatalf("got %v, want several of %v", err, storage.Corrupt)
	}
	var keys []string
	for _, err := range joined.Unwrap() {
		var e *storage.Error
		if !errors.As(err, &e) || e.Kind != storage.Corrupt || e.Rev == 0 {
			t.Errorf("got %v, want %v with a key and its revision", err, storage.Corrupt)
		}
		keys = append(keys, strings.TrimPrefix(e.Key, things))
	}
	return keys
}

// TestListNamesTheBroken: the error of a list names all unreadable objects of the list, up to a
// bound, and the error of a page only those of the page. The same holds for lists that the cache
// answers, and for lists that the store answers while the cache loads.
func TestListNamesTheBroken(t *testing.T) {
	for _, from := range []string{"cache", "store"} {
		t.Run(from, func(t *testing.T) {
			mem := memory.New(memory.Config{})
			for i := range 5 {
				put(t, mem, fmt.Sprintf("%sns/good%d", things, i), "1", nil)
				spoil(t, mem, fmt.Sprintf("%sns/bad%d", things, i))
			}
			for i := range 2 * cache.MaxCorrupt {
				spoil(t, mem, fmt.Sprintf("%smany/%03d", things, i))
			}
			var r *cache.Resource
			if from == "cache" {
				r, _, _ = openOn(t, mem, cache.Config{})
				settle(t, r)
			} else {
				var release func()
				r, _, release = unloaded(t, mem)
				t.Cleanup(release)
			}
			list := func(opts cache.ListOptions) []string {
				t.Helper()
				opts.Prefix = things + opts.Prefix
				_, err := r.List(t.Context(), opts)
				return keysOf(t, err)
			}
			if got := fmt.Sprint(list(cache.ListOptions{Prefix: "ns/", Limit: 9})); got != "[ns/bad0 ns/bad1 ns/bad2 ns/bad3 ns/bad4]" {
				t.Errorf("got %s, want all", got)
			}
			if got := fmt.Sprint(list(cache.ListOptions{Prefix: "ns/", Limit: 2})); got != "[ns/bad0 ns/bad1]" {
				t.Errorf("of a page: got %s, want those on it", got)
			}
			none := func(*cache.Object) bool { return false }
			if got := fmt.Sprint(list(cache.ListOptions{Prefix: "ns/", Limit: 9, Match: none})); got != "[ns/bad0 ns/bad1 ns/bad2 ns/bad3 ns/bad4]" {
				t.Errorf("of a selection: got %s, want all, because each of them may match", got)
			}
			if got := list(cache.ListOptions{Prefix: "many/", Limit: 3 * cache.MaxCorrupt}); len(got) != cache.MaxCorrupt+1 || got[100] != "many/100" {
				t.Errorf("of many: got %d, want the first %d and one more", len(got), cache.MaxCorrupt)
			}
			if got := list(cache.ListOptions{Prefix: "ns/", Only: things + "ns/bad3"}); len(got) != 1 || got[0] != "ns/bad3" {
				t.Errorf("of one: got %v", got)
			}
			if l, err := r.List(t.Context(), cache.ListOptions{Prefix: things + "ns/", Only: things + "ns/good3"}); err != nil || len(l.Objects) != 1 {
				t.Errorf("of a good one: got %v, %v", l, err)
			}
		})
	}
}

// TestBrokenIsTold: the error and the hook say which object cannot be read, and at which revision.
func TestBrokenIsTold(t *testing.T) {
	var mu sync.Mutex
	var told []string
	r, store, _ := open(t, cache.Config{Hooks: cache.Hooks{DecodeFailed: func(resource string, err *storage.Error) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, fmt.Sprint(resource, " ", err.Key, " ", err.Rev))
	}}})
	settle(t, r)
	bad := things + "ns/bad"
	var want []string
	for range 2 {
		rev := spoil(t, store, bad)
		var e *storage.Error
		if _, err := r.Get(t.Context(), bad, cache.Want{}); !errors.As(err, &e) || e.Key != bad || e.Rev != rev || e.Op != "decode" {
			t.Errorf("Get: got %v, want the key at %d", err, rev)
		}
		want = append(want, fmt.Sprint("things ", bad, " ", rev))
	}
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(told) != fmt.Sprint(want) {
		t.Errorf("the hook got %q, want %q", told, want)
	}
	if st := r.Stats(); st.Broken != 1 || st.Objects != 1 {
		t.Errorf("got %d broken of %d, want 1 of 1", st.Broken, st.Objects)
	}
}

// TestBrokenGoes: a client may know an unreadable object from the time when it could be read. When
// the object is deleted, every watch that may have shown it ends with an error, because no event
// can show the object. Watches go on at changes of other objects.
func TestBrokenGoes(t *testing.T) {
	r, store, _ := open(t, cache.Config{})
	settle(t, r)
	put(t, store, things+"ns/bad", "1", color("red"))
	spoil(t, store, things+"ns/bad")
	settle(t, r)
	all, key := watch(t, r, cache.WatchOptions{Prefix: things}), watch(t, r, cache.WatchOptions{Prefix: things, Key: things + "ns/bad"})
	red, ns := watchColor(t, r, things, "red"), watchColor(t, r, things+"ns/", "blue")
	other := watchColor(t, r, things+"other/", "red")
	put(t, store, things+"other/a", "1", color("red"))
	for _, w := range []*cache.Watcher{all, red.Watcher, other.Watcher} {
		if events, err := w.Next(t.Context()); err != nil || len(events) != 1 || events[0].Object.Key != things+"other/a" {
			t.Errorf("Next: got %v, %v, want the other object", events, err)
		}
	}
	idle(t, all)
	idle(t, key)
	rev := remove(t, store, things+"ns/bad")
	for i, w := range []*cache.Watcher{all, key, red.Watcher, ns.Watcher} {
		var e *storage.Error
		if events, err := w.Next(t.Context()); !errors.As(err, &e) || e.Kind != storage.Corrupt || e.Op != "delete" || e.Key != things+"ns/bad" {
			t.Errorf("Next of watcher %d: got %v, %v, want an error that an unreadable object was deleted", i, events, err)
		}
	}
	idle(t, other.Watcher)
	if l, err := r.List(t.Context(), cache.ListOptions{Prefix: things}); err != nil || len(l.Objects) != 1 || l.Rev != rev {
		t.Errorf("List: got %v, %v, want the other object", l, err)
	}
}

// TestBrokenThen: a list of a past state fails if an object of that state cannot be read.
func TestBrokenThen(t *testing.T) {
	r, store, _ := open(t, cache.Config{})
	settle(t, r)
	key := things + "ns/a"
	put(t, store, things+"ns/other", "1", nil)
	revs := []storage.Revision{put(t, store, key, "1", nil), spoil(t, store, key), put(t, store, key, "2", nil), spoil(t, store, key),
		spoil(t, store, key), remove(t, store, key), put(t, store, key, "3", nil)}
	settle(t, r)
	for _, reads := range []int{1, 2} { // the first time the state is computed, the second time it is the kept snapshot
		for i, want := range []error{nil, storage.Corrupt, nil, storage.Corrupt, storage.Corrupt, nil, nil} {
			opts := cache.ListOptions{Prefix: things, Want: cache.Want{Match: cache.Exact, Rev: revs[i]}, Limit: 3 - reads}
			if l, err := r.List(t.Context(), opts); !errors.Is(err, want) || err == nil && l.Rev != revs[i] {
				t.Errorf("List of state %d: got %v, %v, want %v", i, l, err, want)
			}
		}
	}
}

// TestBrokenWhy: the error has the reason of the decoder once, without the prefix that every such
// error gets.
func TestBrokenWhy(t *testing.T) {
	r, store, _ := open(t, cache.Config{})
	key := things + "ns/a"
	for _, tt := range []struct {
		err  error
		want string
	}{
		{errors.New("no such kind"), "no such kind"},
		{&storage.Error{Op: "read", Key: "x", Kind: storage.Corrupt, Err: errors.New("no such key")}, "no such key"},
		{&storage.Error{Op: "read", Key: "x", Kind: storage.Corrupt}, (&storage.Error{Op: "read", Key: "x", Kind: storage.Corrupt}).Error()},
	} {
		r.SetDecode(func(string, []byte) (cache.Decoded, error) { return cache.Decoded{}, tt.err }, nil)
		want := (&storage.Error{Op: "decode", Key: key, Kind: storage.Corrupt, Rev: put(t, store, key, "1", nil), Err: errors.New(tt.want)}).Error()
		if _, err := r.Get(t.Context(), key, cache.Want{}); err == nil || err.Error() != want {
			t.Errorf("Get: got %v, want %s", err, want)
		}
	}
}

// TestBrokenIsMended: when an unreadable object becomes readable, a watch that selects it gets it.
// A watch that does not select it may have shown an older state of it, so this watch ends, and the
// client lists again.
func TestBrokenIsMended(t *testing.T) {
	r, store, _ := open(t, cache.Config{})
	settle(t, r)
	spoil(t, store, things+"ns/a")
	settle(t, r)
	red, blue := watchColor(t, r, things, "red"), watchColor(t, r, things, "blue")
	rev := put(t, store, things+"ns/a", "2", color("red"))
	if events, err := red.Next(t.Context()); err != nil || len(events) != 1 || events[0].Type != cache.Added || events[0].Rev != rev {
		t.Errorf("Next: got %v, %v, want the object", events, err)
	}
	if events, err := blue.Next(t.Context()); !errors.Is(err, storage.Corrupt) {
		t.Errorf("Next of another color: got %v, %v, want %v", events, err, storage.Corrupt)
	}
}

// TestDiscard deletes an unreadable object, if it still has the revision that the caller saw.
func TestDiscard(t *testing.T) {
	r, store, c := open(t, cache.Config{})
	key := things + "ns/bad"
	rev := spoil(t, store, key)
	settle(t, r)
	if err := r.Discard(t.Context(), key, rev+1); !errors.Is(err, storage.Conflict) {
		t.Errorf("Discard at another revision: got %v, want %v", err, storage.Conflict)
	}
	if err := r.Discard(t.Context(), key, rev); err != nil {
		t.Errorf("Discard: %v", err)
	}
	if _, err := r.Get(t.Context(), key, cache.Want{}); !errors.Is(err, storage.NotFound) {
		t.Errorf("Get: got %v, want %v", err, storage.NotFound)
	}
	if err := r.Discard(t.Context(), key, rev); !errors.Is(err, storage.NotFound) {
		t.Errorf("Discard of nothing: got %v, want %v", err, storage.NotFound)
	}
	if err := r.Verify(context.Background()); err != nil || r.Stats().Broken != 0 {
		t.Errorf("got %v, %d broken", err, r.Stats().Broken)
	}
	r.Close()
	if err := r.Discard(t.Context(), key, rev); !errors.Is(err, storage.Closed) {
		t.Errorf("Discard of a closed resource: got %v, want %v", err, storage.Closed)
	}
	c.Close()
}
