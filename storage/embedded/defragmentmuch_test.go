//go:build !race

package embedded_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
)

// TestDefragmentsByItself: a store gives free space back at the start and while it runs.
func TestDefragmentsByItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() *embedded.Store {
		s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir, NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	sparse(t, s, 320)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(dir, "member", "snap", "db")
	size := func() int64 {
		info, err := os.Stat(db)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if size() < 320<<20 {
		t.Fatalf("the file has %d bytes", size())
	}
	s = open()
	if size() > 80<<20 {
		t.Errorf("the file has %d bytes after a start, of which a tenth is in use", size())
	}
	if _, err := os.Stat(db + ".tmp"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the copy is still there: %v", err)
	}
	sparse(t, s, 400)
	waitFor(t, func() bool { return size() < 80<<20 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestKillWhileDefragmenting kills processes at each stage of a defragmentation: when the copy has
// just begun, when it has some content, and when it has just replaced the database. All
// acknowledged writes are there, and no copy is left.
func TestKillWhileDefragmenting(t *testing.T) {
	t.Parallel()
	dir, last := t.TempDir(), map[string]storage.Entry{}
	db := filepath.Join(dir, "member", "snap", "db")
	copied := func(least int64) func() bool {
		return func() bool { info, err := os.Stat(db + ".tmp"); return err == nil && info.Size() >= least }
	}
	replaced := func() func() bool {
		var first os.FileInfo
		return func() bool {
			now, err := os.Stat(db)
			if first == nil {
				first = now
			}
			return err == nil && !os.SameFile(first, now)
		}
	}
	for round := range 6 {
		at := []func() bool{copied(0), copied(1 << 20), replaced()}[round%3]
		due := func(acknowledged int) bool { return acknowledged > 400 && at() }
		kill(t, dir, 3_000, []string{crashCopy + "=1"}, due, last)
		checkSurvived(t, dir, 3_000, last)
		if _, err := os.Stat(db + ".tmp"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the copy is still there: %v", err)
		}
	}
}
