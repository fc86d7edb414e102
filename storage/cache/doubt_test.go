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

// TestInDoubt: every write of the store ends in doubt, applied or not. Each is applied exactly
// once.
func TestInDoubt(t *testing.T) {
	for _, applied := range []bool{true, false} {
		for _, loaded := range []bool{true, false} {
			t.Run(fmt.Sprintf("applied=%t,loaded=%t", applied, loaded), func(t *testing.T) {
				u := &hookedStore{Store: memory.New(memory.Config{})}
				lie := 0
				u.put = func(ctx context.Context, key string, value []byte, pre storage.Pre) (storage.Entry, error) {
					if lie++; lie%2 == 0 {
						return u.Store.Put(ctx, key, value, pre, 0)
					}
					if applied {
						if e, err := u.Store.Put(ctx, key, value, pre, 0); err != nil {
							return e, err
						}
					}
					return storage.Entry{}, fail(storage.InDoubt)
				}
				u.del = func(ctx context.Context, key string, pre storage.Pre) (storage.Revision, error) {
					if lie++; lie%2 == 0 {
						return u.Store.Delete(ctx, key, pre)
					}
					if applied {
						if rev, err := u.Store.Delete(ctx, key, pre); err != nil {
							return rev, err
						}
					}
					return 0, fail(storage.InDoubt)
				}
				r, _, _ := openOn(t, u, cache.Config{})
				key := things + "ns/a"
				if loaded {
					settle(t, r)
				}
				o, err := r.Create(t.Context(), key, body(key, "", nil), 0)
				if err != nil || o == nil || value(o) != "" {
					t.Fatalf("Create: got %+v, %v", o, err)
				}
				const n = 20
				for i := range n {
					lie = 0
					o, err := r.Update(t.Context(), key, cache.UpdateOptions{}, func(cur *cache.Object) ([]byte, storage.LeaseID, error) {
						return body(key, value(cur)+"x", nil), 0, nil
					})
					if err != nil || len(value(o)) != i+1 {
						t.Fatalf("Update %d: got %s, %v", i, show([]*cache.Object{o}), err)
					}
				}
				lie = 0
				o, err = r.Delete(t.Context(), key, cache.DeleteOptions{}, nil)
				if err != nil || len(value(o)) != n {
					t.Fatalf("Delete: got %+v, %v", o, err)
				}
				if _, err := u.Store.Get(t.Context(), key); !errors.Is(err, storage.NotFound) {
					t.Errorf("Get: got %v, want %v", err, storage.NotFound)
				}
			})
		}
	}
}

// TestInDoubtOverwritten: a write in doubt is found in the history if another write has replaced
// it.
func TestInDoubtOverwritten(t *testing.T) {
	u := &hookedStore{Store: memory.New(memory.Config{})}
	key := things + "ns/a"
	r, store, _ := openOn(t, u, cache.Config{})
	base := put(t, store, key, "0", nil)
	settle(t, r)
	u.put = func(ctx context.Context, key string, value []byte, pre storage.Pre) (storage.Entry, error) {
		if _, err := u.Store.Put(ctx, key, value, pre, 0); err != nil {
			t.Errorf("Put: %v", err)
		}
		put(t, u.Store, key, "somebody else's", nil)
		return storage.Entry{}, fail(storage.InDoubt)
	}
	calls := 0
	o, err := r.Update(t.Context(), key, cache.UpdateOptions{}, func(cur *cache.Object) ([]byte, storage.LeaseID, error) {
		calls++
		return body(key, "mine", nil), 0, nil
	})
	if err != nil || calls != 1 || value(o) != "mine" || o.Rev != base+1 {
		t.Errorf("Update: got %+v, %v after %d calls, want the write at %d after 1", o, err, calls, base+1)
	}
}

// TestInDoubtSame: an earlier write with the same content is not mistaken for the write in doubt.
func TestInDoubtSame(t *testing.T) {
	r, store, hold := lagging(t)
	key := things + "ns/a"
	put(t, store, key, "x", nil)
	settle(t, r)
	hold() // from here on, r begins each update with x
	grow := func(cur *cache.Object) ([]byte, storage.LeaseID, error) {
		return body(key, value(cur)+"x", nil), 0, nil
	}
	if _, err := r.Twin().Update(t.Context(), key, cache.UpdateOptions{}, grow); err != nil {
		t.Fatal(err)
	}
	u := store.(*hookedStore)
	u.put = func(context.Context, string, []byte, storage.Pre) (storage.Entry, error) {
		u.put = nil
		return storage.Entry{}, fail(storage.InDoubt)
	}
	o, err := r.Update(t.Context(), key, cache.UpdateOptions{}, grow)
	if err != nil || value(o) != "xxx" {
		t.Errorf("Update: got %s, %v, want xxx", show([]*cache.Object{o}), err)
	}
}

