package storagetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/coracle-project/coracle/storage"
)

// testRestart checks that keys, values and revisions survive a restart, that the first write after
// it has a higher revision than all before it, and that a watch from a revision before the restart
// is complete or ends with Compacted. It restarts three times, because a restart may itself write.
func testRestart(t *testing.T, e Engine) {
	if e.Reopen == nil {
		t.Log("nothing survives this engine")
		return
	}
	b := open(t, e)
	for i := range 30 {
		b.put(fmt.Sprintf("/a/%d", i%10), i, storage.Pre{})
	}
	b.del("/a/3", storage.Pre{})
	mid := b.rev()
	b.put("/a/4", 44, storage.Pre{})
	b.del("/a/5", storage.Pre{})
	for round := range 3 {
		want := b.list(storage.RangeRequest{Prefix: "/a/"})
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		b.Store = e.Reopen(t, b.Store)
		if got := b.rev(); got < want.Rev {
			t.Fatalf("round %d: Revision: got %d, want at least %d", round, got, want.Rev)
		}
		got := b.list(storage.RangeRequest{Prefix: "/a/"})
		if showAll(got.Entries) != showAll(want.Entries) {
			t.Fatalf("round %d: got %s, want %s", round, showAll(got.Entries), showAll(want.Entries))
		}
		// The history may be lost in a restart, but not silently: the watch yields the two writes
		// after mid, or it ends with Compacted.
		if round == 0 {
			c, err := b.Watch(b.ctx, storage.WatchRequest{Prefix: "/a/", After: mid})
			if err == nil {
				w := &watcher{b: b, Cursor: c, last: mid}
				if events := w.until(want.Rev); len(events) != 2 {
					t.Errorf("watch over the restart: got %d events, want 2", len(events))
				}
				c.Close()
			} else if !errors.Is(err, storage.Compacted) {
				t.Errorf("watch over the restart: %v", err)
			}
		}
		// Clients hold revisions from before the restart. They must still be good as preconditions,
		// and no write may get one of them again.
		rev := b.put("/a/9", 100+round, storage.Pre{Rev: got.Entries[len(got.Entries)-1].Rev})
		if rev <= want.Rev {
			t.Fatalf("round %d: a write after the restart got revision %d, not above %d", round, rev, want.Rev)
		}
	}
}
