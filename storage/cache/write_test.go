package cache_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/memory"
)

// lagging returns a resource whose watch delivers nothing after hold is called. Its updates then
// begin with stale objects.
func lagging(t *testing.T) (r *cache.Resource, store storage.Store, hold func()) {
	u := &hookedStore{Store: memory.New(memory.Config{})}
	held := make(chan struct{})
	u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
		cur, err := u.Store.Watch(ctx, req)
		return &holding{Cursor: cur, held: held}, err
	}
	r, store, _ = openOn(t, u, cache.Config{})
	return r, store, func() { close(held) }
}

type holding struct {
	storage.Cursor
	held chan struct{}
}

func (h *holding) Next(ctx context.Context) (storage.Batch, error) {
	batch, err := h.Cursor.Next(ctx)
	select {
	case <-h.held:
		<-ctx.Done()
		return storage.Batch{}, ctx.Err()
	default:
		return batch, err
	}
}

func TestUpdateStaleGuess(t *testing.T) {
	key := things + "ns/a"
	refuse := errors.New("refused")
	for _, tt := range []struct {
		name  string
		fn    func(cur string) (string, error)
		want  string
		err   error
		calls []string // the states that fn saw
	}{
		{"conflict", func(string) (string, error) { return "mine", nil }, "mine", nil, []string{"old", "new"}},
		{"error from a stale state is tried again", func(cur string) (string, error) {
			if cur == "old" {
				return "", refuse
			}
			return "mine", nil
		}, "mine", nil, []string{"old", "new"}},
		{"error from the present state", func(cur string) (string, error) { return "", refuse }, "", refuse, []string{"old", "new"}},
		{"no change to a stale state", func(cur string) (string, error) { return "old", nil }, "old", nil, []string{"old", "new"}},
		{"no change to the present state", func(cur string) (string, error) { return cur, nil }, "new", nil, []string{"old", "new"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, store, hold := lagging(t)
			put(t, store, key, "old", nil)
			settle(t, r)
			hold()
			rev := put(t, store, key, "new", nil)
			var calls []string
			o, err := r.Update(t.Context(), key, cache.UpdateOptions{}, func(cur *cache.Object) ([]byte, storage.LeaseID, error) {
				calls = append(calls, value(cur))
				v, err := tt.fn(value(cur))
				return body(key, v, nil), 0, err
			})
			if !errors.Is(err, tt.err) || err == nil && value(o) != tt.want {
				t.Errorf("Update: got %+v, %v, want %q, %v", o, err, tt.want, tt.err)
			}
			if fmt.Sprint(calls) != fmt.Sprint(tt.calls) {
				t.Errorf("calls: got %v, want %v", calls, tt.calls)
			}
			e, err := store.Get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if unchanged := tt.err != nil || tt.want == "new"; unchanged != (e.Rev == rev) {
				t.Errorf("stored revision: got %d after %d, want a write: %t", e.Rev, rev, !unchanged)
			}
			if o != nil && o.Rev != e.Rev {
				t.Errorf("returned revision: got %d, want %d", o.Rev, e.Rev)
			}
		})
	}
}

func TestUpdateAbsent(t *testing.T) {
	r, store, _ := open(t, cache.Config{})
	key := things + "ns/a"
	fn := func(cur *cache.Object) ([]byte, storage.LeaseID, error) {
		if cur != nil {
			return nil, 0, errors.New("it exists")
		}
		return body(key, "1", nil), 0, nil
	}
	if _, err := r.Update(t.Context(), key, cache.UpdateOptions{}, fn); !errors.Is(err, storage.NotFound) {
		t.Errorf("Update: got %v, want %v", err, storage.NotFound)
	}
	o, err := r.Update(t.Context(), key, cache.UpdateOptions{AllowCreate: true, DryRun: true}, fn)
	if err != nil || o.Rev != 0 || strings.Contains(string(o.JSON()), "resourceVersion") {
		t.Errorf("dry run: got %+v, %v", o, err)
	}
	o, err = r.Update(t.Context(), key, cache.UpdateOptions{AllowCreate: true}, fn)
	if err != nil || value(o) != "1" {
		t.Errorf("Update: got %+v, %v", o, err)
	}
	dry, err := r.Update(t.Context(), key, cache.UpdateOptions{DryRun: true}, func(*cache.Object) ([]byte, storage.LeaseID, error) {
		return body(key, "2", nil), 0, nil
	})
	if err != nil || value(dry) != "2" || dry.Rev != o.Rev {
		t.Errorf("dry run: got %+v, %v, want 2 at %d", dry, err, o.Rev)
	}
	if rev, err := store.Revision(t.Context()); err != nil || rev != o.Rev {
		t.Errorf("Revision: got %d, %v, want %d", rev, err, o.Rev)
	}
	if _, err := r.Create(t.Context(), key, body(key, "3", nil), 0); !errors.Is(err, storage.Exists) {
		t.Errorf("Create: got %v, want %v", err, storage.Exists)
	}
}

