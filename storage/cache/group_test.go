package cache_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/memory"
)

// colored watches the objects of a color, and counts the objects that its Match looks at.
type colored struct {
	*cache.Watcher
	looked atomic.Int64
}

func watchColor(t testing.TB, r *cache.Resource, prefix, color string) *colored {
	c := &colored{}
	c.Watcher = watch(t, r, cache.WatchOptions{
		Prefix: prefix,
		Field:  cache.Pair{Key: "color", Value: color},
		Match: func(o *cache.Object) bool {
			c.looked.Add(1)
			got, _ := o.Fields.Get("color")
			return got == color
		},
	})
	return c
}

// idle checks that the watcher has no events.
func idle(t *testing.T, w *cache.Watcher) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if events, err := w.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Next of an idle watcher: got %v, %v", events, err)
	}
}

func color(c string) map[string]string { return map[string]string{"color": c} }

// TestGroupByField: a watcher of one value of a field looks only at changes of objects with that
// value, whether or not it is waiting in Next.
func TestGroupByField(t *testing.T) {
	r, store, _ := open(t, cache.Config{WindowEvents: 50})
	all, ns := watchColor(t, r, things, "red"), watchColor(t, r, things+"ns/", "red")
	watchers := []*colored{all, ns}
	for _, w := range watchers {
		idle(t, w.Watcher)
	}
	expect := func(w *colored, typ cache.EventType, rev storage.Revision) {
		t.Helper()
		events, err := w.Next(t.Context())
		if err != nil || len(events) != 1 || events[0].Type != typ || events[0].Rev != rev {
			t.Fatalf("Next: got %+v, %v, want event %d at %d", events, err, typ, rev)
		}
	}
	others := func() {
		for i := range 200 { // more than the window holds
			put(t, store, fmt.Sprintf("%sns/%d", things, i%20), fmt.Sprint(i), color("blue"))
			if i%10 == 0 {
				settle(t, r)
			}
		}
	}
	key := things + "ns/red"
	for round := range 3 {
		steps := []struct {
			typ   cache.EventType
			write func() storage.Revision
		}{
			{cache.Added, func() storage.Revision { return put(t, store, key, "1", color("red")) }},
			{cache.Modified, func() storage.Revision { return put(t, store, key, "2", color("red")) }},
			{cache.Deleted, func() storage.Revision { return put(t, store, key, "3", color("blue")) }},
			{cache.Added, func() storage.Revision { return put(t, store, key, "4", color("red")) }},
			{cache.Deleted, func() storage.Revision { return put(t, store, key, "5", nil) }},
			{cache.Added, func() storage.Revision { return put(t, store, key, "6", color("red")) }},
			{cache.Deleted, func() storage.Revision { return remove(t, store, key) }},
		}
		for i, step := range steps {
			others()
			rev := step.write()
			for j := range 5 { // later changes, so that the watcher is late
				put(t, store, fmt.Sprintf("%sns/%d", things, j), "late", color("green"))
				settle(t, r)
			}
			for _, w := range watchers {
				w.looked.Store(0)
				expect(w, step.typ, rev)
				idle(t, w.Watcher)
				if n := w.looked.Load(); n > 2 {
					t.Errorf("round %d, step %d: looked at %d states for one event", round, i, n)
				}
			}
		}
	}
}

// TestGroupFallsBehind: a watcher gets the changes of several batches in order. It ends when a
// change that concerns it has left the window.
func TestGroupFallsBehind(t *testing.T) {
	r, store, _ := open(t, cache.Config{WindowEvents: 50})
	w := watchColor(t, r, things, "red")
	var want []storage.Revision
	for range 3 {
		idle(t, w.Watcher)
		want = want[:0]
		for i := range 40 {
			c := "red"
			if i%4 != 0 {
				c = "blue"
			}
			rev := put(t, store, fmt.Sprintf("%s%s/a", things, c), fmt.Sprint(i), color(c))
			if settle(t, r); c == "red" {
				want = append(want, rev)
			}
		}
		for len(want) > 0 {
			events, err := w.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if e.Rev != want[0] {
					t.Fatalf("Next: got the change at %d, want %d", e.Rev, want[0])
				}
				want = want[1:]
			}
		}
	}
	idle(t, w.Watcher)
	put(t, store, things+"red/a", "lost", color("red"))
	for i := range 60 {
		put(t, store, things+"blue/a", fmt.Sprint(i), color("blue"))
		settle(t, r)
	}
	if events, err := w.Next(t.Context()); !errors.Is(err, storage.Compacted) {
		t.Errorf("Next behind the window: got %v, %v, want %v", events, err, storage.Compacted)
	}
}

