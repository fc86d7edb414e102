package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/memory"
)

// churn writes n changes of about size bytes to the objects in turn, as if a server had been
// restarted after them. It returns the revisions before and after the changes.
func churn(t testing.TB, store storage.Store, keys, n, size int) (before, after storage.Revision) {
	t.Helper()
	before = put(t, store, "/registry/others/begin", "v", nil)
	const writers = 16 // they share the syncs of the disk
	var wg sync.WaitGroup
	for g := range writers {
		wg.Go(func() {
			for i := g; i < n; i += writers {
				key := fmt.Sprintf("%sns/%05d", things, i%keys)
				if _, err := store.Put(t.Context(), key, body(key, strings.Repeat("x", size), nil), storage.Pre{}, 0); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	after, err := store.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return before, after
}

// resume runs watchers of one object each from a revision, until each has got want events. It
// returns the largest number of goroutines beside those of the watchers.
func resume(t testing.TB, r *cache.Resource, watchers, want int, after storage.Revision) (goroutines int) {
	t.Helper()
	before := runtime.NumGoroutine()
	var most atomic.Int64
	var wg sync.WaitGroup
	for i := range watchers {
		wg.Go(func() {
			w, err := r.Watch(t.Context(), cache.WatchOptions{Prefix: things, Key: fmt.Sprintf("%sns/%05d", things, i), After: after})
			if err != nil {
				t.Errorf("Watch: %v", err)
				return
			}
			defer w.Close()
			last := after
			for n := 0; n < want; {
				events, err := w.Next(t.Context())
				if err != nil {
					t.Errorf("Next after %d of %d: %v", n, want, err)
					return
				}
				for _, e := range events {
					if e.Rev <= last || e.Type == cache.Added && n > 0 {
						t.Errorf("event %d: got %+v after %d", n, e, last)
					}
					last = e.Rev
					n++
				}
			}
			if n := int64(runtime.NumGoroutine()); n > most.Load() {
				most.Store(n)
			}
		})
	}
	wg.Wait()
	return int(most.Load()) - before - watchers
}

// TestManyResume: watchers that resume from before the window share goroutines and watches of the
// store.
func TestManyResume(t *testing.T) {
	const watchers, changes = 200, 2000
	for engine, open := range engines {
		t.Run(engine, func(t *testing.T) {
			var watches atomic.Int64
			u := &hookedStore{Store: open(t)}
			u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
				watches.Add(1)
				return u.Store.Watch(ctx, req)
			}
			r, store, _ := openOn(t, u, cache.Config{})
			before, _ := churn(t, store, watchers, changes, 100)
			if n := resume(t, r, watchers, changes/watchers, before); n > 20 {
				t.Errorf("%d watchers took %d goroutines beside their own", watchers, n)
			}
			if n := watches.Load(); n > 5 {
				t.Errorf("%d watchers took %d watches of the store", watchers, n)
			}
			if st := r.Stats(); st.HistoryBytes == 0 {
				t.Errorf("Stats: got no bytes of history")
			}
		})
	}
}

// TestHistoryInParts: a stretch that is larger than the bound is read in parts. Watchers at
// different revisions of it get each change once.
func TestHistoryInParts(t *testing.T) {
	const keys, changes, watchers, bound = 20, 800, 12, 64 << 10
	for engine, open := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			r, store, _ := openOn(t, open(t), cache.Config{WindowBytes: bound})
			before, after := churn(t, store, keys, changes, 400)
			var wg sync.WaitGroup
			for g := range watchers {
				wg.Go(func() {
					from := before + storage.Revision(g*changes/watchers)
					w, err := r.Watch(t.Context(), cache.WatchOptions{Prefix: things, After: from})
					if err != nil {
						t.Error(err)
						return
					}
					defer w.Close()
					for next := from + 1; next <= after; {
						events, err := w.Next(t.Context())
						if err != nil {
							t.Errorf("Next before %d: %v", next, err)
							return
						}
						for _, e := range events {
							if e.Rev != next {
								t.Errorf("watch after %d: got %d, want %d", from, e.Rev, next)
								return
							}
							next++
						}
						if n := r.Stats().HistoryBytes; n > bound {
							t.Errorf("history: got %d bytes, want at most %d", n, bound)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// TestHistoryLikeWindow: a watcher gets the same events from the history as from the window.
func TestHistoryLikeWindow(t *testing.T) {
	red := func(o *cache.Object) bool { c, _ := o.Labels.Get("color"); return c == "red" }
	for engine, open := range engines {
		t.Run(engine, func(t *testing.T) {
			r, store, _ := openOn(t, open(t), cache.Config{})
			settle(t, r)
			begin := put(t, store, things+"ns/0", "begin", color("red"))
			rnd := rand.New(rand.NewPCG(1, 2))
			have := map[string]bool{things + "ns/0": true}
			for i := range 600 {
				key := fmt.Sprintf("%sns%s/%d", things, []string{"", "2"}[rnd.IntN(2)], rnd.IntN(8))
				if have[key] && rnd.IntN(4) == 0 {
					remove(t, store, key)
					delete(have, key)
					continue
				}
				put(t, store, key, fmt.Sprint(i), color(colors[rnd.IntN(3)]))
				have[key] = true
			}
			key := things + "ns/5"
			if have[key] {
				remove(t, store, key)
			}
			end := put(t, store, key, "end", color("red"))
			see := func(r *cache.Resource, opts cache.WatchOptions) (events []string) {
				opts.After = begin
				for w := watch(t, r, opts); ; {
					batch, err := w.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					for _, e := range batch {
						events = append(events, fmt.Sprint(e.Type, e.Rev, " ", string(e.Object.JSON())))
						if e.Rev == end {
							return events
						}
					}
				}
			}
			small := cache.New(store, cache.Config{WindowBytes: 8 << 10})
			defer small.Close()
			late := cache.New(store, cache.Config{})
			defer late.Close()
			for _, opts := range []cache.WatchOptions{
				{Prefix: things}, {Prefix: things + "ns/"}, {Prefix: things, Key: key}, {Prefix: things, Match: red},
				{Prefix: things + "ns/", Match: red, Field: cache.Pair{Key: "color", Value: "red"}},
			} {
				want := see(r, opts)
				for _, c := range []*cache.Cache{late, small} {
					r := c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: decode, GroupBy: []string{"color"}})
					if got := see(r, opts); !slices.Equal(got, want) {
						t.Errorf("watch of %+v: got %d events, want %d:\n%s\n%s", opts, len(got), len(want), got, want)
					}
				}
			}
		})
	}
}

// follows reads the events from next to last, one for each revision.
func follows(t *testing.T, w *cache.Watcher, next, last storage.Revision) {
	t.Helper()
	for next <= last {
		events, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Rev != next {
				t.Fatalf("got revision %d, want %d", e.Rev, next)
			}
			next++
		}
	}
}

// TestHistoryWithoutRoom: if nothing of the history fits into the bound, it is handed over one
// revision at a time.
func TestHistoryWithoutRoom(t *testing.T) {
	u, asked := recordedHistory(nil)
	r, store, _ := openOn(t, u, cache.Config{WindowBytes: 1})
	before, after := churn(t, store, 5, 50, 100)
	w := watch(t, r, cache.WatchOptions{Prefix: things, After: before})
	follows(t, w, before+1, after)
	if len(*asked) > 2 { // once by Watch, and once to read on
		t.Errorf("the history was opened after %v, want twice at most", *asked)
	}
}

// TestHistoryIdle: after a while without readers, the stretch is dropped and its cursor is closed.
func TestHistoryIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open atomic.Int64
		u := &hookedStore{Store: memory.New(memory.Config{})}
		u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
			cur, err := u.Store.Watch(ctx, req)
			if err != nil || !req.Prev {
				return cur, err
			}
			open.Add(1)
			return &counted{cur, &open}, nil
		}
		r, store, _ := openOn(t, u, cache.Config{WindowBytes: 64 << 10})
		before, _ := churn(t, store, 10, 1000, 400)
		w := watch(t, r, cache.WatchOptions{Prefix: things, After: before})
		if n := r.Stats().HistoryBytes; n == 0 || open.Load() != 1 {
			t.Errorf("after the first stretch: got %d bytes and %d cursors, want some and 1", n, open.Load())
		}
		time.Sleep(30 * time.Second)
		r.Trim()
		if n := r.Stats().HistoryBytes; n == 0 || open.Load() != 1 {
			t.Errorf("after half a minute: got %d bytes and %d cursors, want some and 1", n, open.Load())
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := r.Stats().HistoryBytes; n != 0 || open.Load() != 0 {
			t.Errorf("after two minutes: got %d bytes and %d cursors, want 0", n, open.Load())
		}
		for n := 0; n < 1000; {
			events, err := w.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			n += len(events)
		}
		if open.Load() != 0 {
			t.Errorf("after the last stretch: got %d cursors, want 0", open.Load())
		}
	})
}

// counted is a cursor that counts the open cursors.
type counted struct {
	storage.Cursor
	open *atomic.Int64
}

func (c *counted) Close() {
	c.open.Add(-1)
	c.Cursor.Close()
}

// TestHistoryClosed: a resource that is closed while its history is read leaves no cursor.
func TestHistoryClosed(t *testing.T) {
	var open atomic.Int64
	u := &hookedStore{Store: memory.New(memory.Config{})}
	defer u.Close()
	u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
		cur, err := u.Store.Watch(ctx, req)
		if err != nil || !req.Prev {
			return cur, err
		}
		open.Add(1)
		return &counted{cur, &open}, nil
	}
	before, _ := churn(t, u, 1, 50, 100)
	for i := range 1000 {
		c := cache.New(u, cache.Config{WindowBytes: 1 << 10})
		r := c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: decode})
		settle(t, r)
		var wg sync.WaitGroup
		wg.Go(func() {
			for range 5 {
				if w, err := r.Watch(t.Context(), cache.WatchOptions{Prefix: things, After: before}); err == nil {
					w.Close()
				}
			}
		})
		wg.Go(func() {
			for range i % 100 * 50 {
				open.Load()
			}
			r.Close() // possibly while the reader stops
		})
		wg.Wait()
		c.Close()
		if n := open.Load(); n != 0 {
			t.Fatalf("after %d: got %d open cursors", i, n)
		}
	}
}

