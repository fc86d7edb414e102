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
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/memory"
	"github.com/coracle-project/coracle/storage/storagetest"
)

// hookedStore is a store whose methods tests replace.
type hookedStore struct {
	storage.Store
	get      func(ctx context.Context, key string) (storage.Entry, error)
	put      func(ctx context.Context, key string, value []byte, pre storage.Pre) (storage.Entry, error)
	del      func(ctx context.Context, key string, pre storage.Pre) (storage.Revision, error)
	rng      func(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error)
	watch    func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error)
	revision func(ctx context.Context) (storage.Revision, error)
}

func (u *hookedStore) Get(ctx context.Context, key string) (storage.Entry, error) {
	if u.get != nil {
		return u.get(ctx, key)
	}
	return u.Store.Get(ctx, key)
}

func (u *hookedStore) Put(ctx context.Context, key string, value []byte, pre storage.Pre, lease storage.LeaseID) (storage.Entry, error) {
	if u.put != nil {
		return u.put(ctx, key, value, pre)
	}
	return u.Store.Put(ctx, key, value, pre, lease)
}

func (u *hookedStore) Delete(ctx context.Context, key string, pre storage.Pre) (storage.Revision, error) {
	if u.del != nil {
		return u.del(ctx, key, pre)
	}
	return u.Store.Delete(ctx, key, pre)
}

func (u *hookedStore) Range(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
	if u.rng != nil {
		return u.rng(ctx, req)
	}
	return u.Store.Range(ctx, req)
}

func (u *hookedStore) Watch(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
	if u.watch != nil {
		return u.watch(ctx, req)
	}
	return u.Store.Watch(ctx, req)
}

func (u *hookedStore) Revision(ctx context.Context) (storage.Revision, error) {
	if u.revision != nil {
		return u.revision(ctx)
	}
	return u.Store.Revision(ctx)
}

func fail(kind storage.Kind) error { return &storage.Error{Op: "test", Kind: kind} }

// breakableCursor is a cursor that a test can break.
type breakableCursor struct {
	storage.Cursor
	broken chan error
	cause  error // of the next call
}

func (b *breakableCursor) Next(ctx context.Context) (storage.Batch, error) {
	if b.cause != nil {
		return storage.Batch{}, b.cause
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var cause error
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case cause = <-b.broken:
			cancel()
		case <-ctx.Done():
		}
	}()
	batch, err := b.Cursor.Next(ctx)
	cancel()
	<-done
	if cause != nil && err != nil {
		return batch, cause
	}
	b.cause = cause // the next call fails
	return batch, err
}

// breakableStore returns a store whose shared watch ends with the error that is sent to the
// channel.
func breakableStore() (*hookedStore, chan error) {
	u := &hookedStore{Store: memory.New(memory.Config{})}
	broken := make(chan error, 1)
	u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
		cur, err := u.Store.Watch(ctx, req)
		if err != nil || req.Prev {
			return cur, err
		}
		return &breakableCursor{Cursor: cur, broken: broken}, nil
	}
	return u, broken
}

