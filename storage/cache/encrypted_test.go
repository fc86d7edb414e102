package cache_test

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/encryption"
	"github.com/coracle-project/coracle/storage/memory"
)

func keyNamed(t *testing.T, name string) encryption.Provider {
	t.Helper()
	p, err := encryption.AESGCM(name, bytes.Repeat([]byte(name), 32))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestKeyRotation: an update that changes nothing writes the object under the new key, whether the
// cache has read it since the new key came or before.
func TestKeyRotation(t *testing.T) {
	var chain atomic.Pointer[encryption.Chain]
	chain.Store(&encryption.Chain{keyNamed(t, "1")})
	mem := memory.New(memory.Config{})
	r, store, c := openOn(t, encryption.Wrap(mem, func(string) encryption.Chain { return *chain.Load() }), cache.Config{})
	a, b := things+"ns/a", things+"ns/b"
	for _, key := range []string{a, b} {
		put(t, store, key, "1", nil)
	}
	settle(t, r)
	chain.Store(&encryption.Chain{keyNamed(t, "2"), keyNamed(t, "1")})
	later := cache.New(store, cache.Config{})
	defer later.Close()
	rotate := func(r *cache.Resource, key string) {
		t.Helper()
		for range 2 {
			if _, err := r.Update(t.Context(), key, cache.UpdateOptions{}, func(cur *cache.Object) ([]byte, storage.LeaseID, error) {
				return cur.Value(), 0, nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		e, err := mem.Get(t.Context(), key)
		if err != nil || !bytes.HasPrefix(e.Value, []byte("k8s:enc:aesgcm:v1:2:")) {
			t.Errorf("stored at %s: got %.24q, %v, want the new key", key, e.Value, err)
		}
	}
	rotate(r, a)
	rotate(later.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: decode}), b)
	if rev, want := c.Seen(), storage.Revision(5); rev > want {
		t.Errorf("got revision %d, want %d: each object written once more", rev, want)
	}
}

// TestUnreadable: reads that would show a value that cannot be decrypted fail. The watch of the
// store goes on.
func TestUnreadable(t *testing.T) {
	mem := memory.New(memory.Config{})
	chain := encryption.Chain{keyNamed(t, "1"), encryption.Identity()}
	bad, good := things+"bad/a", things+"good/a"
	spoil := func() {
		t.Helper()
		if _, err := mem.Put(t.Context(), bad, []byte("k8s:enc:aesgcm:v1:1:no"), storage.Pre{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	spoil()
	r, store, _ := openOn(t, encryption.Wrap(mem, func(string) encryption.Chain { return chain }), cache.Config{
		Hooks: cache.Hooks{
			WatchFailed: func(err error) { t.Errorf("the watch failed: %v", err) },
		}})
	for range 2 { // read by the load, then by the watch
		rev := put(t, store, good, "1", nil)
		if o, err := r.Get(t.Context(), good, cache.Want{}); err != nil || o.Rev != rev {
			t.Errorf("Get of the good: got %+v, %v", o, err)
		}
		if _, err := r.Get(t.Context(), bad, cache.Want{}); !errors.Is(err, storage.Corrupt) {
			t.Errorf("Get: got %v, want %v", err, storage.Corrupt)
		}
		var e *storage.Error
		if _, err := r.List(t.Context(), cache.ListOptions{Prefix: things}); !errors.As(err, &e) || e.Kind != storage.Corrupt || e.Op != "read" {
			t.Errorf("List: got %v, want %v as the store read it", err, storage.Corrupt)
		}
		spoil()
	}
	put(t, store, bad, "mended", nil)
	if list, err := r.List(t.Context(), cache.ListOptions{Prefix: things}); err != nil || len(list.Objects) != 2 {
		t.Errorf("List of the mended: got %v, %v", list, err)
	}
}

// TestReread: a value that could not be decrypted is read again when its key is there, without a
// write.
func TestReread(t *testing.T) {
	mem := memory.New(memory.Config{})
	var chain atomic.Pointer[encryption.Chain]
	chain.Store(&encryption.Chain{keyNamed(t, "1")})
	r, store, c := openOn(t, encryption.Wrap(mem, func(string) encryption.Chain { return *chain.Load() }), cache.Config{})
	key := things + "ns/a"
	put(t, store, key, "1", nil)
	both := encryption.Chain{keyNamed(t, "2"), keyNamed(t, "1")}
	chain.Store(&encryption.Chain{keyNamed(t, "2")})
	if _, err := r.Get(t.Context(), key, cache.Want{}); !errors.Is(err, storage.Corrupt) {
		t.Fatalf("got %v, want %v", err, storage.Corrupt)
	}
	settle(t, r)
	chain.Store(&both)
	if _, err := r.Get(t.Context(), key, cache.Want{}); !errors.Is(err, storage.Corrupt) {
		t.Fatalf("before RereadUnreadable: got %v, want %v", err, storage.Corrupt)
	}
	c.RereadUnreadable()
	if o, err := r.Get(t.Context(), key, cache.Want{}); err != nil || string(o.Value()) == "" {
		t.Errorf("Get: %v, %v", o, err)
	}
	if list, err := r.List(t.Context(), cache.ListOptions{Prefix: things}); err != nil || len(list.Objects) != 1 {
		t.Errorf("List: %v, %v", list, err)
	}
}
