package file

import (
	"os"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// TestSameMeaning edits a file without changing its meaning, while the store is open and while it
// is closed. The edit makes no revision, and the key stays on its lease.
func TestSameMeaning(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir)
	id, err := s.Lease(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Put(t.Context(), key, []byte(`{"kind":"C","apiVersion":"v1","data":{"b":"x \u003c y","a":["1",1.50,null]}}`), storage.Pre{}, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{
		"# a comment\nkind: C\napiVersion: v1\ndata:\n  b: x < y\n  a: ['1', 1.50, ~]\n",
		"apiVersion: v1\ndata: {a: [\"1\", 1.50, null], b: !!str 'x < y'}\nkind: C\n",
		`{"data": {"a": ["1", 1.50, null], "b": "x < y"}, "kind": "C", "apiVersion": "v1"}`,
	} {
		for _, closed := range []bool{false, true} {
			if closed {
				s.Close()
			}
			if err := os.WriteFile(s.abs(keyPath(key)), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if closed {
				s = openAt(t, dir)
			}
			s.syncPath(keyPath(key))
			got, err := s.Get(t.Context(), key)
			if err != nil || got.Rev != e.Rev || s.mem.Current() != e.Rev || s.commit.records[key].lease == 0 {
				t.Errorf("%s: got revision %d of %d, %v, want %d on its lease", content, got.Rev, s.mem.Current(), err, e.Rev)
			}
		}
	}
	if err := os.WriteFile(s.abs(keyPath(key)), []byte("kind: C\napiVersion: v1\ndata: {b: x < y, a: ['1', '1.50', ~]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.syncPath(keyPath(key))
	if got, err := s.Get(t.Context(), key); err != nil || got.Rev != e.Rev+1 || s.commit.records[key].lease != 0 {
		t.Errorf("a number made a text: got revision %d, %v, want %d without a lease", got.Rev, err, e.Rev+1)
	}
}
