package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/coracle-project/coracle/storage"
)

// TestSnapshotOfBrokenLog lets the log fail before a snapshot is saved. The snapshot's record is
// not written after the incomplete record in the log, because the next start could not read such a
// log.
func TestSnapshotOfBrokenLog(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Put(t.Context(), "/a/1", nil, storage.Pre{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := segment(t, dir)
	syscall.ForkLock.RLock() // a child of another test would keep the log locked
	writable, err := syscall.Dup(fd)
	syscall.CloseOnExec(writable)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	readable, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer readable.Close()
	if err := syscall.Dup3(int(readable.Fd()), fd, syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "/a/2", nil, storage.Pre{}, 0); !errors.Is(err, storage.InDoubt) {
		t.Errorf("Put: got %v, want %v", err, storage.InDoubt)
	}
	if err := errors.Join(syscall.Dup3(writable, fd, syscall.O_CLOEXEC), syscall.Close(writable)); err != nil {
		t.Fatal(err)
	}
	if err := s.member.saveSnapshot(s.member.applied.Load()); err == nil {
		t.Error("a snapshot was written to a log that is broken")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(t.Context(), Config{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got, err := s.Get(t.Context(), "/a/1"); err != nil || got.Rev != e.Rev {
		t.Errorf("after a restart: got %+v, %v, want revision %d", got, err, e.Rev)
	}
}

// segment returns the descriptor by which the log in dir is written.
func segment(t *testing.T, dir string) int {
	t.Helper()
	const fds = "/proc/self/fd"
	files, err := os.ReadDir(fds)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		path, _ := os.Readlink(filepath.Join(fds, f.Name()))
		if strings.HasPrefix(path, walDir(dir)) && strings.HasSuffix(path, ".wal") {
			fd, err := strconv.Atoi(f.Name())
			if err != nil {
				t.Fatal(err)
			}
			return fd
		}
	}
	t.Fatal("the log is not open")
	return 0
}