// TestUpdateStaleForm: an update that changes nothing writes an object that is stored in an old
// form.
func TestUpdateStaleForm(t *testing.T) {
	_, store, c := open(t, cache.Config{})
	r := c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: func(key string, value []byte) (cache.Decoded, error) {
		d, err := decode(key, []byte(strings.TrimPrefix(string(value), "old:")))
		d.Stale = strings.HasPrefix(string(value), "old:")
		return d, err
	}})
	key := things + "ns/a"
	e, err := store.Put(t.Context(), key, append([]byte("old:"), body(key, "1", nil)...), storage.Pre{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	same := func(cur *cache.Object) ([]byte, storage.LeaseID, error) { return cur.Value(), 0, nil }
	o, err := r.Update(t.Context(), key, cache.UpdateOptions{}, same)
	if err != nil || o.Rev <= e.Rev {
		t.Fatalf("Update: got %+v, %v, want a write", o, err)
	}
	if again, err := r.Update(t.Context(), key, cache.UpdateOptions{}, same); err != nil || again.Rev != o.Rev {
		t.Errorf("Update again: got %+v, %v, want no write", again, err)
	}
}

// TestForeignEvent: an event that comes during a write of this server to the same key is not taken
// for that write.
func TestForeignEvent(t *testing.T) {
	u := &hookedStore{Store: memory.New(memory.Config{})}
	r, store, c := openOn(t, u, cache.Config{})
	key := things + "ns/a"
	put(t, store, key, "0", nil)
	settle(t, r)
	u.put = func(ctx context.Context, key string, data []byte, pre storage.Pre) (storage.Entry, error) {
		u.put = nil
		rev := put(t, store, key, "theirs", nil)
		if _, err := r.Get(ctx, key, cache.Want{Match: cache.NotOlderThan, Rev: rev}); err != nil {
			t.Error(err)
		}
		if o, err := r.Get(ctx, key, cache.Want{Match: cache.Any}); err != nil || value(o) != "theirs" || c.Seen() < rev {
			t.Errorf("Get during the write: got %s, %v, want theirs", show([]*cache.Object{o}), err)
		}
		return u.Store.Put(ctx, key, data, pre, 0)
	}
	o, err := r.Update(t.Context(), key, cache.UpdateOptions{}, func(cur *cache.Object) ([]byte, storage.LeaseID, error) {
		return body(key, value(cur)+"+", nil), 0, nil
	})
	if err != nil || value(o) != "theirs+" {
		t.Errorf("Update: got %s, %v, want theirs+", show([]*cache.Object{o}), err)
	}
}

func TestConcurrentUpdates(t *testing.T) {
	r, _, _ := open(t, cache.Config{})
	key := things + "ns/a"
	if _, err := r.Create(t.Context(), key, body(key, "", nil), 0); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if _, err := r.Update(t.Context(), key, cache.UpdateOptions{}, func(cur *cache.Object) ([]byte, storage.LeaseID, error) {
					return body(key, value(cur)+"x", nil), 0, nil
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	o, err := r.Get(t.Context(), key, cache.Want{})
	if err != nil || len(value(o)) != 200 {
		t.Errorf("Get: got %d x, %v, want 200", len(value(o)), err)
	}
}

func TestDelete(t *testing.T) {
	key := things + "ns/a"
	refuse := errors.New("refused")
	for _, tt := range []struct {
		name  string
		opts  func(old, now storage.Revision) cache.DeleteOptions
		check func(cur *cache.Object) error
		want  error
	}{
		{name: "plain"},
		{name: "at the present revision", opts: func(_, now storage.Revision) cache.DeleteOptions { return cache.DeleteOptions{Rev: now} }},
		{name: "at an old revision", opts: func(old, _ storage.Revision) cache.DeleteOptions { return cache.DeleteOptions{Rev: old} },
			want: storage.Conflict},
		{name: "refused for a stale state only", check: func(cur *cache.Object) error {
			if value(cur) == "old" {
				return refuse
			}
			return nil
		}},
		{name: "refused", check: func(cur *cache.Object) error { return refuse }, want: refuse},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, store, hold := lagging(t)
			old := put(t, store, key, "old", nil)
			settle(t, r)
			hold()
			now := put(t, store, key, "new", nil)
			var opts cache.DeleteOptions
			if tt.opts != nil {
				opts = tt.opts(old, now)
			}
			o, err := r.Delete(t.Context(), key, opts, tt.check)
			if !errors.Is(err, tt.want) {
				t.Fatalf("Delete: got %v, want %v", err, tt.want)
			}
			if err == nil && (value(o) != "new" || o.Rev <= now) {
				t.Errorf("Delete: got %s at %d, want new after %d", value(o), o.Rev, now)
			}
			_, err = store.Get(t.Context(), key)
			if deleted := errors.Is(err, storage.NotFound); deleted != (tt.want == nil) {
				t.Errorf("deleted: got %t, want %t", deleted, tt.want == nil)
			}
		})
	}
	r, _, _ := open(t, cache.Config{})
	if _, err := r.Delete(t.Context(), key, cache.DeleteOptions{}, nil); !errors.Is(err, storage.NotFound) {
		t.Errorf("Delete of nothing: got %v, want %v", err, storage.NotFound)
	}
}

// TestWriteAfterClose: a closed resource writes nothing, even if the write began before.
func TestWriteAfterClose(t *testing.T) {
	r, store, _ := open(t, cache.Config{})
	const old, fresh = things + "a/old", things + "a/fresh"
	rev := put(t, store, old, "1", nil)
	if _, err := r.Get(t.Context(), old, cache.Want{}); err != nil {
		t.Fatal(err)
	}
	change := func(*cache.Object) ([]byte, storage.LeaseID, error) {
		r.Close()
		return body(old, "2", nil), 0, nil
	}
	for _, tt := range []struct {
		name string
		op   func() error
	}{
		{"update that has begun", func() error { _, err := r.Update(t.Context(), old, cache.UpdateOptions{}, change); return err }},
		{"update", func() error { _, err := r.Update(t.Context(), old, cache.UpdateOptions{}, change); return err }},
		{"create", func() error { _, err := r.Create(t.Context(), fresh, body(fresh, "1", nil), 0); return err }},
		{"delete", func() error { _, err := r.Delete(t.Context(), old, cache.DeleteOptions{}, nil); return err }},
		{"dry run", func() error {
			_, err := r.Update(t.Context(), fresh, cache.UpdateOptions{AllowCreate: true, DryRun: true}, change)
			return err
		}},
	} {
		if err := tt.op(); !errors.Is(err, storage.Closed) {
			t.Errorf("%s: got %v, want %v", tt.name, err, storage.Closed)
		}
	}
	res, err := store.Range(t.Context(), storage.RangeRequest{Prefix: things})
	if err != nil || len(res.Entries) != 1 || res.Entries[0].Rev != rev {
		t.Errorf("stored: %v, %v, want what was there", res.Entries, err)
	}
}

// TestWritesAreDecodedOnce: the cache decodes a write of this server before it is stored, and not
// again when its event comes, whether the event comes before or after the write returns. It decodes
// the writes of others.
func TestWritesAreDecodedOnce(t *testing.T) {
	key := things + "ns/a"
	for _, first := range []string{"event", "writer"} {
		t.Run(first, func(t *testing.T) {
			u := &hookedStore{Store: memory.New(memory.Config{})}
			release := make(chan struct{}, 100)
			u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
				cur, err := u.Store.Watch(ctx, req)
				return held{cur, release}, err
			}
			_, _, c := openOn(t, u, cache.Config{})
			var decoded atomic.Int32
			r := c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: func(key string, value []byte) (cache.Decoded, error) {
				decoded.Add(1)
				return decode(key, value)
			}})
			settle(t, r)
			u.put = func(ctx context.Context, key string, value []byte, pre storage.Pre) (storage.Entry, error) {
				e, err := u.Store.Put(ctx, key, value, pre, 0)
				if first == "event" {
					release <- struct{}{}
					for c.Seen() < e.Rev {
						runtime.Gosched()
					}
				}
				return e, err
			}
			w := watch(t, r, cache.WatchOptions{Prefix: things})
			var seen []string
			for _, v := range []string{"1", "2", "3"} {
				if _, err := r.Create(t.Context(), key+v, body(key+v, v, nil), 0); err != nil {
					t.Fatal(err)
				}
			}
			for range 10 {
				release <- struct{}{}
			}
			for len(seen) < 3 {
				events, err := w.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range events {
					seen = append(seen, value(e.Object))
				}
			}
			if n := decoded.Load(); n != 3 || strings.Join(seen, " ") != "1 2 3" {
				t.Errorf("got %d decodings, and the events %v, want 3 of each", n, seen)
			}
			put(t, u.Store, key, "theirs", nil)
			release <- struct{}{}
			if events, err := w.Next(t.Context()); err != nil || value(events[0].Object) != "theirs" || decoded.Load() != 4 {
				t.Errorf("Next: got %v, %v after %d decodings, want theirs after 4", events, err, decoded.Load())
			}
		})
	}
}

