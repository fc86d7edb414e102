//go:build unix

package file

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// tree returns all paths in a folder, with the content of the files.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		b.WriteString(rel + " " + d.Type().String())
		if d.Type().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b.Write(content)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestLinks puts symbolic links into the folder, to places outside of it and in it. The store
// reads, writes, makes and removes nothing behind a link.
func TestLinks(t *testing.T) {
	outside := t.TempDir()
	for name, content := range map[string]string{"secret.yaml": "n: 1\n", "x.yaml": "n: 2\n", "empty/.keep": ""} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(outside, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(outside, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, outside)
	dir := t.TempDir()
	s := openAt(t, dir)
	id, err := s.Lease(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"/a/x", "/gone/x", "/leased/x"} {
		if _, err := s.Put(t.Context(), k, []byte(`{"n":2}`), storage.Pre{}, map[bool]storage.LeaseID{true: id}[k == "/leased/x"]); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(outside, "out")
	link(outside, "gone")
	link(outside, "leased")
	link("a", "in")
	link(filepath.Join(outside, "secret.yaml"), "a/secret.yaml")
	link("x.yaml", "a/same.yaml")
	link(filepath.Join(outside, "new.yaml"), "a/new.yaml")
	link("loop", "loop")

	check := func(s *Store) {
		t.Helper()
		for _, k := range []string{"/out/x", "/out/y", "/out/deep/y", "/gone/x", "/in/x", "/in/y", "/a/secret", "/a/same", "/a/new", "/loop/x"} {
			if _, err := s.Put(t.Context(), k, []byte(`{"n":3}`), storage.Pre{}, 0); storage.KindOf(err) != storage.Unavailable {
				t.Errorf("Put(%s): got %v, want %v", k, err, storage.Unavailable)
			}
			if _, err := s.Delete(t.Context(), k, storage.Pre{}); err == nil {
				t.Errorf("Delete(%s) succeeded", k)
			}
		}
		if got := tree(t, outside); got != before {
			t.Fatalf("outside there is now\n%s, want\n%s", got, before)
		}
	}
	s.syncPath(".")
	check(s)
	s.expire(id)
	check(s)
	s.Close()
	s = openAt(t, dir)
	check(s)
	if res, err := s.Range(t.Context(), storage.RangeRequest{Prefix: "/"}); err != nil || len(res.Entries) != 1 || res.Entries[0].Key != "/a/x" {
		t.Errorf("got %v, %v, want the one file that is no link", res.Entries, err)
	}
	s.Close()

	for _, name := range []string{journalName, lockName, ignoreName, stateDir} {
		saved := filepath.Join(t.TempDir(), "saved")
		if err := os.Rename(filepath.Join(dir, name), saved); err != nil {
			t.Fatal(err)
		}
		link(filepath.Join(outside, "empty"), name)
		if name != stateDir {
			link(filepath.Join(outside, "state"), name)
		}
		if s, err := Open(Config{Dir: dir}); err == nil {
			s.Close()
			t.Errorf("Open with %s as a link out of the folder succeeded", name)
		}
		if got := tree(t, outside); got != before {
			t.Fatalf("%s: outside there is now\n%s, want\n%s", name, got, before)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(saved, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNoFile gives a folder and a pipe the names of files. The store must not read them: reading a
// pipe would wait for a writer.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a/dir.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "a/pipe.yaml"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, dir)
	if res, err := s.Range(t.Context(), storage.RangeRequest{Prefix: "/"}); err != nil || len(res.Entries) != 0 {
		t.Errorf("got %v, %v, want nothing", res.Entries, err)
	}
	if _, err := s.Put(t.Context(), "/a/pipe", []byte(`{}`), storage.Pre{}, 0); storage.KindOf(err) != storage.Unavailable {
		t.Errorf("Put over a pipe: got %v, want %v", err, storage.Unavailable)
	}
}

// TestModes checks that everything the engine makes is for its owner alone, whatever the umask
// allows.
func TestModes(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := filepath.Join(t.TempDir(), "made/by/the engine")
	s := openAt(t, dir)
	if _, err := s.Put(t.Context(), key, []byte(`{}`), storage.Pre{}, 0); err != nil {
		t.Fatal(err)
	}
	seen := 0
	walk := func() {
		err := filepath.WalkDir(filepath.Dir(filepath.Dir(dir)), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has mode %v", path, info.Mode())
			}
			seen++
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	walk()
	s.commit.Lock()
	err := s.commit.journal.rewrite(s.notes())
	s.commit.Unlock()
	if err != nil {
		t.Error(err)
	}
	walk()
	if seen < 20 {
		t.Errorf("got %d files and folders in all", seen)
	}
}
