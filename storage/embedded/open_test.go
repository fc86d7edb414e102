package embedded_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
)

// TestQuiet checks that opening, writing and closing log nothing, and leave only etcd's own files
// and the lock.
func TestQuiet(t *testing.T) {
	core, logs := observer.New(zap.DebugLevel)
	dir := filepath.Join(t.TempDir(), "data")
	for range 2 {
		s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir, Logger: zap.New(core)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(t.Context(), "/a/x", []byte("1"), storage.Pre{}, 0); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range logs.All() {
		t.Errorf("logged: %s %s %v", e.Level, e.Message, e.ContextMap())
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 || entries[0].Name() != "lock" || entries[1].Name() != "member" {
		t.Errorf("data directory: got %v, %v", entries, err)
	}
}

func TestOpenErrors(t *testing.T) {
	if s, err := embedded.Open(t.Context(), embedded.Config{}); err == nil {
		s.Close()
		t.Error("Open without a directory: got no error")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := embedded.Open(t.Context(), embedded.Config{Dir: file}); err == nil {
		s.Close()
		t.Error("Open of a file: got no error")
	}
	dir := t.TempDir()
	for i := range 12 { // interrupted first starts, at different points
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
		if s, err := embedded.Open(ctx, embedded.Config{Dir: dir}); err == nil {
			s.Close()
		}
		cancel()
	}
	s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir}) // the lock must be free again
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// TestSlowCursor writes far more events than the queues hold, and then reads them all from one
// cursor.
func TestSlowCursor(t *testing.T) {
	s, err := embedded.Open(t.Context(), embedded.Config{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := s.Watch(t.Context(), storage.WatchRequest{Prefix: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const n = 4000
	value := bytes.Repeat([]byte("x"), 16<<10) // 64 MiB in all, four times the bound
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := w; i < n; i += 16 {
				if _, err := s.Put(t.Context(), fmt.Sprintf("/a/%d", i), value, storage.Pre{}, 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	last, got := storage.Revision(1), 0
	for got < n {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		b, err := c.Next(ctx)
		cancel()
		if err != nil {
			t.Fatalf("after %d events: %v", got, err)
		}
		size := 0
		for _, ev := range b.Events {
			if ev.Rev != last+1 {
				t.Fatalf("got revision %d after %d", ev.Rev, last)
			}
			last = ev.Rev
			size += len(ev.Value)
		}
		if size > 32<<20 {
			t.Errorf("a batch of %d MiB was held for a slow cursor", size>>20)
		}
		got += len(b.Events)
	}
}

// TestQuietReplay starts several members on long logs without the files of their snapshots, which a
// copy may lack. The log itself says where to begin, and the store logs nothing.
func TestQuietReplay(t *testing.T) {
	from := filepath.Join(t.TempDir(), "data")
	s, err := embedded.Open(t.Context(), embedded.Config{Dir: from, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			for i := range 250 {
				if _, err := s.Put(t.Context(), fmt.Sprintf("/a/%d-%d", w, i), nil, storage.Pre{}, 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s.Close()
	snapshots, err := filepath.Glob(filepath.Join(from, "member", "snap", "*.snap"))
	if err != nil || len(snapshots) == 0 {
		t.Fatalf("no snapshot was taken: %v", err)
	}
	for _, f := range snapshots {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	core, logs := observer.New(zap.DebugLevel)
	for range 4 {
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		for _, d := range []string{dir, filepath.Join(dir, "member"), filepath.Join(dir, "member", "snap"), filepath.Join(dir, "member", "wal")} {
			if err := os.Chmod(d, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		wg.Go(func() {
			s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir, NoSync: true, Logger: zap.New(core)})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			if _, err := s.Get(t.Context(), "/a/31-249"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := logs.Len(); n != 0 {
		t.Errorf("logged %d lines, the first of them %s", n, logs.All()[0].Message)
	}
}