// TestCreateInDoubt: the history of the key decides whether a creation in doubt was stored.
func TestCreateInDoubt(t *testing.T) {
	key := things + "ns/a"
	for _, tt := range []struct {
		name  string
		first func(t *testing.T, s storage.Store, mine func()) // what happens instead of the first put
		want  string                                           // value, or
		err   storage.Kind
	}{
		{"another first", func(t *testing.T, s storage.Store, _ func()) { put(t, s, key, "other", nil) }, "", storage.Exists},
		{"then replaced", func(t *testing.T, s storage.Store, mine func()) { mine(); put(t, s, key, "other", nil) }, "mine", 0},
		{"then deleted", func(t *testing.T, s storage.Store, mine func()) { mine(); remove(t, s, key) }, "mine", 0},
		{"another before and after", func(t *testing.T, s storage.Store, mine func()) {
			put(t, s, key, "other", nil)
			remove(t, s, key)
			mine()
			put(t, s, key, "other", nil)
		}, "mine", 0},
		{"another deleted", func(t *testing.T, s storage.Store, _ func()) { put(t, s, key, "other", nil); remove(t, s, key) }, "mine", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := &hookedStore{Store: memory.New(memory.Config{})}
			r, _, _ := openOn(t, u, cache.Config{})
			settle(t, r)
			u.put = func(ctx context.Context, key string, value []byte, pre storage.Pre) (storage.Entry, error) {
				u.put = nil
				tt.first(t, u.Store, func() { u.Store.Put(ctx, key, value, pre, 0) })
				return storage.Entry{}, fail(storage.InDoubt)
			}
			o, err := r.Create(t.Context(), key, body(key, "mine", nil), 0)
			if storage.KindOf(err) != tt.err || err == nil && value(o) != tt.want {
				t.Errorf("Create: got %+v, %v, want %q, %v", o, err, tt.want, tt.err)
			}
		})
	}
}

// TestDeleteInDoubt: if an object was deleted and created again while a deletion is in doubt, the
// new object is not deleted.
func TestDeleteInDoubt(t *testing.T) {
	key := things + "ns/a"
	for _, recreated := range []bool{true, false} {
		t.Run(fmt.Sprintf("recreated=%t", recreated), func(t *testing.T) {
			u := &hookedStore{Store: memory.New(memory.Config{})}
			r, store, _ := openOn(t, u, cache.Config{})
			put(t, store, key, "1", nil)
			settle(t, r)
			u.del = func(ctx context.Context, key string, pre storage.Pre) (storage.Revision, error) {
				u.del = nil
				if recreated {
					remove(t, u.Store, key)
				}
				put(t, u.Store, key, "2", nil)
				return 0, fail(storage.InDoubt)
			}
			o, err := r.Delete(t.Context(), key, cache.DeleteOptions{}, nil)
			want := map[bool]string{true: "1", false: "2"}[recreated]
			if err != nil || value(o) != want {
				t.Errorf("Delete: got %+v, %v, want the object %s", o, err, want)
			}
			if _, err := u.Store.Get(t.Context(), key); errors.Is(err, storage.NotFound) == recreated {
				t.Errorf("Get afterwards: got %v", err)
			}
		})
	}
}

// TestAlwaysInDoubt: a write whose outcome stays unknown is reported as such, after a few tries.
func TestAlwaysInDoubt(t *testing.T) {
	u := &hookedStore{Store: memory.New(memory.Config{})}
	key, other := things+"ns/a", things+"ns/b"
	r, _, _ := openOn(t, u, cache.Config{})
	put(t, u.Store, key, "1", nil)
	settle(t, r)
	tries := 0
	doubt := func() error {
		if tries++; tries > 10 {
			return fail(storage.TooLarge) // ends the test if the cache never gives up
		}
		return fail(storage.InDoubt)
	}
	u.put = func(context.Context, string, []byte, storage.Pre) (storage.Entry, error) {
		return storage.Entry{}, doubt()
	}
	u.del = func(context.Context, string, storage.Pre) (storage.Revision, error) { return 0, doubt() }
	for name, op := range map[string]func() error{
		"Create": func() error { _, err := r.Create(t.Context(), other, body(other, "1", nil), 0); return err },
		"Update": func() error {
			_, err := r.Update(t.Context(), key, cache.UpdateOptions{}, func(*cache.Object) ([]byte, storage.LeaseID, error) {
				return body(key, "2", nil), 0, nil
			})
			return err
		},
		"Delete": func() error { _, err := r.Delete(t.Context(), key, cache.DeleteOptions{}, nil); return err },
	} {
		if tries = 0; storage.KindOf(op()) != storage.InDoubt || tries < 2 {
			t.Errorf("%s: got another kind than %v, or only %d tries", name, storage.InDoubt, tries)
		}
	}
}

// TestDeleteLooksInVain: if the store cannot say what became of the object, the deletion fails with
// the error of the read, or stays in doubt.
func TestDeleteLooksInVain(t *testing.T) {
	key := things + "ns/a"
	for _, tt := range []struct{ del, want storage.Kind }{
		{storage.Conflict, storage.Unavailable},
		{storage.NotFound, storage.Unavailable},
		{storage.InDoubt, storage.InDoubt},
		{storage.Unavailable, storage.Unavailable},
	} {
		u := &hookedStore{Store: memory.New(memory.Config{})}
		r, _, _ := openOn(t, u, cache.Config{})
		put(t, u.Store, key, "1", nil)
		settle(t, r)
		u.del = func(context.Context, string, storage.Pre) (storage.Revision, error) { return 0, fail(tt.del) }
		u.get = func(context.Context, string) (storage.Entry, error) {
			return storage.Entry{}, fail(storage.Unavailable)
		}
		if _, err := r.Delete(t.Context(), key, cache.DeleteOptions{}, nil); storage.KindOf(err) != tt.want {
			t.Errorf("Delete that meets %v: got %v, want %v", tt.del, err, tt.want)
		}
	}
}