// TestGroupLeft: closing a watcher does not disturb the others that wait, in the same group or in
// another.
func TestGroupLeft(t *testing.T) {
	red := cache.WatchOptions{Prefix: things, Field: cache.Pair{Key: "color", Value: "red"}}
	byKey := cache.WatchOptions{Prefix: things, Key: things + "ns/a"}
	for _, goes := range []cache.WatchOptions{red, byKey, {Prefix: things}} {
		for _, stays := range []cache.WatchOptions{red, byKey, {Prefix: things}} {
			synctest.Test(t, func(t *testing.T) {
				r, store, _ := open(t, cache.Config{})
				left, w := watch(t, r, goes), watch(t, r, stays)
				idle(t, left)
				idle(t, w)
				left.Close()
				left.Close() // a second Close does nothing
				got := make(chan []cache.Event)
				go func() {
					events, err := w.Next(t.Context())
					if err != nil {
						t.Error(err)
					}
					got <- events
				}()
				synctest.Wait()
				rev := put(t, store, things+"ns/a", "1", color("red"))
				if events := <-got; len(events) != 1 || events[0].Rev != rev {
					t.Errorf("%+v after %+v was closed: got %v, want the change at %d", stays, goes, events, rev)
				}
			})
		}
	}
}

// TestGroupsLeaveNothing: closed watchers leave no memory behind, even if each has watched another
// object.
func TestGroupsLeaveNothing(t *testing.T) {
	r, _, _ := open(t, cache.Config{})
	settle(t, r)
	before := heap()
	for i := range 10_000 {
		var group [2]*cache.Watcher
		for j := range group {
			w, err := r.Watch(t.Context(), cache.WatchOptions{Prefix: things, Key: fmt.Sprint(things, "ns/", i), Want: cache.Want{Match: cache.Any}})
			if err != nil {
				t.Fatal(err)
			}
			group[j] = w
		}
		group[0].Close()
		group[1].Close()
	}
	if grown := heap() - before; grown > 1<<20 {
		t.Errorf("10,000 groups left %d bytes", grown)
	}
}

// TestGroupBroken: an object that cannot be decoded ends the watches of its prefix, whatever they
// select.
func TestGroupBroken(t *testing.T) {
	r, store, _ := open(t, cache.Config{})
	all, ns, other := watchColor(t, r, things, "red"), watchColor(t, r, things+"ns/", "blue"), watchColor(t, r, things+"other/", "red")
	for _, w := range []*colored{all, ns, other} {
		idle(t, w.Watcher)
	}
	if _, err := store.Put(t.Context(), things+"ns/bad", []byte("}{"), storage.Pre{}, 0); err != nil {
		t.Fatal(err)
	}
	for _, w := range []*colored{all, ns} {
		if events, err := w.Next(t.Context()); !errors.Is(err, storage.Corrupt) {
			t.Errorf("Next: got %v, %v, want %v", events, err, storage.Corrupt)
		}
	}
	idle(t, other.Watcher)
}

// BenchmarkWakings is the processor time of an update of one of many pods, for all watchers of
// nodes together.
func BenchmarkWakings(b *testing.B) {
	const pods = 5000
	for _, bb := range []struct {
		watchers int
		group    bool
	}{{0, false}, {5000, true}, {5000, false}} {
		b.Run(fmt.Sprintf("watchers=%d/group=%t", bb.watchers, bb.group), func(b *testing.B) {
			b.ReportAllocs()
			store := memory.New(memory.Config{})
			defer store.Close()
			c := cache.New(store, cache.Config{})
			defer c.Close()
			cfg := cache.ResourceConfig{Name: "pods", Prefix: things, Decode: func(key string, value []byte) (cache.Decoded, error) {
				return cache.Decoded{Data: value, Splice: 43, Head: 31, Fields: cache.Pairs{
					{Key: "metadata.name", Value: name(key)}, {Key: "metadata.namespace", Value: "ns"},
					{Key: "spec.nodeName", Value: name(key)}, {Key: "status.phase", Value: "Running"}}}, nil
			}}
			if bb.group {
				cfg.GroupBy = []string{"spec.nodeName", "metadata.name"}
			}
			r := c.Resource(cfg)
			ctx, cancel := context.WithCancel(b.Context())
			var wg sync.WaitGroup
			var got atomic.Int64
			for i := range bb.watchers {
				node := fmt.Sprintf("pod-%d", i)
				w := watch(b, r, cache.WatchOptions{Prefix: things, Field: cache.Pair{Key: "spec.nodeName", Value: node},
					Match: func(o *cache.Object) bool { n, _ := o.Fields.Get("spec.nodeName"); return n == node }})
				wg.Go(func() {
					for {
						events, err := w.Next(ctx)
						if err != nil {
							return
						}
						got.Add(int64(len(events)))
					}
				})
			}
			keys, value := make([]string, pods), body("x", "0123456789", nil)
			for i := range keys {
				keys[i] = fmt.Sprintf("%sns/pod-%d", things, i)
			}
			n, begin := 0, cpuTime()
			arrived := func() {
				for bb.watchers > 0 && got.Load() < int64(n) {
					time.Sleep(100 * time.Microsecond)
				}
			}
			b.ResetTimer()
			for b.Loop() {
				if _, err := store.Put(ctx, keys[n%pods], value, storage.Pre{}, 0); err != nil {
					b.Fatal(err)
				}
				if n++; n%16 == 0 {
					settle(b, r)
				}
				if n%1024 == 0 { // no watcher may fall behind
					arrived()
				}
			}
			arrived()
			b.ReportMetric(float64(cpuTime()-begin)/float64(n), "cpu-ns/op")
			cancel()
			wg.Wait()
		})
	}
}

// cpuTime returns the processor time that the process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
