package cache_test

import (
	"context"
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

// cheapDecode is a decoder that costs next to nothing, so that benchmarks show the cache.
func cheapDecode(key string, value []byte) (cache.Decoded, error) {
	return cache.Decoded{Data: value, Splice: 43, Head: 31,
		Fields: cache.Pairs{{Key: "metadata.name", Value: name(key)}, {Key: "metadata.namespace", Value: "ns"}}}, nil
}

// filled returns a loaded resource with n objects of about 1 kB in 10 namespaces.
func filled(b testing.TB, n int) (*cache.Resource, storage.Store) {
	b.Helper()
	entries := make([]storage.Entry, n)
	for i := range entries {
		key := fmt.Sprintf("%sns%d/object-%07d", things, i*10/n, i)
		entries[i] = storage.Entry{Key: key, Value: body(key, strings.Repeat("x", 900), nil), Rev: storage.Revision(i + 2)}
	}
	store := memory.New(memory.Config{Entries: entries, Rev: storage.Revision(n + 2)})
	c := cache.New(store, cache.Config{})
	b.Cleanup(func() {
		c.Close()
		store.Close()
	})
	r := c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: cheapDecode})
	settle(b, r)
	return r, store
}

func middle(n int) string { return fmt.Sprintf("%sns5/object-%07d", things, n/2) }

var wants = []struct {
	name string
	want cache.Want
}{{"any", cache.Want{Match: cache.Any}}, {"consistent", cache.Want{}}}

