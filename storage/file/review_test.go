package file

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// TestReview: a review asks Accept again about the files of a prefix, though they have not changed.
// Objects of files that Accept then refuses, completes or takes change, and each refusal is
// reported once. All other files stay as they were. The same holds after a restart.
func TestReview(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a/bad": "v: bad", "a/born": "v: born", "a/plain": "v: 1", "a/later": "v: later", "b/bad": "v: bad"} {
		save(t, dir+"/"+name+".yaml", text+"\n")
	}
	var knows atomic.Bool
	accept := func(f Found) ([]byte, Birth, error) {
		text := string(f.Value)
		switch {
		case !knows.Load() && strings.Contains(text, "later"):
			return nil, Birth{}, errors.New("not yet")
		case !knows.Load():
			return f.Value, Birth{}, nil
		case strings.Contains(text, "born"):
			return []byte(`{"v":"born","id":"id"}`), Birth{ID: "id", At: f.Modified}, nil
		}
		return refuseBad(f)
	}
	s, told := openReporting(t, dir, accept)
	for _, when := range []string{"first", "restarted"} {
		for key, there := range map[string]bool{"/a/bad": true, "/a/born": true, "/a/plain": true, "/a/later": false, "/b/bad": true} {
			if _, err := s.Get(t.Context(), key); (err == nil) != there {
				t.Errorf("%s, %s before the review: got %v, want it there: %v", when, key, err, there)
			}
		}
		plain, err := s.Get(t.Context(), "/a/plain")
		if err != nil {
			t.Fatal(err)
		}
		knows.Store(true)
		s.Review("/a/")
		rev := s.mem.Current()
		s.Review("/a/")
		if got := s.mem.Current(); got != rev {
			t.Errorf("%s: another review changed the store to revision %d from %d", when, got, rev)
		}
		for key, want := range map[string]string{"/a/bad": "", "/a/born": `{"v":"born","id":"id"}`, "/a/plain": string(plain.Value), "/a/later": `{"v":"later"}`, "/b/bad": `{"v":"bad"}`} {
			e, err := s.Get(t.Context(), key)
			if got := string(e.Value); got != want || (err == nil) != (want != "") {
				t.Errorf("%s, %s: got %q, %v, want %q", when, key, got, err, want)
			}
		}
		if e, err := s.Get(t.Context(), "/a/plain"); err != nil || e.Rev != plain.Rev {
			t.Errorf("%s: the unchanged object has revision %d, %v, want %d", when, e.Rev, err, plain.Rev)
		}
		if _, err := s.Put(t.Context(), "/a/bad", []byte(`{"v":1}`), storage.Pre{}, 0); storage.KindOf(err) != storage.Unavailable {
			t.Errorf("%s: a write to a refused file: got %v, want Unavailable", when, err)
		}
		if got := told.of("a/bad.yaml"); len(got) != 1 || got[0] != "a bad value" {
			t.Errorf("%s: reports about the refused file: got %q, want one", when, got)
		}
		if got := told.of("a/later.yaml"); len(got) != 2 || got[1] != "all right" {
			t.Errorf("%s: reports about the accepted file: got %q", when, got)
		}
		save(t, dir+"/a/bad.yaml", "v: good\n")
		seen(t, s)
		if e, err := s.Get(t.Context(), "/a/bad"); err != nil || string(e.Value) != `{"v":"good"}` {
			t.Errorf("%s: mended it is %q, %v", when, e.Value, err)
		}
		save(t, dir+"/a/bad.yaml", "v: bad\n")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		knows.Store(false)
		s, told = openReporting(t, dir, accept)
	}
}

// TestReviewKeepsLease: an object that a review completes still ends with its lease, also after a
// restart.
func TestReviewKeepsLease(t *testing.T) {
	dir := t.TempDir()
	var knows atomic.Bool
	accept := func(f Found) ([]byte, Birth, error) {
		if knows.Load() {
			return []byte(`{"v":2}`), Birth{}, nil
		}
		return f.Value, Birth{}, nil
	}
	s, _ := openReporting(t, dir, accept)
	id, err := s.Lease(t.Context(), 500*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "/a/x", []byte(`{"v":1}`), storage.Pre{}, id); err != nil {
		t.Fatal(err)
	}
	knows.Store(true)
	s.Review("/a/")
	if e, err := s.Get(t.Context(), "/a/x"); err == nil && string(e.Value) != `{"v":2}` {
		t.Fatalf("got %q, want it completed", e.Value)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, _ = openReporting(t, dir, accept)
	c, err := s.Watch(t.Context(), storage.WatchRequest{Prefix: "/a/"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for err == nil {
		if _, err = s.Get(t.Context(), "/a/x"); err == nil {
			next(t, c)
		}
	}
}
