package cache_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/memory"
)

// recordedHistory returns a store that notes after which revisions its history is opened. If gate
// is not nil, the opening waits for it.
func recordedHistory(gate chan struct{}) (u *hookedStore, asked *[]storage.Revision) {
	u, asked = &hookedStore{Store: memory.New(memory.Config{})}, new([]storage.Revision)
	u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
		if req.Prev {
			*asked = append(*asked, req.After) // only one goroutine reads the history
			if gate != nil {
				<-gate
			}
		}
		return u.Store.Watch(ctx, req)
	}
	return u, asked
}

// TestHistoryTurns: the watch with the oldest revision is served first, except that a watch that
// has waited for long goes before. A watch that has given up is not served.
func TestHistoryTurns(t *testing.T) {
	for _, tt := range []struct {
		waits  time.Duration // how long the watch after 15 waits before the one after 10 comes
		cancel bool
		want   []storage.Revision
	}{
		{0, false, []storage.Revision{0, 10, 15}},
		{500 * time.Millisecond, false, []storage.Revision{0, 10, 15}},
		{2 * time.Second, false, []storage.Revision{0, 15, 10}},
		{2 * time.Second, true, []storage.Revision{0, 10}},
	} {
		synctest.Test(t, func(t *testing.T) {
			gate := make(chan struct{})
			u, asked := recordedHistory(gate)
			r, store, _ := openOn(t, u, cache.Config{WindowBytes: 1}) // no stretch is kept for other watches
			before, _ := churn(t, store, 1, 20, 10)
			settle(t, r)
			wait := func(ctx context.Context, after storage.Revision) {
				go func() {
					if w, err := r.Watch(ctx, cache.WatchOptions{Prefix: things, After: before + after}); err == nil {
						w.Close()
					} else if ctx.Err() == nil {
						t.Errorf("Watch after %d: %v", after, err)
					}
				}()
				synctest.Wait()
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			wait(t.Context(), 0) // is being served when the others come
			wait(ctx, 15)
			time.Sleep(tt.waits)
			wait(t.Context(), 10)
			if tt.cancel {
				cancel()
				synctest.Wait()
			}
			close(gate)
			synctest.Wait()
			for i := range *asked {
				(*asked)[i] -= before
			}
			if !slices.Equal(*asked, tt.want) {
				t.Errorf("wait %v, given up %t: the history was opened after %v, want %v", tt.waits, tt.cancel, *asked, tt.want)
			}
		})
	}
}

// TestHistoryKeptOnce: a watch from further back reads the history up to the stretches that are
// there, and then uses these.
func TestHistoryKeptOnce(t *testing.T) {
	r, store, _ := open(t, cache.Config{})
	before, after := churn(t, store, 90, 90, 100)
	kept := func(r *cache.Resource, from ...storage.Revision) int64 {
		settle(t, r)
		for _, n := range from {
			follows(t, watch(t, r, cache.WatchOptions{Prefix: things, After: before + n}), before+n+1, after)
		}
		return r.Stats().HistoryBytes
	}
	if once, got := kept(r, 0), kept(r.Twin(), 60, 30, 0); got > once*5/4 {
		t.Errorf("read in three parts, the history takes %d bytes, want little more than %d", got, once)
	}
}