func BenchmarkGet(b *testing.B) {
	for _, n := range []int{100, 5000, 100_000} {
		r, _ := filled(b, n)
		for _, w := range wants {
			b.Run(fmt.Sprintf("objects=%d/match=%s", n, w.name), func(b *testing.B) {
				b.ReportAllocs()
				key := middle(n)
				for b.Loop() {
					if _, err := r.Get(b.Context(), key, w.want); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkGetParallel(b *testing.B) {
	r, _ := filled(b, 5000)
	for _, w := range wants {
		b.Run("match="+w.name, func(b *testing.B) {
			b.ReportAllocs()
			key := middle(5000)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := r.Get(context.Background(), key, w.want); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

func BenchmarkList(b *testing.B) {
	r, store := filled(b, 5000)
	for _, bb := range []struct {
		name  string
		opts  cache.ListOptions
		churn bool
	}{
		{"all", cache.ListOptions{Prefix: things}, false},
		{"all,changing", cache.ListOptions{Prefix: things}, true},
		{"namespace", cache.ListOptions{Prefix: things + "ns5/"}, true},
		{"limit=50", cache.ListOptions{Prefix: things, Limit: 50}, true},
		{"match", cache.ListOptions{Prefix: things, Match: func(o *cache.Object) bool {
			v, _ := o.Fields.Get("metadata.name")
			return v == "object-0002500"
		}}, true},
	} {
		b.Run("select="+bb.name, func(b *testing.B) {
			b.ReportAllocs()
			key := middle(5000)
			for b.Loop() {
				if bb.churn {
					b.StopTimer()
					if _, err := store.Put(b.Context(), key, body(key, "x", nil), storage.Pre{}, 0); err != nil {
						b.Fatal(err)
					}
					if _, err := r.Exists(b.Context(), key); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				if _, err := r.List(b.Context(), bb.opts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkIngest is the cost of a change from the store's commit to the cache's next state.
func BenchmarkIngest(b *testing.B) {
	for _, n := range []int{100, 5000, 100_000} {
		b.Run(fmt.Sprintf("objects=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			r, store := filled(b, n)
			val := body("x", strings.Repeat("y", 900), nil)
			keys := make([]string, 1000)
			for i := range keys {
				keys[i] = fmt.Sprintf("%sns%d/object-%07d", things, (i*n/1000)*10/n, i*n/1000)
			}
			i := 0
			for b.Loop() {
				if _, err := store.Put(b.Context(), keys[i%1000], val, storage.Pre{}, 0); err != nil {
					b.Fatal(err)
				}
				if i++; i%16 == 0 { // otherwise the store forgets changes that the cache has not seen
					if _, err := r.Exists(b.Context(), keys[0]); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkFanOut is the cost of one change for all watchers together; ns/event shows it for each.
func BenchmarkFanOut(b *testing.B) {
	for _, bb := range []struct {
		watchers int
		scope    string
		burst    int
	}{{1, "all", 1}, {200, "all", 1}, {200, "all", 16}, {200, "other namespaces", 1}, {1000, "all", 1}} {
		b.Run(fmt.Sprintf("watchers=%d/scope=%s/burst=%d", bb.watchers, bb.scope, bb.burst), func(b *testing.B) {
			b.ReportAllocs()
			r, store := filled(b, 1000)
			ctx, cancel := context.WithCancel(b.Context())
			var wg sync.WaitGroup
			var got atomic.Int64
			arrived := make(chan struct{}, 1)
			var target atomic.Int64
			for i := range bb.watchers {
				opts := cache.WatchOptions{Prefix: things}
				if bb.scope != "all" {
					opts.Prefix += fmt.Sprintf("other%d/", i)
				}
				w, err := r.Watch(ctx, opts)
				if err != nil {
					b.Fatal(err)
				}
				wg.Go(func() {
					defer w.Close()
					for {
						events, err := w.Next(ctx)
						if err != nil {
							return
						}
						if n := got.Add(int64(len(events))); n == target.Load() {
							arrived <- struct{}{}
						}
					}
				})
			}
			key := middle(1000)
			val := body(key, "x", nil)
			n := int64(0)
			for b.Loop() {
				n++
				if bb.scope == "all" {
					target.Add(int64(bb.watchers * bb.burst))
				}
				for range bb.burst {
					if _, err := store.Put(ctx, key, val, storage.Pre{}, 0); err != nil {
						b.Fatal(err)
					}
				}
				if bb.scope == "all" {
					<-arrived
				} else if _, err := r.Exists(ctx, key); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*int64(bb.watchers*bb.burst)), "ns/event")
			cancel()
			wg.Wait()
		})
	}
}

func BenchmarkUpdate(b *testing.B) {
	b.ReportAllocs()
	r, _ := filled(b, 5000)
	key := middle(5000)
	values := [][]byte{body(key, strings.Repeat("a", 900), nil), body(key, strings.Repeat("b", 900), nil)}
	i := 0
	for b.Loop() {
		i++
		if _, err := r.Update(b.Context(), key, cache.UpdateOptions{}, func(*cache.Object) ([]byte, storage.LeaseID, error) {
			return values[i%2], 0, nil
		}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestCeilings bounds allocations and memory. The numbers hardly vary, so the test can fail on
// them.
func TestCeilings(t *testing.T) {
	const n = 8000
	r, _ := filled(t, n)
	key := middle(n)
	o, err := r.Get(t.Context(), key, cache.Want{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		max  float64
		f    func() error
	}{
		{"List part", 1, func() error { // its slice, before a list of all has made one
			_, err := r.List(context.Background(), cache.ListOptions{Prefix: things + "ns5/", Want: cache.Want{Match: cache.Any}})
			return err
		}},
		{"Get any", 0, func() error { _, err := r.Get(context.Background(), key, cache.Want{Match: cache.Any}); return err }},
		{"Get consistent", 0, func() error { _, err := r.Get(context.Background(), key, cache.Want{}); return err }},
		{"List all", 0, func() error {
			_, err := r.List(context.Background(), cache.ListOptions{Prefix: things})
			return err
		}},
		{"List namespace", 0, func() error { // a part of the slice that the list of all made
			_, err := r.List(context.Background(), cache.ListOptions{Prefix: things + "ns5/"})
			return err
		}},
		{"List page", 1, func() error { // its slice
			_, err := r.List(context.Background(), cache.ListOptions{Prefix: things, Limit: 50, Want: cache.Want{Match: cache.Any}})
			return err
		}},
		{"At", 2, func() error { o.At(1); return nil }}, // the object and its bytes
		{"Form", 0, func() error {
			_, err := o.Form(1, func() ([]byte, error) { return []byte("other"), nil })
			return err
		}},
	} {
		var err error
		if got := testing.AllocsPerRun(100, func() { err = tt.f() }); got > tt.max || err != nil {
			t.Errorf("%s: got %v allocs, %v, want at most %v", tt.name, got, err, tt.max)
		}
	}
	// The test measures a second cache of the same store, because the store's own bytes are then in
	// memory already.
	c := cache.New(r.Store(), cache.Config{})
	defer c.Close()
	second := c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: cheapDecode})
	before := heap()
	settle(t, second)
	if o, err = second.Get(t.Context(), key, cache.Want{}); err != nil {
		t.Fatal(err)
	}
	per := float64(heap()-before)/n - float64(len(o.JSON()))
	t.Logf("an object of %d bytes costs %.0f bytes beside them", len(o.JSON()), per)
	if per > 300 { // 250, and what the allocator adds to 1 kB when it rounds up
		t.Errorf("got %.0f bytes beside an object's own, want at most 300", per)
	}
	runtime.KeepAlive(second)
}
