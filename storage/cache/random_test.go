package cache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// history is the model: every state that the store has had, from the store's own history.
type history struct {
	base   storage.Revision
	last   storage.Revision
	states map[storage.Revision]map[string]storage.Entry // after each change
}

func readHistory(t *testing.T, store storage.Store, base storage.Revision) *history {
	t.Helper()
	h := &history{base: base, last: base, states: map[storage.Revision]map[string]storage.Entry{base: {}}}
	end, err := store.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cur, err := store.Watch(t.Context(), storage.WatchRequest{Prefix: things, After: base})
	if err != nil {
		t.Fatal(err)
	}
	defer cur.Close()
	now := map[string]storage.Entry{}
	for h.last < end {
		cur.Progress()
		batch, err := cur.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range batch.Events {
			if e.Deleted {
				delete(now, e.Key)
			} else {
				now[e.Key] = storage.Entry{Key: e.Key, Value: e.Value, Rev: e.Rev}
			}
			h.states[e.Rev] = maps.Clone(now)
			h.last = e.Rev
		}
		h.last = max(h.last, batch.Rev)
	}
	return h
}

// at returns the state at a revision.
func (h *history) at(rev storage.Revision) map[string]storage.Entry {
	for ; rev > h.base; rev-- {
		if s, ok := h.states[rev]; ok {
			return s
		}
	}
	return h.states[h.base]
}

// selected returns the part of a state that a list with the options has.
func selected(state map[string]storage.Entry, prefix string, match func(*cache.Object) bool) replica {
	out := replica{}
	for k, e := range state {
		if !strings.HasPrefix(k, prefix) {
			continue
		}
		if match != nil {
			d, err := decode(k, e.Value)
			if err != nil || !match(&cache.Object{Key: k, Labels: d.Labels}) {
				continue
			}
		}
		out[k] = e.Rev
	}
	return out
}

// observed is something that a client saw and that the model must confirm.
type observed struct {
	what   string
	rev    storage.Revision
	prefix string
	match  func(*cache.Object) bool
	got    replica
}

// lawRandom runs writers, readers and watchers at once, and then compares what they saw with the
// store's own history.
func lawRandom(t *testing.T, r *cache.Resource, store storage.Store) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	base, err := store.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var seen []observed
	note := func(o observed) {
		mu.Lock()
		seen = append(seen, o)
		mu.Unlock()
	}
	ctx, cancel := context.WithCancel(t.Context())
	var writers, clients sync.WaitGroup
	for g := range 3 {
		writers.Go(func() { randomWrites(t, r, store, rand.New(rand.NewPCG(seed, uint64(g))), 300) })
	}
	for g := range 3 {
		clients.Go(func() { randomReads(t, ctx, r, rand.New(rand.NewPCG(seed, uint64(100+g))), note) })
		clients.Go(func() { randomWatch(t, ctx, r, rand.New(rand.NewPCG(seed, uint64(200+g))), note) })
	}
	writers.Wait()
	time.Sleep(20 * time.Millisecond)
	cancel()
	clients.Wait()
	if err := r.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	h := readHistory(t, store, base)
	for _, o := range seen {
		if want := selected(h.at(o.rev), o.prefix, o.match); !maps.Equal(o.got, want) {
			t.Errorf("seed %d: %s of %s at %d: got %v, want %v", seed, o.what, o.prefix, o.rev, o.got, want)
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d observations", len(seen))
	}
}

var colors = []string{"red", "green", "blue"}

