package file

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// reports collects a store's reports about files.
type reports struct {
	mu  sync.Mutex
	got map[string][]string // by name, relative to the folder
}

// openReporting opens a store whose reports are collected.
func openReporting(t *testing.T, dir string, accept func(Found) ([]byte, Birth, error)) (*Store, *reports) {
	t.Helper()
	r := &reports{got: map[string][]string{}}
	s, err := Open(Config{Dir: dir, NoSync: true, Settle: 2 * time.Millisecond, Accept: accept, Failed: func(path string, err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		name, _ := filepath.Rel(dir, path)
		text := "all right"
		if err != nil {
			text = err.Error()
		}
		r.got[name] = append(r.got[name], text)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, r
}

// of returns the reports about a file.
func (r *reports) of(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got[name]
}

// seen waits until the store has seen all changes so far. To know it, seen makes a file and waits
// for its event.
func seen(t *testing.T, s *Store) {
	t.Helper()
	c, err := s.Watch(t.Context(), storage.WatchRequest{Prefix: "/seen/"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	name := s.abs("seen/" + fmt.Sprint(time.Now().UnixNano()) + ".yaml")
	save(t, name, "n: 1\n")
	next(t, c)
	// The store takes the changes of a batch in any order, so earlier changes may still come after
	// the file's. The removal comes in a later batch.
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	next(t, c)
}

// save replaces a file in one step, as good editors do.
func save(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	hidden := filepath.Join(filepath.Dir(path), ".saved")
	if err := os.WriteFile(hidden, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(hidden, path); err != nil {
		t.Fatal(err)
	}
}

// refuseBad refuses values that contain "bad".
func refuseBad(f Found) ([]byte, Birth, error) {
	if strings.Contains(string(f.Value), "bad") {
		return nil, Birth{}, errors.New("a bad value")
	}
	return f.Value, Birth{}, nil
}

// broken has the files that are refused, by the reason, with the cause that is reported.
var broken = map[string]struct {
	name, cause string
	make        func(t *testing.T, path string)
	mend        func(t *testing.T, path string)
}{
	"no YAML":       {"a/yaml.yaml", "did not find expected node content", content("a: ["), content("a: 1")},
	"nothing":       {"a/empty.yaml", "the file is empty", content(""), content("a: 1")},
	"two documents": {"a/two.yaml", "more than one document", content("a: 1\n---\nb: 2\n"), content("a: 1")},
	"too large":     {"a/large.yaml", "more than 16777216 bytes", content(strings.Repeat("#", maxFile+1)), content("a: 1")},
	"refused":       {"a/refused.yaml", "a bad value", content("a: bad"), content("a: good")},
	"a link":        {"a/link.yaml", "a symbolic link", link, gone},
	"a folder link": {"a/folder", "a symbolic link", link, gone},
	"no key":        {"a/Upper.yaml", "not the file name of a key", content("a: 1"), gone},
}

func content(text string) func(*testing.T, string) {
	return func(t *testing.T, path string) { save(t, path, text) }
}

func link(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", path); err != nil {
		t.Fatal(err)
	}
}

func gone(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// TestRefused: each file that the store refuses is reported once with its cause, whether it is
// there at the start or comes later. It is reported again when it is mended.
func TestRefused(t *testing.T) {
	for what, b := range broken {
		for _, when := range []string{"at the start", "later"} {
			t.Run(what+" "+when, func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, b.name)
				if when == "at the start" {
					b.make(t, path)
				}
				s, r := openReporting(t, dir, refuseBad)
				if when == "later" {
					b.make(t, path)
				}
				seen(t, s)
				s.syncPath(".") // as if events had been lost
				_, _ = s.Put(t.Context(), "/"+strings.TrimSuffix(b.name, suffix), []byte(`{}`), storage.Pre{Rev: 1 << 40}, 0)
				if got := r.of(b.name); len(got) != 1 || !strings.Contains(got[0], b.cause) {
					t.Fatalf("got %q, want one report with %q", got, b.cause)
				}
				if n := s.Refused(); n != 1 {
					t.Errorf("%d files are refused, want 1", n)
				}
				b.mend(t, path)
				seen(t, s)
				if got := r.of(b.name); len(got) != 2 || got[1] != "all right" {
					t.Errorf("got %q, want that it is all right", got)
				}
				if n := s.Refused(); n != 0 {
					t.Errorf("%d files are refused, want none", n)
				}
			})
		}
	}
}

// TestRefusedAgain: a refused file is reported again when its content changes. The key keeps its
// last good value, and cannot be written.
func TestRefusedAgain(t *testing.T) {
	s, r := openReporting(t, t.TempDir(), refuseBad)
	path := s.abs(keyPath(key))
	save(t, path, "v: good\n")
	seen(t, s)
	for range 2 {
		for _, content := range []string{"v: bad\n", "v: bad too\n"} {
			save(t, path, content)
			seen(t, s)
		}
	}
	if got := r.of(keyPath(key)); len(got) != 4 {
		t.Errorf("got %q, want four reports", got)
	}
	e, err := s.Get(t.Context(), key)
	if err != nil || string(e.Value) != `{"v":"good"}` {
		t.Errorf("Get: got %s, %v, want the last good value", e.Value, err)
	}
	if _, err := s.Put(t.Context(), key, []byte(`{}`), storage.Pre{}, 0); storage.KindOf(err) != storage.Unavailable || !strings.Contains(err.Error(), "a bad value") {
		t.Errorf("Put: got %v, want %v and why", err, storage.Unavailable)
	}
	save(t, path, "v: good\n")
	seen(t, s)
	if again, err := s.Put(t.Context(), key, []byte(`{"v":"better"}`), storage.Pre{Rev: e.Rev}, 0); err != nil {
		t.Errorf("Put when it is as before: got %v, %v", again, err)
	}
}

// TestRefusedFolder: a refused file does not count any longer when its folder is removed.
func TestRefusedFolder(t *testing.T) {
	s, _ := openReporting(t, t.TempDir(), refuseBad)
	for i := range 3 {
		save(t, s.abs(fmt.Sprintf("a/b/%d.yaml", i)), "v: bad\n")
	}
	seen(t, s)
	if n := s.Refused(); n != 3 {
		t.Fatalf("%d files are refused, want 3", n)
	}
	if err := os.RemoveAll(s.abs("a")); err != nil {
		t.Fatal(err)
	}
	seen(t, s)
	if n := s.Refused(); n != 0 {
		t.Errorf("%d files are refused, want none", n)
	}
}

// completing returns an Accept that adds the birth of a value to it, as "id" and "at", and numbers
// the births.
func completing() func(Found) ([]byte, Birth, error) {
	made := 0
	return func(f Found) ([]byte, Birth, error) {
		if strings.Contains(string(f.Value), "bad") {
			return nil, Birth{}, errors.New("a bad value")
		}
		if strings.Contains(string(f.Value), "id") {
			return f.Value, Birth{}, nil
		}
		if f.Birth == (Birth{}) {
			made++
			f.Birth = Birth{ID: fmt.Sprintf("%s-%d", filepath.Base(f.Key), made), At: f.Modified.Truncate(time.Second)}
		}
		return append(f.Value[:len(f.Value)-1:len(f.Value)-1], fmt.Sprintf(`,"id":%q,"at":%d}`, f.Birth.ID, f.Birth.At.Unix())...), f.Birth, nil
	}
}

// TestBirth: the birth that completes a file stays the same through edits, restarts, a time in
// which the file is refused, and a rewrite of the journal. It ends with the file. The file itself
// is not changed.
func TestBirth(t *testing.T) {
	dir := t.TempDir()
	const hand = "# by hand\nn:   1\n"
	path := filepath.Join(dir, keyPath(key))
	save(t, path, hand)
	long := time.Unix(1e9, 0)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	s, _ := openReporting(t, dir, completing())
	value := func(want string) storage.Entry {
		t.Helper()
		e, err := s.Get(t.Context(), key)
		if err != nil || string(e.Value) != want {
			t.Errorf("got %s, %v, want %s", e.Value, err, want)
		}
		return e
	}
	restart := func() {
		t.Helper()
		s.Close()
		s, _ = openReporting(t, dir, completing())
	}
	first := value(`{"n":1,"id":"settings-1","at":1000000000}`)
	restart()
	if e := value(`{"n":1,"id":"settings-1","at":1000000000}`); e.Rev != first.Rev {
		t.Errorf("a restart: got revision %d, want %d", e.Rev, first.Rev)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != hand {
		t.Errorf("the file has %q, %v, want it left alone", got, err)
	}
	save(t, path, "n: 2\n")
	seen(t, s)
	value(`{"n":2,"id":"settings-1","at":1000000000}`)
	save(t, path, "n: bad\n")
	restart()
	if _, err := s.Get(t.Context(), key); storage.KindOf(err) != storage.NotFound {
		t.Errorf("refused at the start: got %v, want %v", err, storage.NotFound)
	}
	for i := range 1100 { // so many writes that the journal is rewritten
		if _, err := s.Put(t.Context(), "/a/x", fmt.Appendf(nil, `{"id":%d}`, i), storage.Pre{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	restart()
	save(t, path, "n: 3\n")
	seen(t, s)
	value(`{"n":3,"id":"settings-1","at":1000000000}`)
	restart()
	value(`{"n":3,"id":"settings-1","at":1000000000}`)

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	seen(t, s)
	save(t, path, "n: 4\n")
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	seen(t, s)
	if e, err := s.Get(t.Context(), key); err != nil || !strings.HasPrefix(string(e.Value), `{"n":4,"id":"settings-`) ||
		strings.Contains(string(e.Value), `"settings-1"`) {
		t.Errorf("made again: got %s, %v, want another birth", e.Value, err)
	}
}

// TestBirthWithOld: Accept gets the key's value from before the edit.
func TestBirthWithOld(t *testing.T) {
	var mu sync.Mutex
	old := map[string]string{}
	s, _ := openReporting(t, t.TempDir(), func(f Found) ([]byte, Birth, error) {
		mu.Lock()
		defer mu.Unlock()
		old[f.Key] = string(f.Old)
		return f.Value, Birth{}, nil
	})
	if _, err := s.Put(t.Context(), key, []byte(`{"id":"u"}`), storage.Pre{}, 0); err != nil {
		t.Fatal(err)
	}
	save(t, s.abs(keyPath(key)), "n: 1\n")
	seen(t, s)
	mu.Lock()
	defer mu.Unlock()
	if old[key] != `{"id":"u"}` {
		t.Errorf("got %q, want the value that was put", old[key])
	}
}

// TestBirthWithAnyID: the journal can hold every ID of a birth.
func TestBirthWithAnyID(t *testing.T) {
	for _, id := range []string{"a b", `"`, "a\nb", "a%20b+c", "ü"} {
		dir, birth := t.TempDir(), Birth{ID: id, At: time.Unix(1e9, 0)}
		save(t, filepath.Join(dir, keyPath(key)), "n: 1\n")
		var known []Birth
		accept := func(f Found) ([]byte, Birth, error) {
			known = append(known, f.Birth)
			return f.Value, birth, nil
		}
		s, _ := openReporting(t, dir, accept)
		s.Close()
		s, _ = openReporting(t, dir, accept)
		s.Close()
		if want := []Birth{{}, birth}; !slices.Equal(known, want) {
			t.Errorf("%q: got %v, want %v", id, known, want)
		}
	}
}
