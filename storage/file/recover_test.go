package file

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// TestJournalFails lets writes to the journal fail, as on a full disk. The first write after that
// is in doubt. As soon as the journal can be written again, the store goes on, with revisions that
// survive a restart.
func TestJournalFails(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir)
	put := func(value string) (storage.Revision, error) {
		e, err := s.Put(t.Context(), key, []byte(value), storage.Pre{}, 0)
		return e.Rev, err
	}
	first, err := put(`{"n":1}`)
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.Put(t.Context(), key+"-other", []byte(`{}`), storage.Pre{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	// A folder with the name of the new journal keeps the store from making one.
	blocked := filepath.Join(dir, stateDir, "journal.new")
	if err := os.Mkdir(blocked, 0o755); err != nil {
		t.Fatal(err)
	}
	s.commit.Lock()
	s.commit.journal.file.Close()
	s.commit.Unlock()
	if _, err := put(`{"n":2}`); storage.KindOf(err) != storage.InDoubt {
		t.Errorf("Put: got %v, want %v", err, storage.InDoubt)
	}
	// Reads and watches show the content of the file before the journal has it.
	if e, err := s.Get(t.Context(), key); err != nil || e.Rev != first+2 || string(e.Value) != `{"n":2}` {
		t.Errorf("Get: got %s at %d, %v", e.Value, e.Rev, err)
	}
	if _, err := put(`{"n":3}`); storage.KindOf(err) != storage.Unavailable {
		t.Errorf("Put: got %v, want %v, before anything is changed", err, storage.Unavailable)
	}
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	last, err := put(`{"n":4}`)
	if err != nil || last <= first {
		t.Fatalf("Put afterwards: got %d, %v", last, err)
	}
	s.Close()
	s = openAt(t, dir)
	if e, err := s.Get(t.Context(), key); err != nil || e.Rev != last || string(e.Value) != `{"n":4}` {
		t.Errorf("after a restart: got %s at %d, %v, want revision %d", e.Value, e.Rev, err, last)
	}
	if e, err := s.Get(t.Context(), key+"-other"); err != nil || e.Rev != other.Rev {
		t.Errorf("after a restart: got revision %d, %v, want %d", e.Rev, err, other.Rev)
	}
}

// TestLeaseOfEdited: an edit takes an object off its lease, even if the store notices the edit only
// when the lease ends.
func TestLeaseOfEdited(t *testing.T) {
	s := openAt(t, t.TempDir())
	id, err := s.Lease(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{key, key + "-edited"} {
		if _, err := s.Put(t.Context(), k, []byte(`{}`), storage.Pre{}, id); err != nil {
			t.Fatal(err)
		}
	}
	s.notify.Close() // the store gets no more events of the file system
	if err := os.WriteFile(s.abs(keyPath(key+"-edited")), []byte("a: 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.expire(id)
	if _, err := s.Get(t.Context(), key); storage.KindOf(err) != storage.NotFound {
		t.Errorf("Get: got %v, want %v", err, storage.NotFound)
	}
	if e, err := s.Get(t.Context(), key+"-edited"); err != nil || string(e.Value) != `{"a":1}` {
		t.Errorf("Get of the edited: got %s, %v", e.Value, err)
	}
	if n := len(s.commit.leases); n != 0 {
		t.Errorf("got %d leases, want none", n)
	}
}