func TestWatchReconnects(t *testing.T) {
	u, broken := breakableStore()
	failures := make(chan error, 10)
	r, store, _ := openOn(t, u, cache.Config{Hooks: cache.Hooks{WatchFailed: func(err error) { failures <- err }}})
	put(t, store, things+"ns/a", "1", nil)
	w, err := r.Watch(t.Context(), cache.WatchOptions{Prefix: things, Initial: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	next := func(want string) {
		t.Helper()
		events, err := w.Next(t.Context())
		if err != nil || len(events) != 1 || value(events[0].Object) != want {
			t.Fatalf("Next: got %v, %v, want %q", events, err, want)
		}
	}
	next("1")
	for i := 2; i < 6; i++ {
		broken <- fail(storage.Unavailable)
		if err := <-failures; !errors.Is(err, storage.Unavailable) {
			t.Errorf("WatchFailed: got %v", err)
		}
		put(t, store, things+"ns/a", fmt.Sprint(i), nil)
		next(fmt.Sprint(i))
	}
	if err := r.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestWatchCompacted(t *testing.T) {
	u, broken := breakableStore()
	var loads atomic.Int32
	r, store, _ := openOn(t, u, cache.Config{Hooks: cache.Hooks{Loaded: func(string, int, time.Duration) { loads.Add(1) }}})
	put(t, store, things+"ns/a", "1", nil)
	w, err := r.Watch(t.Context(), cache.WatchOptions{Prefix: things, Bookmarks: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	broken <- fail(storage.Compacted)
	if events, err := w.Next(t.Context()); !errors.Is(err, storage.Compacted) {
		t.Fatalf("Next after the cache lost its place: got %v, %v, want %v", events, err, storage.Compacted)
	}
	rev := put(t, store, things+"ns/a", "2", nil)
	if o, err := r.Get(t.Context(), things+"ns/a", cache.Want{}); err != nil || o.Rev != rev {
		t.Errorf("Get afterwards: got %+v, %v, want revision %d", o, err, rev)
	}
	settle(t, r)
	if n := loads.Load(); n != 2 {
		t.Errorf("got %d loads, want 2", n)
	}
	if err := r.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRestartRandom breaks the shared watch again and again under load. Clients list again on
// Compacted.
func TestRestartRandom(t *testing.T) {
	u, broken := breakableStore()
	r, store, _ := openOn(t, u, cache.Config{})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
			kind := storage.Unavailable
			if i%2 == 0 {
				kind = storage.Compacted
			}
			select {
			case broken <- fail(kind):
			default:
			}
		}
	})
	wg.Go(func() {
		defer close(stop)
		for i := range 3000 {
			key := fmt.Sprintf("%sns/%d", things, i%10)
			put(t, store, key, fmt.Sprint(i), nil)
			if i%7 == 0 {
				remove(t, store, key)
			}
			if i%20 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
	})
	for done := false; !done; {
		select {
		case <-stop:
			done = true
		default:
		}
		if err := r.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		list, err := r.List(t.Context(), cache.ListOptions{Prefix: things})
		if err != nil {
			t.Fatal(err)
		}
		m := replicaOf(list)
		w, err := r.Watch(t.Context(), cache.WatchOptions{Prefix: things, After: list.Rev})
		if err != nil {
			t.Fatal(err)
		}
		last := list.Rev
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		for {
			events, err := w.Next(ctx)
			if err != nil {
				if !errors.Is(err, storage.Compacted) && ctx.Err() == nil {
					t.Errorf("Next: %v", err)
				}
				break
			}
			for _, e := range events {
				m.apply(t, e)
				last = e.Rev
			}
		}
		cancel()
		w.Close()
		then, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Want: cache.Want{Match: cache.Exact, Rev: last}})
		if err != nil {
			t.Fatalf("List exactly at %d: %v", last, err)
		}
		if want := replicaOf(then); fmt.Sprint(m) != fmt.Sprint(want) {
			t.Errorf("at %d: got %v, want %v", last, m, want)
		}
	}
	wg.Wait()
}

func TestLoadFails(t *testing.T) {
	u := &hookedStore{Store: memory.New(memory.Config{})}
	var calls atomic.Int32
	u.rng = func(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
		if calls.Add(1) <= 2 {
			return storage.RangeResult{}, fail(storage.Unavailable)
		}
		return u.Store.Range(ctx, req)
	}
	r, store, _ := openOn(t, u, cache.Config{})
	put(t, store, things+"ns/a", "1", nil)
	for i := range 3 {
		_, err := r.List(t.Context(), cache.ListOptions{Prefix: things})
		if i < 2 && !errors.Is(err, storage.Unavailable) || i == 2 && err != nil {
			t.Errorf("List %d: got %v", i, err)
		}
	}
}

// TestLoadJoins changes objects between the chunks of a load.
func TestLoadJoins(t *testing.T) {
	u := &hookedStore{Store: memory.New(memory.Config{})}
	n := 0
	u.rng = func(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
		if req.Limit == 0 {
			return u.Store.Range(ctx, req)
		}
		req.Limit = 3
		n++
		key := fmt.Sprintf("%sns/%d", things, n%10)
		put(t, u.Store, key, "before", nil)
		res, err := u.Store.Range(ctx, req)
		put(t, u.Store, key, "after", nil)
		if n%3 == 0 {
			remove(t, u.Store, key)
		}
		if n%2 == 0 {
			time.Sleep(time.Millisecond)
		}
		return res, err
	}
	for range 20 {
		c := cache.New(u, cache.Config{})
		r := c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: decode})
		for i := range 10 {
			put(t, u.Store, fmt.Sprintf("%sns/%d", things, i), "v", nil)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				list, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Want: cache.Want{Match: cache.Any}})
				if err != nil {
					t.Error(err)
					return
				}
				m := replicaOf(list)
				end, _ := u.Store.Revision(t.Context())
				if list.Rev < end {
					watchUntil(t, r, cache.WatchOptions{Prefix: things, After: list.Rev}, end, m)
				}
			})
		}
		wg.Wait()
		rng := u.rng
		u.rng = nil
		if err := r.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		u.rng = rng
		c.Close()
	}
	u.Store.Close()
}

