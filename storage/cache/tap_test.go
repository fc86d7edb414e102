package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/memory"
)

// tap opens a Tap on a new cache of a store, until the end of the test.
func tap(t *testing.T, store storage.Store, cfg cache.Config) (*cache.Tap, *cache.Cache) {
	t.Helper()
	_, _, c := openOn(t, store, cfg)
	tap, err := c.Tap(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tap.Close)
	return tap, c
}

// TestTap keeps a copy of the store from what a Tap shows while others write.
func TestTap(t *testing.T) {
	const writers, writes, keys = 4, 500, 30
	store := memory.New(memory.Config{})
	put(t, store, "/registry/others/before", "before", nil)
	tap, _ := tap(t, store, cache.Config{Hooks: cache.Hooks{Loaded: func(resource string, _ int, _ time.Duration) { t.Errorf("%s was loaded", resource) }}})
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range writes {
				key := fmt.Sprintf("/registry/r%d/%d", i%3, (i*i+w)%keys)
				if i%4 == 3 {
					_, _ = store.Delete(t.Context(), key, storage.Pre{})
				} else {
					put(t, store, key, fmt.Sprint(w, i), nil)
				}
			}
		})
	}
	copied, last := map[string]string{}, storage.Revision(0)
	for e, err := range tap.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		copied[e.Key] = string(e.Value)
	}
	wg.Wait()
	put(t, store, "/registry/the/end", "", nil)
	for done := false; !done; {
		events, err := tap.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			if ev.Rev <= last {
				t.Fatalf("%s at %d came after %d", ev.Key, ev.Rev, last)
			}
			_, there := copied[ev.Key]
			if there != !ev.Created {
				t.Fatalf("%s at %d: created %v, and there was one: %v", ev.Key, ev.Rev, ev.Created, there)
			}
			if last = ev.Rev; ev.Deleted {
				delete(copied, ev.Key)
			} else {
				copied[ev.Key] = string(ev.Value)
			}
			done = done || ev.Key == "/registry/the/end"
		}
	}
	all, err := store.Range(t.Context(), storage.RangeRequest{Prefix: "/registry/"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, e := range all.Entries {
		want[e.Key] = string(e.Value)
	}
	if !maps.Equal(copied, want) {
		t.Errorf("got %v, want %v", copied, want)
	}
}

// TestTapLosesItsPosition: a Tap that is not read, or whose changes the shared watch has lost, ends
// with an error.
func TestTapLosesItsPosition(t *testing.T) {
	lost := func(t *testing.T, tap *cache.Tap, want error) {
		t.Helper()
		for {
			if _, err := tap.Next(t.Context()); errors.Is(err, want) {
				break
			} else if err != nil {
				t.Fatalf("got %v, want %v", err, want)
			}
		}
		if _, err := tap.Next(t.Context()); !errors.Is(err, want) {
			t.Errorf("once more: got %v, want %v", err, want)
		}
	}
	t.Run("slow", func(t *testing.T) {
		store := memory.New(memory.Config{})
		tap, c := tap(t, store, cache.Config{})
		other, err := c.Tap(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		large := bytes.Repeat([]byte("x"), 1<<20)
		for i := range 70 {
			if _, err := store.Put(t.Context(), "/registry/large", large, storage.Pre{}, 0); err != nil {
				t.Fatal(err)
			}
			if _, err := other.Next(t.Context()); err != nil {
				t.Fatalf("the Tap that reads, at %d: %v", i, err)
			}
		}
		lost(t, tap, storage.Compacted)
	})
	t.Run("restart", func(t *testing.T) {
		store, broken := breakableStore()
		tap, _ := tap(t, store, cache.Config{})
		broken <- fail(storage.Compacted)
		lost(t, tap, storage.Compacted)
	})
	t.Run("close", func(t *testing.T) {
		tap, c := tap(t, memory.New(memory.Config{}), cache.Config{})
		c.Close()
		lost(t, tap, storage.Closed)
		if _, err := c.Tap(t.Context()); !errors.Is(err, storage.Closed) {
			t.Errorf("a new one: got %v", err)
		}
	})
	t.Run("context", func(t *testing.T) {
		tap, _ := tap(t, memory.New(memory.Config{}), cache.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := tap.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
