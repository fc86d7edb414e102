package embedded

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"

	"github.com/coracle-project/coracle/storage"
)

// TestLockedLog: Open waits if the log is locked for a moment, as by a child process that was
// forked while the log was open. It fails if another process keeps the log locked.
func TestLockedLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() error {
		s, err := Open(t.Context(), Config{Dir: dir, NoSync: true})
		if err == nil {
			s.Close()
		}
		return err
	}
	if err := open(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "member", "wal", "*.wal"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no log: %v", err)
	}
	lock, err := fileutil.TryLockFile(files[0], os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := open(); !errors.Is(err, errLocked) {
		t.Errorf("Open of a locked log: got %v, want %v", err, errLocked)
	}
	time.AfterFunc(10*time.Millisecond, func() { lock.Close() })
	if err := open(); err != nil {
		t.Errorf("Open of a log that was locked for a moment: %v", err)
	}
}

// TestStartGivenUp: a start that is given up leaves an allocated segment of the log for the next
// start, as Close does.
func TestStartGivenUp(t *testing.T) {
	t.Parallel()
	cfg := Config{Dir: t.TempDir(), NoSync: true}
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, cfg); !errors.Is(err, context.Canceled) {
		t.Fatalf("Open: got %v, want %v", err, context.Canceled)
	}
	if got := allocated(filepath.Join(walDir(cfg.Dir), "0.tmp")); got < segmentBytes {
		t.Errorf("%d bytes are left to the log, want %d", got, segmentBytes)
	}
}

// TestCommits: writes are soon committed to the database, though the backend itself commits seldom.
func TestCommits(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	committed := func() uint32 {
		sum, err := s.member.be.Hash(func(bucket, _ []byte) bool { return string(bucket) != "key" })
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	before := committed()
	if _, err := s.Put(t.Context(), "/a", nil, storage.Pre{}, 0); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); committed() == before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing was committed")
		}
	}
}

// TestReleaseLog: files of the log that a snapshot makes needless are deleted, whatever the name of
// the directory is.
func TestReleaseLog(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a[b]*")
	s, err := Open(t.Context(), Config{Dir: dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 3 {
		for range 10 { // more than a segment
			if _, err := s.Put(t.Context(), "/a", make([]byte, 1<<20), storage.Pre{}, 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.member.releaseLog(); err != nil {
			t.Fatal(err)
		}
	}
	for ext, most := range map[string]int{".snap": 1, ".wal": 2} {
		n := 0
		for _, d := range []string{snapDir(dir), walDir(dir)} {
			files, err := os.ReadDir(d)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if filepath.Ext(f.Name()) == ext {
					n++
				}
			}
		}
		if n == 0 || n > most {
			t.Errorf("got %d files %s, want %d at most", n, ext, most)
		}
	}
}