// TestWritesAreBounded: the cache remembers up to 16 MiB of writes whose events have not come yet,
// so that it need not decode them again. Failed writes, and writes whose events have come, do not
// count.
func TestWritesAreBounded(t *testing.T) {
	const n, size, room = 20, 1 << 20, 16 << 20
	u := &hookedStore{Store: memory.New(memory.Config{})}
	release := make(chan struct{})
	u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
		cur, err := u.Store.Watch(ctx, req)
		return held{cur, release}, err
	}
	_, _, c := openOn(t, u, cache.Config{})
	var decoded atomic.Int64
	r := c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: func(key string, value []byte) (cache.Decoded, error) {
		decoded.Add(1)
		return cheapDecode(key, value)
	}})
	settle(t, r)
	value := body("any", strings.Repeat("x", size), nil)
	create := func(what string, want storage.Kind, then func()) {
		t.Helper()
		for i := range n {
			if _, err := r.Create(t.Context(), fmt.Sprint(things, what, "/", i), value, 0); storage.KindOf(err) != want {
				t.Fatalf("Create: got %v, want kind %v", err, want)
			}
			then()
		}
	}
	nothing := func() {}
	u.put = func(context.Context, string, []byte, storage.Pre) (storage.Entry, error) {
		return storage.Entry{}, fail(storage.Unavailable)
	}
	create("failed", storage.Unavailable, nothing)
	u.put = nil
	create("held", 0, nothing)
	close(release)
	settle(t, r)
	if remembered := 3*n - decoded.Load(); remembered*size > room || (remembered+2)*size < room {
		t.Errorf("%d of %d writes of 1 MiB were remembered, want as many as fit into 16 MiB", remembered, n)
	}
	decoded.Store(0)
	create("arrived", 0, func() { settle(t, r) })
	if again := decoded.Load() - n; again != 0 {
		t.Errorf("%d of %d writes whose events came at once were decoded again", again, n)
	}
}

// TestUpdateBeginsWithOwnWrite: an update begins with this server's last write, whether or not its
// event has come.
func TestUpdateBeginsWithOwnWrite(t *testing.T) {
	r, store, hold := lagging(t)
	key := things + "ns/a"
	put(t, store, key, "", nil)
	settle(t, r)
	hold()
	calls := 0
	for i := range 3 {
		o, err := r.Update(t.Context(), key, cache.UpdateOptions{}, func(cur *cache.Object) ([]byte, storage.LeaseID, error) {
			calls++
			return body(key, value(cur)+"x", nil), 0, nil
		})
		if err != nil || len(value(o)) != i+1 || calls != i+1 {
			t.Errorf("Update %d: got %s, %v after %d calls", i, show([]*cache.Object{o}), err, calls)
		}
	}
}