// TestLoadOvertaken: a load begins again if the changes during the load are more than it may keep
// for its end. The bound counts keys and values.
func TestLoadOvertaken(t *testing.T) {
	const changes, large = 70, 1 << 20
	for _, tt := range []struct{ key, value, loads int }{{10, 10, 1}, {large, 10, 2}, {10, large, 2}} {
		u := &hookedStore{Store: memory.New(memory.Config{})}
		begun, gate := 0, make(chan struct{})
		entered := make(chan struct{}, 10)
		u.rng = func(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
			begun++
			entered <- struct{}{}
			<-gate
			return u.Store.Range(ctx, req)
		}
		_, _, c := openOn(t, u, cache.Config{})
		r := c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: cheapDecode})
		result := make(chan error)
		go func() {
			_, err := r.List(t.Context(), cache.ListOptions{Prefix: things})
			result <- err
		}()
		<-entered
		key, value := things+strings.Repeat("k", tt.key), body("any", strings.Repeat("x", tt.value), nil)
		for range changes {
			e, err := u.Store.Put(t.Context(), key, value, storage.Pre{}, 0)
			if err != nil {
				t.Fatal(err)
			}
			for c.Seen() < e.Rev {
				runtime.Gosched()
			}
		}
		close(gate)
		if err := <-result; err != nil || begun != tt.loads || r.Count() != 1 {
			t.Errorf("%+v: got %d objects, %v after %d loads", tt, r.Count(), err, begun)
		}
	}
}

// TestProgress: the cache asks the store for its progress while a read waits for a revision, and no
// longer.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &hookedStore{Store: memory.New(memory.Config{})}
		var asked atomic.Int64
		u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
			cur, err := u.Store.Watch(ctx, req)
			return progressing{cur, &asked}, err
		}
		r, _, _ := openOn(t, u, cache.Config{})
		settle(t, r)
		future := cache.Want{Match: cache.NotOlderThan, Rev: 1000}
		if _, err := r.Get(t.Context(), things+"ns/a", future); !errors.Is(err, storage.Future) {
			t.Errorf("Get of the future: got %v, want %v", err, storage.Future)
		}
		n := asked.Load()
		time.Sleep(time.Minute)
		if later := asked.Load(); n < 10 || later > n+1 {
			t.Errorf("the store was asked %d times during the wait and %d times afterwards, want at least 10 and at most 1", n, later-n)
		}
	})
}

// progressing is a cursor that counts how often it is asked for progress.
type progressing struct {
	storage.Cursor
	asked *atomic.Int64
}

func (p progressing) Progress() {
	p.asked.Add(1)
	p.Cursor.Progress()
}

