package cache_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/memory"
)

// lawShown: every operation that reads the store sees a change that a watch has shown.
func lawShown(t *testing.T, r *cache.Resource, store storage.Store) {
	// These cursors are never read. With them the store takes longer to tell all watches of a
	// change, so that reads can come before the change is visible to them.
	for range 32 {
		c, err := store.Watch(t.Context(), storage.WatchRequest{Prefix: things})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	const n = 700
	w := watch(t, r, cache.WatchOptions{Prefix: things})
	defer w.Close()
	go func() {
		for i := range n {
			key := fmt.Sprintf("%sns/%d", things, i)
			if _, err := store.Put(t.Context(), key, body(key, "1", nil), storage.Pre{}, 0); err != nil && t.Context().Err() == nil {
				t.Error(err)
			}
		}
	}()
	same := func(o *cache.Object) ([]byte, storage.LeaseID, error) { return body(o.Key, value(o), nil), 0, nil }
	refused := errors.New("refused")
	refuse := func(*cache.Object) ([]byte, storage.LeaseID, error) { return nil, 0, refused }
	for left := n; left > 0; {
		events, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := len(events) - 1; i >= 0; i-- { // the newest first: it may have been shown too early
			o := events[i].Object
			if events[i].Type != cache.Added {
				continue
			}
			left--
			if got, err := r.Update(t.Context(), o.Key, cache.UpdateOptions{}, same); err != nil || got.Rev != o.Rev {
				t.Errorf("Update without a change of %s, shown at %d: got %v, %v", o.Key, o.Rev, got, err)
			}
			if _, err := r.Update(t.Context(), o.Key, cache.UpdateOptions{}, refuse); err != refused {
				t.Errorf("Update that refuses %s, shown at %d: got %v", o.Key, o.Rev, err)
			}
			if left%20 == 0 { // seldom, because a deletion takes so long that the next events are old
				if _, err := r.Delete(t.Context(), o.Key, cache.DeleteOptions{Rev: o.Rev}, nil); err != nil {
					t.Errorf("Delete of %s, shown at %d: got %v", o.Key, o.Rev, err)
				}
			}
		}
	}
}

// staleStore is a store whose reads lag behind its watch: they return the state of one revision.
type staleStore struct {
	*hookedStore
	mu   sync.Mutex
	at   storage.Revision // the revision that reads return; 0: the present
	left int              // the number of reads that return it; below 0: all
}

// showOld makes the next reads return the state of a revision, or all reads if the number is below
// 0.
func (f *staleStore) showOld(at storage.Revision, reads int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at, f.left = at, reads
}

// shows returns the revision whose state a read returns, 0 for the present.
func (f *staleStore) shows() storage.Revision {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left == 0 {
		return 0
	}
	f.left--
	return f.at
}

func newStaleStore() *staleStore {
	f := &staleStore{hookedStore: &hookedStore{Store: memory.New(memory.Config{})}}
	f.get = func(ctx context.Context, key string) (storage.Entry, error) {
		at := f.shows()
		if at == 0 {
			return f.Store.Get(ctx, key)
		}
		res, err := f.Store.Range(ctx, storage.RangeRequest{Prefix: things, Rev: at})
		for _, e := range res.Entries {
			if e.Key == key {
				return e, err
			}
		}
		return storage.Entry{}, &storage.Error{Op: "get", Key: key, Kind: storage.NotFound, Rev: at}
	}
	f.rng = func(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
		at := f.shows()
		if at != 0 && req.Rev > at {
			return storage.RangeResult{}, &storage.Error{Op: "range", Kind: storage.Future, Rev: at}
		}
		if req.Rev == 0 {
			req.Rev = at
		}
		return f.Store.Range(ctx, req)
	}
	return f
}

// TestStoreBehind: if the store answers with an older state than the cache has shown, the cache
// asks it again, until the store has caught up, or for as long as a read may wait.
func TestStoreBehind(t *testing.T) {
	key, other := things+"ns/a", things+"ns/b"
	same := func(o *cache.Object) ([]byte, storage.LeaseID, error) { return body(key, value(o), nil), 0, nil }
	create := func(o *cache.Object) ([]byte, storage.LeaseID, error) {
		if o != nil {
			return nil, 0, fmt.Errorf("there is an object at %d", o.Rev)
		}
		return body(key, "new", nil), 0, nil
	}
	steps := []struct {
		name   string
		change func(t *testing.T, s storage.Store) // the store's reads do not show it
		read   func(t *testing.T, r *cache.Resource) error
		want   storage.Kind // 0: no error
	}{
		{"update without a change of a created object",
			func(t *testing.T, s storage.Store) { put(t, s, key, "1", nil) },
			func(t *testing.T, r *cache.Resource) error {
				_, err := r.Update(t.Context(), key, cache.UpdateOptions{}, same)
				return err
			}, 0},
		{"dry run of an update of a created object",
			func(t *testing.T, s storage.Store) { put(t, s, key, "1", nil) },
			func(t *testing.T, r *cache.Resource) error {
				_, err := r.Update(t.Context(), key, cache.UpdateOptions{DryRun: true}, same)
				return err
			}, 0},
		{"deletion of a created object, refused at first",
			func(t *testing.T, s storage.Store) { put(t, s, key, "1", nil) },
			func(t *testing.T, r *cache.Resource) error {
				_, err := r.Delete(t.Context(), key, cache.DeleteOptions{Rev: 1}, nil)
				return err
			}, storage.Conflict},
		{"update of a deleted object",
			func(t *testing.T, s storage.Store) { put(t, s, key, "1", nil); remove(t, s, key) },
			func(t *testing.T, r *cache.Resource) error {
				_, err := r.Update(t.Context(), key, cache.UpdateOptions{}, same)
				return err
			}, storage.NotFound},
		{"creation of an object that was deleted",
			func(t *testing.T, s storage.Store) { remove(t, s, other) },
			func(t *testing.T, r *cache.Resource) error {
				_, err := r.Update(t.Context(), other, cache.UpdateOptions{AllowCreate: true, DryRun: true}, create)
				return err
			}, 0},
		{"page of a list by an uncached resource",
			func(t *testing.T, s storage.Store) { put(t, s, key, "1", nil) },
			func(t *testing.T, r *cache.Resource) error {
				list, err := r.Twin().List(t.Context(), cache.ListOptions{Prefix: things, Limit: 2})
				if err == nil && len(list.Objects) != 2 {
					err = fmt.Errorf("got %s", show(list.Objects))
				}
				return err
			}, 0},
		{"read by an uncached resource",
			func(t *testing.T, s storage.Store) { put(t, s, key, "1", nil) },
			func(t *testing.T, r *cache.Resource) error {
				_, err := r.Twin().Get(t.Context(), key, cache.Want{})
				return err
			}, 0},
		{"question to an uncached resource",
			func(t *testing.T, s storage.Store) { put(t, s, key, "1", nil) },
			func(t *testing.T, r *cache.Resource) error {
				rev, err := r.Twin().Exists(t.Context(), key)
				if err == nil && rev == 0 {
					err = errors.New("got 0")
				}
				return err
			}, 0},
	}
	for _, tt := range steps {
		for _, reads := range []int{3, -1} {
			t.Run(fmt.Sprintf("%s/reads=%d", tt.name, reads), func(t *testing.T) {
				f := newStaleStore()
				r, _, _ := openOn(t, f, cache.Config{MaxWait: 20 * time.Millisecond})
				put(t, f.Store, other, "0", nil)
				settle(t, r)
				before, err := f.Store.Revision(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				tt.change(t, f.Store)
				settle(t, r)
				f.showOld(before, reads)
				want := tt.want
				if reads < 0 {
					want = storage.Unavailable
				}
				if err := tt.read(t, r); storage.KindOf(err) != want || (want == 0) != (err == nil) {
					t.Errorf("got %v, want kind %q", err, want.Error())
				}
			})
		}
	}
}
