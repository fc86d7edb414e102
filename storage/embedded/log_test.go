package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
)

// records counts the records of a kind in the log of a closed store.
func records(t *testing.T, dir string, kind int64) int {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dir, "member", "wal", "*.wal"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range segments {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		decoder, rec := wal.NewDecoder(fileutil.NewFileReader(f)), &walpb.Record{}
		for decoder.Decode(rec) == nil {
			if rec.GetType() == kind {
				n++
			}
			if rec.GetType() == wal.CrcType {
				decoder.UpdateCRC(rec.GetCrc())
			}
		}
	}
	return n
}

// TestGroups: concurrent writes share a write and a sync of the log, and all of them are in the
// log.
func TestGroups(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	const writers, each = 64, 8
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if _, err := s.Put(t.Context(), fmt.Sprintf("/a/%d-%d", w, i), nil, storage.Pre{Absent: true}, 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const before = 2 // the entries about the member and its election
	entries, writes := records(t, dir, wal.EntryType)-before, records(t, dir, wal.StateType)-before
	if entries != writers*each || writes >= entries {
		t.Errorf("the log has %d entries, written in %d groups, want %d in fewer", entries, writes, writers*each)
	}
}

// TestGivenUp gives up many writes at different moments. A write that fails with the error of its
// context was not stored. A write in doubt may have been stored. The other writes go on.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	s, err := embedded.Open(t.Context(), embedded.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			for i := range 60 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(3000))*time.Microsecond)
				key := fmt.Sprintf("/a/%d-%d", w, i)
				e, err := s.Put(ctx, key, nil, storage.Pre{}, 0)
				cancel()
				got, gerr := s.Get(t.Context(), key)
				switch {
				case err == nil:
					if gerr != nil || got.Rev != e.Rev {
						t.Errorf("acknowledged at %d, and then: got %d, %v", e.Rev, got.Rev, gerr)
					}
				case storage.KindOf(err) == 0 && errors.Is(err, context.DeadlineExceeded):
					if !errors.Is(gerr, storage.NotFound) {
						t.Errorf("not done, and then: got %d, %v", got.Rev, gerr)
					}
				case !errors.Is(err, storage.InDoubt):
					t.Errorf("Put: %v", err)
				}
			}
		})
	}
	wg.Wait()
}

