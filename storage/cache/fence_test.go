package cache_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/memory"
)

// fenceKey is the key of the fence, beside the objects.
const fenceKey = "/registry/fence"

// move writes the fence's key and returns its revision.
func move(t testing.TB, store storage.Store) storage.Revision {
	t.Helper()
	e, err := store.Put(t.Context(), fenceKey, nil, storage.Pre{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return e.Rev
}

// fenced are the writes that can carry a fence.
var fenced = map[string]func(ctx context.Context, r *cache.Resource, key string, fence storage.Fence) (*cache.Object, error){
	"create": func(ctx context.Context, r *cache.Resource, key string, fence storage.Fence) (*cache.Object, error) {
		return r.CreateAs(ctx, key, body(key, "new", nil), cache.PutOptions{Fence: fence}, 0)
	},
	"update": func(ctx context.Context, r *cache.Resource, key string, fence storage.Fence) (*cache.Object, error) {
		opts := cache.UpdateOptions{Put: func() cache.PutOptions { return cache.PutOptions{Fence: fence} }}
		return r.Update(ctx, key, opts, func(cur *cache.Object) ([]byte, storage.LeaseID, error) {
			return body(key, "new", nil), 0, nil
		})
	},
}

// TestFence: a write is stored if its fence holds, and otherwise fails with Fenced. This is so
// whether or not the resource is loaded, and for a write that was in doubt.
func TestFence(t *testing.T) {
	for _, tt := range []struct {
		name string
		// first is called instead of the first put, and may do the put by mine.
		first func(s storage.Store, t *testing.T, mine func() error) error
		want  storage.Kind // 0: stored
		puts  int          // of the whole write
	}{
		{"it holds", func(_ storage.Store, _ *testing.T, mine func() error) error { return mine() }, 0, 1},
		{"it moves before", func(s storage.Store, t *testing.T, mine func() error) error { move(t, s); return mine() },
			storage.Fenced, 1},
		{"it moves after", func(s storage.Store, t *testing.T, mine func() error) error { err := mine(); move(t, s); return err },
			0, 1},
		{"stored in doubt, then it moves", func(s storage.Store, t *testing.T, mine func() error) error {
			if err := mine(); err != nil {
				t.Error(err)
			}
			move(t, s)
			return fail(storage.InDoubt)
		}, 0, 1},
		{"lost in doubt, then it moves", func(s storage.Store, t *testing.T, _ func() error) error {
			move(t, s)
			return fail(storage.InDoubt)
		}, storage.Fenced, 2},
		{"lost in doubt", func(storage.Store, *testing.T, func() error) error { return fail(storage.InDoubt) }, 0, 2},
	} {
		for name, write := range fenced {
			for _, loaded := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s,loaded=%t", tt.name, name, loaded), func(t *testing.T) {
					u := &hookedStore{Store: memory.New(memory.Config{})}
					r, _, _ := openOn(t, u, cache.Config{})
					key := things + "ns/a"
					if name == "update" {
						if _, err := r.Create(t.Context(), key, body(key, "old", nil), 0); err != nil {
							t.Fatal(err)
						}
					}
					if loaded {
						settle(t, r)
					}
					fence := storage.Fence{Key: fenceKey, Rev: move(t, u.Store)}
					puts := 0
					var late func() error
					u.put = func(ctx context.Context, key string, value []byte, pre storage.Pre) (e storage.Entry, err error) {
						mine := func() error { e, err = u.Store.Put(ctx, key, value, pre, 0); return err }
						if puts++; puts == 1 {
							late = func() error { _, err := u.Store.Put(ctx, key, value, pre, 0); return err }
							err = tt.first(u.Store, t, mine)
							return e, err
						}
						return e, mine()
					}
					o, err := write(t.Context(), r, key, fence)
					if storage.KindOf(err) != tt.want || puts != tt.puts {
						t.Fatalf("got %v after %d puts, want %v after %d", err, puts, tt.want, tt.puts)
					}
					if tt.want == 0 {
						if value(o) != "new" {
							t.Errorf("got %s", show([]*cache.Object{o}))
						}
						return
					}
					// A put that arrives only after that fails.
					if err := late(); !errors.Is(err, storage.Fenced) {
						t.Errorf("a late put: got %v, want %v", err, storage.Fenced)
					}
				})
			}
		}
	}
}

// TestFenceOfStale: an update that began with a stale object begins again, with the fence that the
// function then asks for.
func TestFenceOfStale(t *testing.T) {
	r, store, hold := lagging(t)
	key := things + "ns/a"
	put(t, store, key, "1", nil)
	settle(t, r)
	hold()
	put(t, store, key, "2", nil)
	fence := storage.Fence{Key: fenceKey, Rev: move(t, store)}
	var saw []string
	opts := cache.UpdateOptions{Put: func() cache.PutOptions { return cache.PutOptions{Fence: fence} }}
	o, err := r.Update(t.Context(), key, opts, func(cur *cache.Object) ([]byte, storage.LeaseID, error) {
		saw = append(saw, value(cur))
		fence.Rev = move(t, store)
		return body(key, value(cur)+"3", nil), 0, nil
	})
	if err != nil || value(o) != "23" || fmt.Sprint(saw) != "[1 2]" {
		t.Errorf("Update: got %v, %v after it saw %s", o, err, saw)
	}
}

// TestFenceOfNothing: an update that changes nothing writes nothing, so it succeeds although its
// fence does not hold.
func TestFenceOfNothing(t *testing.T) {
	r, store, _ := open(t, cache.Config{})
	key := things + "ns/a"
	rev := put(t, store, key, "new", nil)
	o, err := fenced["update"](t.Context(), r, key, storage.Fence{Key: fenceKey, Rev: 1})
	if err != nil || o.Rev != rev {
		t.Errorf("Update: got %v, %v, want the object at %d", o, err, rev)
	}
}
