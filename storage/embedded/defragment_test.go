package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
)

// sparse puts mib MiB of values of 16 KiB, deletes nine of ten of them, and compacts the store.
func sparse(t testing.TB, s *embedded.Store, mib int) {
	t.Helper()
	value := bytes.Repeat([]byte("v"), 16<<10)
	n := mib * 64
	each := func(fn func(key string) error) {
		var all sync.WaitGroup
		for w := range 16 {
			all.Go(func() {
				for i := w; i < n; i += 16 {
					if err := fn(fmt.Sprintf("/sparse/%06d", i)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
	}
	each(func(key string) error {
		_, err := s.Put(t.Context(), key, value, storage.Pre{}, 0)
		return err
	})
	each(func(key string) error {
		if key[len(key)-1] == '0' {
			return nil
		}
		_, err := s.Delete(t.Context(), key, storage.Pre{})
		return err
	})
	now, err := s.Revision(t.Context())
	if err == nil {
		err = s.Compact(t.Context(), now)
	}
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { file, used := s.Size(); return used < file/6 })
}

func waitFor(t testing.TB, cond func() bool) {
	t.Helper()
	for begin := time.Now(); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatal("it did not happen within a minute")
		}
	}
}

// TestDefragmentWhileUsed defragments a store again and again while writers write, and readers and
// a watch follow them. Each writer reads what was acknowledged to it, and so does a store that is
// opened again.
func TestDefragmentWhileUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sparse(t, s, 32)
	watch, err := s.Watch(t.Context(), storage.WatchRequest{Prefix: "/used/"})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writing sync.WaitGroup
	var last [4]storage.Entry
	var read atomic.Uint64 // the revision up to which the watch has been read
	for w := range last {
		writing.Go(func() {
			key := fmt.Sprintf("/used/%d", w)
			for i := 0; ctx.Err() == nil; i++ {
				e, err := s.Put(t.Context(), key, fmt.Appendf(nil, "%d %0*d", i, i%5000, 0), storage.Pre{Rev: last[w].Rev, Absent: i == 0}, 0)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := s.Get(t.Context(), key); err != nil || got.Rev != e.Rev || !bytes.Equal(got.Value, e.Value) {
					t.Errorf("%s: got %.10q at %d, %v, want %.10q at %d", key, got.Value, got.Rev, err, e.Value, e.Rev)
				}
				last[w] = e
				if rev := min(e.Rev-min(e.Rev, 50), storage.Revision(read.Load())); i%20 == 0 && rev > 0 {
					if err := s.Compact(t.Context(), rev); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	watched := make(chan map[string]storage.Revision, 1)
	go func() { // reads the watch up to the last write
		defer close(watched)
		seen := map[string]storage.Revision{}
		for seen["/used/end"] == 0 {
			b, err := watch.Next(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			for _, ev := range b.Events {
				if ev.Rev <= seen[ev.Key] {
					t.Errorf("%s at %d was seen after %d", ev.Key, ev.Rev, seen[ev.Key])
				}
				seen[ev.Key] = ev.Rev
				read.Store(uint64(ev.Rev))
			}
		}
		watched <- seen
	}()
	for range 5 {
		d, err := s.Defragment(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if file, used := s.Size(); used > file || file > 24<<20 { // a tenth of 32 MiB, and the writers' values
			t.Errorf("of %d bytes %d are in use, after %+v", file, used, d)
		}
	}
	stop()
	writing.Wait()
	end, err := s.Put(t.Context(), "/used/end", nil, storage.Pre{Absent: true}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for seen := range watched {
		for _, want := range last {
			if seen[want.Key] != want.Rev {
				t.Errorf("%s: the watch ends at %d, want %d", want.Key, seen[want.Key], want.Rev)
			}
		}
		if seen[end.Key] != end.Rev {
			t.Errorf("the watch has not seen the last write, at %d", end.Rev)
		}
	}
	check := func(s *embedded.Store) {
		t.Helper()
		for _, want := range last {
			if got, err := s.Get(t.Context(), want.Key); err != nil || got.Rev != want.Rev || !bytes.Equal(got.Value, want.Value) {
				t.Errorf("%s: got %.10q at %d, %v, want %.10q at %d", want.Key, got.Value, got.Rev, err, want.Value, want.Rev)
			}
		}
		res, err := s.Range(t.Context(), storage.RangeRequest{Prefix: "/sparse/"})
		if err != nil || len(res.Entries) != 32*64/10+1 {
			t.Errorf("got %d sparse keys, %v", len(res.Entries), err)
		}
	}
	check(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = embedded.Open(t.Context(), embedded.Config{Dir: dir, NoSync: true}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	check(s)
}

// TestDefragmentEnds: a defragmentation ends with its context and with the store, and leaves no
// file behind.
func TestDefragmentEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sparse(t, s, 64)
	temp := filepath.Join(dir, "member", "snap", "db.tmp")
	exists := func() bool { _, err := os.Stat(temp); return err == nil }
	end := func(end func()) error {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		context.AfterFunc(ctx, end)
		var ended atomic.Bool
		var waiting sync.WaitGroup
		waiting.Go(func() {
			waitFor(t, func() bool { return exists() || ended.Load() })
			stop()
		})
		_, err := s.Defragment(ctx)
		ended.Store(true)
		waiting.Wait()
		if exists() {
			t.Error("the copy was left behind")
		}
		return err
	}
	if err := end(func() {}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	var closing sync.WaitGroup
	closing.Add(1)
	err = end(func() { defer closing.Done(); s.Close() })
	if storage.KindOf(err) != storage.Closed && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	closing.Wait()
	if _, err := s.Defragment(t.Context()); storage.KindOf(err) != storage.Closed {
		t.Errorf("a closed store: got %v", err)
	}
}

// TestDefragmentAtRest defragments a store that is not open, and refuses one that is.
func TestDefragmentAtRest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := embedded.Defragment(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no store: got %v", err)
	}
	s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	sparse(t, s, 32)
	want, err := s.Range(t.Context(), storage.RangeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := embedded.Defragment(t.Context(), dir); err == nil {
		t.Error("a store that is open was defragmented as one that is not")
	}
	s.Close()
	d, err := embedded.Defragment(t.Context(), dir)
	if err != nil || d.Before < 32<<20 || d.After > 8<<20 {
		t.Errorf("got %+v, %v", d, err)
	}
	if s, err = embedded.Open(t.Context(), embedded.Config{Dir: dir, NoSync: true}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := s.Range(t.Context(), storage.RangeRequest{})
	if err != nil || got.Rev != want.Rev || len(got.Entries) != len(want.Entries) {
		t.Errorf("got %d entries at %d, %v, want %d at %d", len(got.Entries), got.Rev, err, len(want.Entries), want.Rev)
	}
}