// TestWatchFailsAlways: if the watch of the store fails each time after it was opened, the pauses
// before it is opened again grow.
func TestWatchFailsAlways(t *testing.T) {
	u := &hookedStore{Store: memory.New(memory.Config{})}
	var fails atomic.Int32
	u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
		cur, err := u.Store.Watch(ctx, req)
		return &breakableCursor{Cursor: cur, cause: fail(storage.Corrupt)}, err
	}
	r, store, _ := openOn(t, u, cache.Config{MaxWait: 50 * time.Millisecond,
		Hooks: cache.Hooks{WatchFailed: func(error) { fails.Add(1) }}})
	settle(t, r)
	rev := put(t, store, things+"ns/a", "1", nil)
	time.Sleep(200 * time.Millisecond)
	if n := fails.Load(); n < 2 || n > 12 {
		t.Errorf("got %d tries in 200 ms, want waits that double", n)
	}
	if got, err := r.Exists(t.Context(), things+"ns/a"); err != nil || got != rev {
		t.Errorf("Exists: got %d, %v, want %d from the store", got, err, rev)
	}
}

// TestLoadTooSlow: if the history is compacted during every load, the resource is Unavailable. It
// is not Compacted, because its readers have not asked for an old revision.
func TestLoadTooSlow(t *testing.T) {
	u := &hookedStore{Store: memory.New(memory.Config{})}
	u.rng = func(context.Context, storage.RangeRequest) (storage.RangeResult, error) {
		return storage.RangeResult{}, fail(storage.Compacted)
	}
	r, _, _ := openOn(t, u, cache.Config{})
	if _, err := r.List(t.Context(), cache.ListOptions{Prefix: things}); storage.KindOf(err) != storage.Unavailable {
		t.Errorf("List: got %v, want %v", err, storage.Unavailable)
	}
}

// TestQuestion: readers share one request for the store's revision, but never one that was sent
// before they asked.
func TestQuestion(t *testing.T) {
	u := &hookedStore{Store: memory.New(memory.Config{})}
	var asked atomic.Int32
	gate := make(chan struct{})
	entered := make(chan struct{}, 100)
	u.revision = func(ctx context.Context) (storage.Revision, error) {
		asked.Add(1)
		rev, err := u.Store.Revision(ctx)
		entered <- struct{}{}
		<-gate
		return rev, err
	}
	_, store, c := openOn(t, u, cache.Config{})
	first := make(chan storage.Revision, 1)
	ask := func(out chan<- storage.Revision) {
		rev, err := c.Revision(t.Context())
		if err != nil {
			t.Error(err)
		}
		out <- rev
	}
	go ask(first)
	<-entered
	rev := put(t, store, things+"ns/a", "1", nil) // the store has answered the first request already
	const n = 50
	rest := make(chan storage.Revision, n)
	for range n {
		go ask(rest)
	}
	time.Sleep(20 * time.Millisecond)
	close(gate)
	if got := <-first; got >= rev {
		t.Errorf("first: got %d, want less than %d", got, rev)
	}
	for range n {
		if got := <-rest; got < rev {
			t.Errorf("later: got %d, want at least %d", got, rev)
		}
	}
	if got := asked.Load(); got > 4 {
		t.Errorf("got %d questions for %d readers, want at most 4", got, n+1)
	}
}

// TestQuestionsEnd: after many readers have shared a request, the next reader's request is sent at
// once.
func TestQuestionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &hookedStore{Store: memory.New(memory.Config{})}
		u.revision = func(ctx context.Context) (storage.Revision, error) {
			select {
			case <-time.After(100 * time.Millisecond): // a distant store
				return u.Store.Revision(ctx)
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		_, _, c := openOn(t, u, cache.Config{})
		begin := time.Now()
		for range 2 {
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					if rev, err := c.Revision(t.Context()); err != nil || rev == 0 {
						t.Errorf("Revision: got %d, %v", rev, err)
					}
				})
				synctest.Wait()
			}
			wg.Wait()
		}
		if took := time.Since(begin); took != 400*time.Millisecond {
			t.Errorf("twice three at once took %v, want four questions of 100 ms", took)
		}
	})
}