// TestLogIsBounded writes more than the log keeps, in entries and in bytes.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	const most = 100 << 20
	dir := t.TempDir()
	cfg := embedded.Config{Dir: dir, NoSync: true}
	s, err := embedded.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ values, size int }{{6000, 10}, {190, 1 << 20}} {
		value := bytes.Repeat([]byte("x"), tt.size)
		var wg sync.WaitGroup
		for w := range 16 {
			wg.Go(func() {
				for i := w; i < tt.values; i += 16 {
					if _, err := s.Put(t.Context(), fmt.Sprintf("/a/%d", w), value, storage.Pre{}, 0); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		if err := s.Compact(t.Context(), seen(s)); err != nil {
			t.Fatal(err)
		}
	}
	length := func() (sum int64) {
		files, err := filepath.Glob(filepath.Join(dir, "member", "wal", "*.wal"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if info, err := os.Stat(name); err == nil {
				sum += info.Size()
			}
		}
		return sum
	}
	snapshots := func() []string {
		files, err := filepath.Glob(filepath.Join(dir, "member", "snap", "*.snap"))
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	// A snapshot is saved before the snapshot and the log before it are deleted.
	for end := time.Now().Add(20 * time.Second); length() > most || len(snapshots()) != 1; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the log has %d MiB and the snapshots %v, want at most %d MiB and one snapshot", length()>>20, snapshots(), most>>20)
		}
	}
	want := contents(t, s)
	s.Close()
	if s, err = embedded.Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := contents(t, s); got != want {
		t.Error("a restart has changed the contents")
	}
}

// TestLeaseOverRestart: a lease and its keys survive a crash, end in time, and do not come back.
func TestLeaseOverRestart(t *testing.T) {
	t.Parallel()
	open := func(dir string) *embedded.Store {
		s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir, NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	dir := t.TempDir()
	s := open(dir)
	id, err := s.Lease(t.Context(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Put(t.Context(), "/a", []byte("1"), storage.Pre{}, id)
	if err != nil {
		t.Fatal(err)
	}
	dir = copyOf(t, dir)
	s = open(dir)
	if got, err := s.Get(t.Context(), "/a"); err != nil || got.Rev != e.Rev {
		t.Fatalf("after a restart: got %+v, %v, want revision %d", got, err, e.Rev)
	}
	if e, err = s.Put(t.Context(), "/b", nil, storage.Pre{}, id); err != nil {
		t.Fatalf("Put under the lease: %v", err)
	}
	c, err := s.Watch(t.Context(), storage.WatchRequest{Prefix: "/", After: e.Rev, Prev: true})
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Next(t.Context())
	if err != nil || len(b.Events) != 2 || !b.Events[0].Deleted || string(b.Events[0].Prev) != "1" || b.Rev != e.Rev+1 {
		t.Fatalf("the end of the lease: got %+v, %v", b, err)
	}
	want := contents(t, s)
	s = open(copyOf(t, dir))
	if got := contents(t, s); got != want {
		t.Errorf("after the next restart: got %s, want %s", got, want)
	}
	_, err = s.Put(t.Context(), "/c", nil, storage.Pre{}, id)
	if !errors.Is(err, storage.NoLease) {
		t.Errorf("Put under the lease that has ended: got %v, want %v", err, storage.NoLease)
	}
}

// TestTornLog cuts the log off inside its last entry, as if the process had been killed during the
// write. All entries before it are there.
func TestTornLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	young, err := os.ReadFile(filepath.Join(dir, db))
	if err != nil {
		t.Fatal(err)
	}
	const writes = 10
	var last storage.Entry
	for i := range writes {
		if last, err = s.Put(t.Context(), fmt.Sprintf("/a/%d", i), bytes.Repeat([]byte("x"), 1000), storage.Pre{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, allocated := range []bool{true, false} {
		for cut := int64(1); cut < 1000; cut += 111 {
			torn := copyOf(t, dir)
			segments, err := filepath.Glob(filepath.Join(torn, "member", "wal", "*.wal"))
			if err != nil || len(segments) != 1 {
				t.Fatal(segments, err)
			}
			f, err := os.OpenFile(segments[0], os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			info, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			decoder := wal.NewDecoder(fileutil.NewFileReader(f))
			for rec := (&walpb.Record{}); decoder.Decode(rec) == nil; {
				if rec.GetType() == wal.CrcType {
					decoder.UpdateCRC(rec.GetCrc())
				}
			}
			err = f.Truncate(decoder.LastOffset() - cut)
			if err == nil && allocated {
				err = f.Truncate(info.Size())
			}
			if err = errors.Join(err, f.Close(), os.WriteFile(filepath.Join(torn, db), young, 0o600)); err != nil {
				t.Fatal(err)
			}
			s, err := embedded.Open(t.Context(), embedded.Config{Dir: torn, NoSync: true})
			if err != nil {
				t.Fatalf("%d bytes cut off, allocated=%t: %v", cut, allocated, err)
			}
			if got := seen(s); got != last.Rev && got != last.Rev-1 {
				t.Errorf("%d bytes cut off, allocated=%t: got revision %d, want %d or one less", cut, allocated, got, last.Rev)
			}
			if e, err := s.Get(t.Context(), fmt.Sprintf("/a/%d", writes-2)); err != nil || len(e.Value) != 1000 {
				t.Errorf("%d bytes cut off, allocated=%t: got %d bytes, %v", cut, allocated, len(e.Value), err)
			}
			s.Close()
		}
	}
}
