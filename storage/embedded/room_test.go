package embedded_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
)

// TestRoom writes history until the database is full: the store makes room by itself, and keeps the
// present values.
func TestRoom(t *testing.T) {
	t.Parallel()
	const quota, margin = 20 << 20, 64 << 20 // margin is the margin in make.go
	dir := t.TempDir()
	s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir, NoSync: true, Quota: quota})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Put(t.Context(), "/a/kept", []byte("1"), storage.Pre{}, 0); err != nil {
		t.Fatal(err)
	}
	c, err := s.Watch(t.Context(), storage.WatchRequest{Prefix: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	refused, last, shown := 0, seen(s), storage.Revision(0)
	for end, i := time.Now().Add(30*time.Second), 0; refused == 0 || i < 60; i++ {
		value := bytes.Repeat([]byte{byte(i)}, 1<<20)
		e, err := s.Put(t.Context(), "/a/x", value, storage.Pre{}, 0)
		switch {
		case err == nil && e.Rev != last+1:
			t.Fatalf("got revision %d after %d: a refused write was applied", e.Rev, last)
		case err == nil:
			for last = e.Rev; shown < last; { // also while the store drops the history
				b, err := c.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				shown = b.Rev
			}
		case storage.KindOf(err) != storage.Unavailable:
			t.Fatalf("Put: got %v", err)
		default:
			refused++
			if time.Now().After(end) {
				t.Fatal("the store has made no room")
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	if e, err := s.Get(t.Context(), "/a/kept"); err != nil || string(e.Value) != "1" {
		t.Errorf("Get: got %s, %v", e.Value, err)
	}
	// The writes between two commits come on top of the quota.
	if file, _ := s.Size(); file > quota+margin {
		t.Errorf("size: got %d bytes", file)
	}
	t.Logf("refused %d times", refused)
}
