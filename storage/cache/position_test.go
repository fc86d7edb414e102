package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/memory"
)

// since reads what has changed after p, as "key=value" or "-key".
func since(t *testing.T, r *cache.Resource, p cache.Position) (string, bool, cache.Position) {
	t.Helper()
	changes, whole, next, err := r.ChangesSince(t.Context(), p, 0)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, ch := range changes {
		if key := name(ch.Key); ch.Object == nil {
			list = append(list, "-"+key)
		} else {
			list = append(list, key+"="+value(ch.Object))
		}
	}
	return strings.Join(list, " "), whole, next
}

func TestPosition(t *testing.T) {
	r, store, _ := open(t, cache.Config{WindowEvents: 5})
	put(t, store, things+"ns/a", "1", nil)
	var p cache.Position
	if r.Holds(p) || r.Reloads(p) {
		t.Error("a reader that has read nothing is up to date")
	}
	for _, step := range []struct {
		do    func()
		want  string
		whole bool
	}{
		{func() {}, "a=1", true},
		{func() {}, "", false},
		{func() { put(t, store, things+"ns/b", "2", nil); settle(t, r) }, "b=2", false},
		{func() { remove(t, store, things+"ns/a"); put(t, store, things+"ns/b", "3", nil); settle(t, r) }, "-a b=3", false},
		{func() { // more changes than the window holds
			for i := range 10 {
				put(t, store, things+"ns/c", fmt.Sprint(i), nil)
			}
			settle(t, r)
		}, "b=3 c=9", true},
	} {
		step.do()
		if got := r.Holds(p); got != (step.want == "") {
			t.Errorf("before %q: Holds: got %t", step.want, got)
		}
		got, whole, next := since(t, r, p)
		if got != step.want || whole != step.whole {
			t.Errorf("got %q (whole: %t), want %q (%t)", got, whole, step.want, step.whole)
		}
		if p = next; !r.Holds(p) || p.Revision() == 0 {
			t.Errorf("after %q: the position does not hold", got)
		}
	}
}

// TestPositionOfOwnWrites: a position covers a write of this server as soon as the write is
// answered, however late the watch is.
func TestPositionOfOwnWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Config{})
		defer store.Close()
		r, _, _ := openOn(t, &lateStore{Store: store}, cache.Config{})
		ctx := t.Context()
		_, _, p := since(t, r, cache.Position{})
		for _, write := range []struct {
			do   func() error
			want string
		}{
			{func() error { _, err := r.Create(ctx, things+"ns/a", body(things+"ns/a", "1", nil), 0); return err }, "a=1"},
			{func() error {
				_, err := r.Update(ctx, things+"ns/a", cache.UpdateOptions{}, func(*cache.Object) ([]byte, storage.LeaseID, error) {
					return body(things+"ns/a", "2", nil), 0, nil
				})
				return err
			}, "a=2"},
			{func() error { _, err := r.Delete(ctx, things+"ns/a", cache.DeleteOptions{}, nil); return err }, "-a"},
		} {
			if err := write.do(); err != nil {
				t.Fatal(err)
			}
			if r.Holds(p) {
				t.Errorf("before %q: the position holds", write.want)
			}
			got, _, next := since(t, r, p)
			if p = next; got != write.want || !r.Holds(p) {
				t.Errorf("got %q, want %q, and a position that holds", got, write.want)
			}
		}
	})
}

// TestPositionOfLostWatch: while the objects are loaded again, a reader may keep its position until
// somebody here has been shown something newer by the store.
func TestPositionOfLostWatch(t *testing.T) {
	a, b := things+"ns/a", things+"ns/b"
	for name, tt := range map[string]struct {
		show  func(ctx context.Context, r *cache.Resource) error
		holds bool
	}{
		"nothing": {func(context.Context, *cache.Resource) error { return nil }, true},
		"object": {func(ctx context.Context, r *cache.Resource) error {
			_, err := r.Get(ctx, a, cache.Want{})
			return err
		}, false},
		"absence": {func(ctx context.Context, r *cache.Resource) error {
			if _, err := r.Get(ctx, b, cache.Want{}); !errors.Is(err, storage.NotFound) {
				return fmt.Errorf("got %w", err)
			}
			return nil
		}, false},
		"list": {func(ctx context.Context, r *cache.Resource) error {
			_, err := r.List(ctx, cache.ListOptions{Prefix: things, Limit: 1000})
			return err
		}, false},
		"write": {func(ctx context.Context, r *cache.Resource) error {
			_, err := r.Create(ctx, things+"ns/c", body(things+"ns/c", "1", nil), 0)
			return err
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			u, broken := breakableStore()
			load := make(chan struct{})
			var lost atomic.Bool
			u.rng = func(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
				if lost.Load() && req.Limit < 1000 { // of the load, which begins with little
					select {
					case <-load:
					case <-ctx.Done():
						return storage.RangeResult{}, ctx.Err()
					}
				}
				return u.Store.Range(ctx, req)
			}
			r, store, _ := openOn(t, u, cache.Config{})
			put(t, store, a, "1", nil)
			put(t, store, b, "1", nil)
			w, err := r.Watch(t.Context(), cache.WatchOptions{Prefix: things, Bookmarks: true})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			_, _, p := since(t, r, cache.Position{})
			lost.Store(true)
			broken <- fail(storage.Compacted)
			if events, err := w.Next(t.Context()); !errors.Is(err, storage.Compacted) {
				t.Fatalf("Next: got %v, %v, want %v", events, err, storage.Compacted)
			}
			put(t, store, a, "2", nil)
			remove(t, store, b)
			if err := tt.show(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if r.Holds(p) || r.Reloads(p) != tt.holds {
				t.Errorf("Holds: got %t, want false; Reloads: got %t, want %t", r.Holds(p), r.Reloads(p), tt.holds)
			}
			close(load)
			if got, _, _ := since(t, r, p); !strings.HasPrefix(got, "a=2") || strings.Contains(got, "b=1") {
				t.Errorf("after the load: got %q", got)
			}
		})
	}
}

// lateStore is a store whose watches are a second late.
type lateStore struct{ storage.Store }

func (s *lateStore) Watch(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
	c, err := s.Store.Watch(ctx, req)
	return &lateCursor{c}, err
}

type lateCursor struct{ storage.Cursor }

func (c *lateCursor) Next(ctx context.Context) (storage.Batch, error) {
	batch, err := c.Cursor.Next(ctx)
	time.Sleep(time.Second)
	return batch, err
}