// stuck returns a store whose history never yields a change.
func stuck() *hookedStore {
	u := &hookedStore{Store: memory.New(memory.Config{})}
	u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
		if req.Prev {
			return &silent{done: make(chan struct{})}, nil
		}
		return u.Store.Watch(ctx, req)
	}
	return u
}

// TestHistoryWaits: the wait for the history ends with the context, the resource or the cache.
func TestHistoryWaits(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(r *cache.Resource, c *cache.Cache, cancel func())
		want error
	}{
		{"context", func(_ *cache.Resource, _ *cache.Cache, cancel func()) { cancel() }, context.Canceled},
		{"resource", func(r *cache.Resource, _ *cache.Cache, _ func()) { r.Close() }, storage.Closed},
		{"cache", func(_ *cache.Resource, c *cache.Cache, _ func()) { c.Close() }, storage.Closed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, store, c := openOn(t, stuck(), cache.Config{})
				before, _ := churn(t, store, 1, 10, 10)
				settle(t, r)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				result := make(chan error, 2)
				for i := range 2 {
					go func() {
						_, err := r.Watch(ctx, cache.WatchOptions{Prefix: things, After: before + storage.Revision(i)})
						result <- err
					}()
				}
				synctest.Wait()
				tt.end(r, c, cancel)
				for range 2 {
					if err := <-result; !errors.Is(err, tt.want) {
						t.Errorf("Watch: got %v, want %v", err, tt.want)
					}
				}
			})
		})
	}
}

