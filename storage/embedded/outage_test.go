package embedded_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/storage/mvcc"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/etcd"
)

const counters = "/registry/counters/"

func decodeCounter(_ string, value []byte) (cache.Decoded, error) {
	return cache.Decoded{Data: value, Splice: bytes.Index(value, []byte(`"name"`)), Head: 1}, nil
}

// TestOutages takes the etcd of two caches away again and again while both are written to, and
// compacts the history up to the present. The next read of one cache shows the acknowledged writes
// of the other. Every watch, whether it resumes or lists again, shows each change once, and ends in
// the same state as the store.
func TestOutages(t *testing.T) {
	t.Parallel()
	const length = 1500 * time.Millisecond
	server := openEtcd(t, t.TempDir())
	defer server.close()
	dir := t.TempDir()
	endpoint, stop := server.serve(dir)
	defer func() { stop() }()
	var pair [2]*cache.Resource
	for i := range pair {
		s, err := etcd.Open(t.Context(), etcd.Config{Endpoints: []string{endpoint}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c := cache.New(s, cache.Config{WindowEvents: 10})
		defer c.Close()
		pair[i] = c.Resource(cache.ResourceConfig{Name: "counters", Prefix: counters, Decode: decodeCounter})
	}
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var wg sync.WaitGroup
	var acked, failed, resumed, relisted atomic.Int64
	for w := range 6 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				key := fmt.Sprintf("%sns/%d", counters, rand.IntN(8))
				rctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				o, err := pair[w%2].Update(rctx, key, cache.UpdateOptions{AllowCreate: true}, func(*cache.Object) ([]byte, storage.LeaseID, error) {
					return fmt.Appendf(nil, `{"name":%q,"by":"%d-%d"}`, key, w, i), 0, nil
				})
				if err == nil && rand.IntN(5) == 0 {
					if _, err := pair[w%2].Delete(rctx, key, cache.DeleteOptions{}, nil); err != nil {
						failed.Add(1)
					}
				} else if err == nil {
					acked.Add(1)
					list, lerr := pair[1-w%2].List(rctx, cache.ListOptions{Prefix: counters})
					if lerr == nil && list.Rev < o.Rev {
						t.Errorf("a list at %d after a write at %d", list.Rev, o.Rev)
					}
				}
				cancel()
				if err != nil {
					failed.Add(1)
					if k := storage.KindOf(err); k != storage.InDoubt && k != storage.Unavailable && rctx.Err() == nil {
						t.Errorf("Update: %v", err)
					}
				}
			}
		})
	}
	var finish atomic.Uint64 // the last revision to follow, once it is known
	var watching sync.WaitGroup
	for w := range 4 {
		watching.Go(func() {
			follow(t, pair[w%2], w >= 2, &finish, &resumed, &relisted)
		})
	}
	for ctx.Err() == nil {
		time.Sleep(150 * time.Millisecond)
		if rev := server.KV().Rev(); rev > 2 {
			if _, err := server.Compact(t.Context(), &pb.CompactionRequest{Revision: rev}); err != nil && err != mvcc.ErrCompacted {
				t.Error(err)
			}
		}
		stop()
		time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
		_, stop = server.serve(dir)
		time.Sleep(200 * time.Millisecond)
	}
	wg.Wait()
	finish.Store(uint64(server.put(counters+"ns/end", `{"name":"end"}`)))
	watching.Wait()
	for _, r := range pair {
		if err := r.Verify(t.Context()); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d written, %d failed; watches: %d resumed, %d relisted", acked.Load(), failed.Load(), resumed.Load(), relisted.Load())
}

// follow builds a state from lists and watches up to the revision in finish, and compares it with
// the cache's.
func follow(t *testing.T, r *cache.Resource, breaks bool, finish *atomic.Uint64, resumed, relisted *atomic.Int64) {
	state := map[string]storage.Revision{}
	var last, end storage.Revision
	get := func() bool { // lists again
		list, err := r.List(t.Context(), cache.ListOptions{Prefix: counters})
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			return false
		}
		if list.Rev < last {
			t.Errorf("a list at %d after an event at %d", list.Rev, last)
		}
		clear(state)
		for _, o := range list.Objects {
			state[o.Key] = o.Rev
		}
		last = list.Rev
		return true
	}
	for !get() {
	}
	for end == 0 || last < end {
		w, err := r.Watch(t.Context(), cache.WatchOptions{Prefix: counters, After: last})
		for err == nil {
			if end = storage.Revision(finish.Load()); end != 0 && last >= end {
				break
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
			var events []cache.Event
			events, err = w.Next(ctx)
			if ctx.Err() != nil && !breaks && err == ctx.Err() {
				err = nil // the same watch goes on
			}
			cancel()
			for _, ev := range events {
				key := ev.Object.Key
				had, ok := state[key]
				if ev.Rev <= last || ok && had >= ev.Rev || ok == (ev.Type == cache.Added) {
					t.Errorf("event %+v at %d, after %d, with %d", ev.Type, ev.Rev, last, had)
				}
				if state[key] = ev.Rev; ev.Type == cache.Deleted {
					delete(state, key)
				}
				last = ev.Rev
			}
		}
		if w != nil {
			w.Close()
		}
		resumed.Add(1)
		if storage.KindOf(err) == storage.Compacted {
			relisted.Add(1)
			for !get() {
			}
		}
	}
	list, err := r.List(t.Context(), cache.ListOptions{Prefix: counters})
	if err != nil {
		t.Error(err)
	}
	for _, o := range list.Objects {
		if state[o.Key] != o.Rev {
			t.Errorf("%s: the watch told %d, the list says %d", o.Key, state[o.Key], o.Rev)
		}
	}
	if len(list.Objects) != len(state) {
		t.Errorf("the watch told %d objects, the list %d", len(state), len(list.Objects))
	}
}