func randomWrites(t *testing.T, r *cache.Resource, store storage.Store, rnd *rand.Rand, n int) {
	ctx := t.Context()
	for i := range n {
		key := fmt.Sprintf("%sns%d/%d", things, rnd.IntN(2), rnd.IntN(10))
		v := body(key, fmt.Sprint(i), map[string]string{"color": colors[rnd.IntN(3)]})
		var err error
		switch rnd.IntN(6) {
		case 0:
			_, err = r.Create(ctx, key, v, 0)
		case 1:
			_, err = r.Update(ctx, key, cache.UpdateOptions{AllowCreate: true}, func(*cache.Object) ([]byte, storage.LeaseID, error) {
				return v, 0, nil
			})
		case 2:
			_, err = r.Update(ctx, key, cache.UpdateOptions{}, func(cur *cache.Object) ([]byte, storage.LeaseID, error) {
				return body(key, value(cur)+"+", map[string]string{"color": colors[rnd.IntN(3)]}), 0, nil
			})
		case 3:
			_, err = r.Delete(ctx, key, cache.DeleteOptions{}, nil)
		case 4:
			_, err = store.Put(ctx, key, v, storage.Pre{}, 0)
		case 5:
			_, err = store.Delete(ctx, key, storage.Pre{})
		}
		if err != nil && !errors.Is(err, storage.NotFound) && !errors.Is(err, storage.Exists) {
			t.Error(err)
		}
		if i%10 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

func randomScope(rnd *rand.Rand) (prefix string, match func(*cache.Object) bool, field cache.Pair) {
	prefix = things
	if rnd.IntN(2) == 0 {
		prefix += fmt.Sprintf("ns%d/", rnd.IntN(2))
	}
	if rnd.IntN(2) == 0 {
		want := colors[rnd.IntN(3)]
		match = func(o *cache.Object) bool { c, _ := o.Labels.Get("color"); return c == want }
		if rnd.IntN(2) == 0 {
			field = cache.Pair{Key: "color", Value: want}
		}
	}
	return prefix, match, field
}

func randomReads(t *testing.T, ctx context.Context, r *cache.Resource, rnd *rand.Rand, note func(observed)) {
	var past []storage.Revision
	for ctx.Err() == nil {
		prefix, match, _ := randomScope(rnd)
		opts := cache.ListOptions{Prefix: prefix, Match: match, Limit: rnd.IntN(6)}
		switch rnd.IntN(3) {
		case 0:
			opts.Want.Match = cache.Any
		case 1:
			if len(past) > 0 {
				opts.Want = cache.Want{Match: cache.Exact, Rev: past[rnd.IntN(len(past))]}
			}
		}
		got, rev := replica{}, storage.Revision(0)
		for {
			list, err := r.List(t.Context(), opts)
			if err != nil {
				t.Errorf("List(%+v): %v", opts, err)
				return
			}
			if rev != 0 && list.Rev != rev {
				t.Errorf("page at %d of a list at %d", list.Rev, rev)
			}
			rev = list.Rev
			maps.Copy(got, replicaOf(list))
			if !list.More {
				break
			}
			opts.After = list.Objects[len(list.Objects)-1].Key
			opts.Want = cache.Want{Match: cache.Exact, Rev: rev}
			time.Sleep(time.Duration(rnd.IntN(2)) * time.Millisecond)
		}
		past = append(past, rev)
		note(observed{"list", rev, prefix, match, got})
	}
}

// randomWatch runs one watch after another, each from the end of the last, and notes its state
// after each batch.
func randomWatch(t *testing.T, ctx context.Context, r *cache.Resource, rnd *rand.Rand, note func(observed)) {
	prefix, match, field := randomScope(rnd)
	opts := cache.WatchOptions{Prefix: prefix, Match: match, Field: field, Initial: true, InitialEnd: true}
	m, last := replica{}, storage.Revision(0)
	for ctx.Err() == nil {
		w, err := r.Watch(ctx, opts)
		if err != nil {
			if ctx.Err() == nil {
				t.Errorf("Watch(%+v): %v", opts, err)
			}
			return
		}
		for n := 1 + rnd.IntN(10); n > 0; n-- {
			events, err := w.Next(ctx)
			if err != nil {
				break
			}
			for _, e := range events {
				if e.Rev < last && !opts.Initial {
					t.Errorf("event at %d after %d", e.Rev, last)
				}
				m.apply(t, e)
				if opts.Initial && !e.InitialEnd {
					continue
				}
				opts.Initial = false
				last = e.Rev
			}
			if !opts.Initial {
				note(observed{"watch", last, prefix, match, maps.Clone(m)})
			}
		}
		w.Close()
		if opts.Initial { // the initial events were not complete
			clear(m)
		}
		opts.After = last
	}
}