// TestHistoryFails: an error of the store fails the watches that wait for the history. Later
// watches try again.
func TestHistoryFails(t *testing.T) {
	u := &hookedStore{Store: memory.New(memory.Config{})}
	var fails atomic.Bool
	fails.Store(true)
	u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
		if req.Prev && fails.Load() {
			return nil, fail(storage.Unavailable)
		}
		return u.Store.Watch(ctx, req)
	}
	r, store, _ := openOn(t, u, cache.Config{})
	before, after := churn(t, store, 1, 10, 10)
	opts := cache.WatchOptions{Prefix: things, After: before}
	if _, err := r.Watch(t.Context(), opts); !errors.Is(err, storage.Unavailable) {
		t.Errorf("Watch: got %v, want %v", err, storage.Unavailable)
	}
	fails.Store(false)
	if events, err := watch(t, r, opts).Next(t.Context()); err != nil || len(events) != int(after-before) {
		t.Errorf("Next: got %d events, %v, want %d", len(events), err, after-before)
	}
	if err := store.Compact(t.Context(), after); err != nil {
		t.Fatal(err)
	}
	opts.After = before - 1
	if _, err := r.Watch(t.Context(), opts); !errors.Is(err, storage.Compacted) {
		t.Errorf("Watch behind the store's history: got %v, want %v", err, storage.Compacted)
	}
	opts.After = before // the stretch is still in memory
	if events, err := watch(t, r, opts).Next(t.Context()); err != nil || len(events) != int(after-before) {
		t.Errorf("Next: got %d events, %v, want %d", len(events), err, after-before)
	}
}