// TestFallback reads from the store when the watch does not deliver.
func TestFallback(t *testing.T) {
	u := &hookedStore{Store: memory.New(memory.Config{})}
	u.watch = func(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
		return &silent{done: make(chan struct{})}, nil
	}
	r, store, _ := openOn(t, u, cache.Config{MaxWait: 10 * time.Millisecond})
	put(t, store, things+"ns/a", "1", nil)
	settle(t, r)
	rev := put(t, store, things+"ns/a", "2", nil)
	if o, err := r.Get(t.Context(), things+"ns/a", cache.Want{}); err != nil || o.Rev != rev {
		t.Errorf("Get: got %+v, %v, want revision %d", o, err, rev)
	}
	list, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Limit: 5})
	if err != nil || len(list.Objects) != 1 || list.Objects[0].Rev != rev || list.Rev != rev {
		t.Errorf("List: got %+v, %v, want revision %d", list, err, rev)
	}
	if got, err := r.Exists(t.Context(), things+"ns/a"); err != nil || got != rev {
		t.Errorf("Exists: got %d, %v, want %d", got, err, rev)
	}
	if o, err := r.Get(t.Context(), things+"ns/a", cache.Want{Match: cache.NotOlderThan, Rev: rev}); err != nil || o.Rev != rev {
		t.Errorf("Get not older than the present: got %+v, %v, want revision %d", o, err, rev)
	}
	_, err = r.Get(t.Context(), things+"ns/a", cache.Want{Match: cache.NotOlderThan, Rev: rev + 10})
	var e *storage.Error
	if !errors.As(err, &e) || e.Kind != storage.Future || e.Rev != rev {
		t.Errorf("Get of the future: got %v, want %v at %d", err, storage.Future, rev)
	}
	countStoreReads(t, r, cache.Behind, 4)
}

// TestFaulty lets the i-th operation of a short session fail, i = 0, 1, 2, ..., until one passes
// without a fault. A write that is reported as done is stored, a refused one is not, and the cache
// equals the store in the end.
func TestFaulty(t *testing.T) {
	for _, fault := range []storagetest.Fault{storagetest.Refuse, storagetest.Lose, storagetest.Pretend} {
		for i, faulted := 0, true; faulted; i++ {
			f := storagetest.NewFaulty(memory.New(memory.Config{}))
			f.FailAt(i, fault)
			faulted = session(t, f, fmt.Sprintf("fault %d at %d", fault, i), func() bool { return f.Ops() > i })
			if i > 200 {
				t.Fatalf("fault %d: still faults after %d operations", fault, i)
			}
		}
	}
}

// session writes and reads. It tries each step until the step succeeds; the step must have happened
// once. It reports whether the fault came.
func session(t *testing.T, store storage.Store, name string, came func() bool) bool {
	t.Helper()
	c := cache.New(store, cache.Config{})
	defer store.Close()
	defer c.Close()
	r := c.Resource(cache.ResourceConfig{Name: "things", Prefix: things, Decode: decode})
	key := things + "ns/a"
	try := func(step string, f func() error) {
		t.Helper()
		for n := range 3 {
			err := f()
			if err == nil {
				return
			}
			if kind := storage.KindOf(err); kind != storage.Unavailable && kind != storage.InDoubt || n > 0 {
				t.Errorf("%s: %s, try %d: %v", name, step, n, err)
				return
			}
		}
	}
	try("create", func() error {
		_, err := r.Create(t.Context(), key, body(key, "", nil), 0)
		return err
	})
	try("load", func() error { _, err := r.List(t.Context(), cache.ListOptions{Prefix: things}); return err })
	for i := range 3 {
		try("update", func() error {
			o, err := r.Update(t.Context(), key, cache.UpdateOptions{}, func(cur *cache.Object) ([]byte, storage.LeaseID, error) {
				return body(key, value(cur)+"x", nil), 0, nil
			})
			if err == nil && len(value(o)) != i+1 {
				t.Errorf("%s: update %d: got %q", name, i, value(o))
			}
			return err
		})
		try("list", func() error {
			list, err := r.List(t.Context(), cache.ListOptions{Prefix: things})
			if err == nil && (len(list.Objects) != 1 || len(value(list.Objects[0])) != i+1) {
				t.Errorf("%s: list %d: got %s", name, i, show(list.Objects))
			}
			return err
		})
	}
	try("delete", func() error { _, err := r.Delete(t.Context(), key, cache.DeleteOptions{}, nil); return err })
	try("verify", func() error { return r.Verify(t.Context()) })
	if n := r.Count(); n != 0 {
		t.Errorf("%s: got %d objects in the end, want 0", name, n)
	}
	return came()
}