// BenchmarkResume is a restart: 1,000 watchers of one object each resume 10,000 changes back. It
// shows the time until the last has all of its events, and all memory that was allocated until
// then.
func BenchmarkResume(b *testing.B) {
	const watchers, changes = 1000, 10_000
	for engine, open := range engines {
		b.Run(engine, func(b *testing.B) {
			store := open(b)
			defer store.Close()
			before, _ := churn(b, store, watchers, changes, 900)
			for b.Loop() {
				b.StopTimer()
				c := cache.New(store, cache.Config{})
				r := c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: cheapDecode})
				runtime.GC()
				var m0, m1 runtime.MemStats
				runtime.ReadMemStats(&m0)
				b.StartTimer()
				resume(b, r, watchers, changes/watchers, before)
				b.StopTimer()
				runtime.ReadMemStats(&m1)
				b.ReportMetric(float64(m1.TotalAlloc-m0.TotalAlloc)/(1<<20), "MiB-alloc")
				c.Close()
				b.StartTimer()
			}
		})
	}
}

// scripted is a cursor that yields one batch and then nothing.
type scripted struct {
	silent
	batch storage.Batch
}

func (s *scripted) Next(ctx context.Context) (storage.Batch, error) {
	if batch := s.batch; batch.Rev != 0 {
		s.batch = storage.Batch{}
		return batch, nil
	}
	return s.silent.Next(ctx)
}

// TestHistoryTorn: if one of the changes of a revision cannot be read, none of them is shown.
// Otherwise a watch that resumes after the revision would miss a change.
func TestHistoryTorn(t *testing.T) {
	u := &hookedStore{Store: memory.New(memory.Config{})}
	event := func(name string, rev storage.Revision, prev []byte) storage.Event {
		return storage.Event{Key: things + "ns/" + name, Rev: rev, Deleted: true, Prev: prev, PrevRev: 2}
	}
	old := body("a", "old", nil)
	u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
		if !req.Prev {
			return u.Store.Watch(ctx, req)
		}
		all := []storage.Event{event("a", 10, old), event("b", 11, old), event("c", 11, nil), event("d", 12, old)}
		i := slices.IndexFunc(all, func(e storage.Event) bool { return e.Rev > req.After })
		return &scripted{silent{done: make(chan struct{})}, storage.Batch{Events: all[i:], Rev: 20}}, nil
	}
	r, store, _ := openOn(t, u, cache.Config{})
	churn(t, store, 1, 20, 10)
	w := watch(t, r, cache.WatchOptions{Prefix: things, After: 9})
	if events, err := w.Next(t.Context()); err != nil || len(events) != 1 || events[0].Rev != 10 {
		t.Fatalf("Next: got %+v, %v, want the change at 10", events, err)
	}
	if events, err := w.Next(t.Context()); !errors.Is(err, storage.Compacted) {
		t.Errorf("Next: got %+v, %v, want %v", events, err, storage.Compacted)
	}
}

// grouped returns a store whose history has size changes at each revision, and the number of
// revisions.
func grouped(size int) (u *hookedStore, revisions int) {
	const n, first = 1190, 100
	u = &hookedStore{Store: memory.New(memory.Config{Rev: 10_000})}
	u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
		if !req.Prev {
			return u.Store.Watch(ctx, req)
		}
		batch := storage.Batch{Rev: 10_000}
		for i := range n {
			key, rev := fmt.Sprintf("%sns/%d", things, i), storage.Revision(first+i/size)
			if rev > req.After {
				batch.Events = append(batch.Events, storage.Event{Key: key, Value: body(key, "v", nil), Rev: rev, Created: true})
			}
		}
		return &scripted{silent{done: make(chan struct{})}, batch}, nil
	}
	return u, n / size
}

// TestHistoryKeepsRevisions: the changes of one revision come in one batch, whatever the bounds
// are, so that a watch can resume after any batch.
func TestHistoryKeepsRevisions(t *testing.T) {
	for _, size := range []int{1, 5, 7} {
		for _, bytes := range []int64{0, 1, 5000, 100_000} {
			u, revisions := grouped(size)
			r, _, _ := openOn(t, u, cache.Config{WindowBytes: bytes})
			w := watch(t, r, cache.WatchOptions{Prefix: things, After: 50})
			for last := storage.Revision(99); last < storage.Revision(99+revisions); {
				events, err := w.Next(t.Context())
				if err != nil || len(events)%size != 0 {
					t.Fatalf("Next after %d: got %d events, %v, want %d of each revision", last, len(events), err, size)
				}
				for i, e := range events {
					if e.Rev != last+1+storage.Revision(i/size) {
						t.Fatalf("event %d after %d: got revision %d", i, last, e.Rev)
					}
				}
				last = events[len(events)-1].Rev
			}
		}
	}
}

// TestHistoryMeetsWindow: the window may begin at exactly the revision at which the history ends.
func TestHistoryMeetsWindow(t *testing.T) {
	u := &hookedStore{Store: memory.New(memory.Config{})}
	u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
		cur, err := u.Store.Watch(ctx, req)
		return &slowCursor{Cursor: cur}, err
	}
	r, store, _ := openOn(t, u, cache.Config{})
	before, after := churn(t, store, 3, 20, 10)
	w := watch(t, r, cache.WatchOptions{Prefix: things, After: before})
	put(t, store, things+"ns/last", "v", nil)
	follows(t, w, before+1, after+1)
}

// TestHistoryForOthers: if one watch that waits for the history gives up or fails, others that wait
// for the same or for later changes get what is theirs.
func TestHistoryForOthers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer error // of the store to the first
		cancel bool  // the first watch gives up
		want   [3]error
	}{
		{"first gives up", nil, true, [3]error{context.Canceled, nil, nil}},
		{"compacted", fail(storage.Compacted), false, [3]error{storage.Compacted, storage.Compacted, nil}},
		{"unavailable", fail(storage.Unavailable), false, [3]error{storage.Unavailable, storage.Unavailable, storage.Unavailable}},
	} {
		synctest.Test(t, func(t *testing.T) {
			u := &hookedStore{Store: memory.New(memory.Config{})}
			gate := make(chan struct{})
			var before storage.Revision
			u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
				if req.Prev {
					<-gate
					if req.After == before && tt.answer != nil {
						return nil, tt.answer
					}
				}
				return u.Store.Watch(ctx, req)
			}
			r, store, _ := openOn(t, u, cache.Config{})
			before, _ = churn(t, store, 1, 20, 10)
			settle(t, r)
			var got [3]error
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for i, after := range []storage.Revision{before, before, before + 5} {
				ctx, waits := ctx, errors.New("it waits")
				if got[i] = waits; i > 0 {
					ctx = t.Context()
				}
				go func() {
					w, err := r.Watch(ctx, cache.WatchOptions{Prefix: things, After: after})
					if got[i] = err; err == nil {
						w.Close()
					}
				}()
				synctest.Wait()
			}
			if tt.cancel {
				cancel()
				synctest.Wait()
			}
			close(gate)
			synctest.Wait()
			for i, want := range tt.want {
				if !errors.Is(got[i], want) {
					t.Errorf("%s: watch %d: got %v, want %v", tt.name, i, got[i], want)
				}
			}
		})
	}
}
