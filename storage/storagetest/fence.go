package storagetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// The laws of fences: when a fence holds, what a write gets if it does not, and that a fence cuts
// off late writes. Run (suite.go) calls each as a subtest.

// testFences checks for each state of a fence whether a write that carries it is stored, together
// with each precondition on the key itself. The key's own precondition decides first: a caller that
// gets Fenced knows that its view of the key was right, and need only look at the fence again.
func testFences(t *testing.T, e Engine) {
	b := open(t, e)
	old := b.put("/f/fence", 1, storage.Pre{})
	now := b.put("/f/fence", 2, storage.Pre{})
	gone := b.put("/f/gone", 1, storage.Pre{})
	b.del("/f/gone", storage.Pre{})

	for _, tt := range []struct {
		name  string
		fence storage.Fence
		holds bool
		rev   storage.Revision // of the error
	}{
		{"it holds", storage.Fence{Key: "/f/fence", Rev: now}, true, 0},
		{"it was written", storage.Fence{Key: "/f/fence", Rev: old}, false, now},
		{"it is not written yet", storage.Fence{Key: "/f/fence", Rev: now + 1000}, false, now},
		{"it was deleted", storage.Fence{Key: "/f/gone", Rev: gone}, false, 0},
		{"it was never there", storage.Fence{Key: "/f/never", Rev: now}, false, 0},
		{"it must not be there", storage.Fence{Key: "/f/fence"}, false, now},
		{"it is not there", storage.Fence{Key: "/f/never"}, true, 0},
		{"it is there no more", storage.Fence{Key: "/f/gone"}, true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) { b.testFence(t, tt.fence, tt.holds, tt.rev) })
	}

	// A key may be its own fence.
	own := b.put("/f/own", 1, storage.Pre{Absent: true, Fence: storage.Fence{Key: "/f/own"}})
	own = b.put("/f/own", 2, storage.Pre{Rev: own, Fence: storage.Fence{Key: "/f/own", Rev: own}})
	_, err := b.Put(b.ctx, "/f/own", value(3), storage.Pre{Fence: storage.Fence{Key: "/f/own", Rev: own - 1}}, 0)
	if rev := wantKind(t, "Put over a key that is its own fence", err, storage.Fenced); rev != own {
		t.Errorf("Put over a key that is its own fence: got Error.Rev %d, want %d", rev, own)
	}
}

// testFence checks writes of all kinds that carry a fence. If the fence does not hold, each is
// Fenced, with the fence's revision, and has changed nothing.
func (b *bench) testFence(t *testing.T, fence storage.Fence, holds bool, fenceRev storage.Revision) {
	there := b.put("/f/there", 1, storage.Pre{})
	if _, err := b.Delete(b.ctx, "/f/new", storage.Pre{}); err != nil && !errors.Is(err, storage.NotFound) {
		t.Fatal(err)
	}
	before := b.rev()
	want := storage.Fenced
	if holds {
		want = 0
	}
	// Writes whose own precondition fails come first: they fail with their own kind either way.
	for _, tt := range []struct {
		name, key string
		pre       storage.Pre
		deletes   bool
		want      storage.Kind
	}{
		{"a create of what is there", "/f/there", storage.Pre{Absent: true}, false, storage.Exists},
		{"an update of an old state", "/f/there", storage.Pre{Rev: there - 1}, false, storage.Conflict},
		{"an update of what is not there", "/f/new", storage.Pre{Rev: there}, false, storage.NotFound},
		{"a deletion of an old state", "/f/there", storage.Pre{Rev: there - 1}, true, storage.Conflict},
		{"a create", "/f/new", storage.Pre{Absent: true}, false, want},
		{"an update", "/f/there", storage.Pre{Rev: there}, false, want},
		{"an unconditional put", "/f/there", storage.Pre{}, false, want},
		{"a deletion", "/f/there", storage.Pre{}, true, want},
	} {
		tt.pre.Fence = fence
		var err error
		if tt.deletes {
			_, err = b.Delete(b.ctx, tt.key, tt.pre)
		} else {
			_, err = b.Put(b.ctx, tt.key, value(7), tt.pre, 0)
		}
		if tt.want == 0 {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if rev := wantKind(t, tt.name, err, tt.want); tt.want == storage.Fenced && rev != fenceRev {
			t.Errorf("%s: got Error.Rev %d, want %d", tt.name, rev, fenceRev)
		}
	}
	if got := b.rev(); !holds && got != before {
		t.Errorf("writes that were fenced have raised the revision from %d to %d", before, got)
	}
}

// testFencesCutOff checks that no write is stored after its fence was written. Writers read the
// fence, and then create, update and delete with it, while another writer moves the fence, now and
// then by a deletion. So a count of the keys at a revision of the fence misses no write that was
// prepared under an earlier one.
func testFencesCutOff(t *testing.T, e Engine) {
	b := open(t, e)
	fence := b.put("/fence", 0, storage.Pre{})
	w := b.watch(storage.WatchRequest{Prefix: "/", After: fence})
	var writers fencedWriters
	for n := range 6 {
		writers.Go(func() { writers.run(b, fmt.Sprintf("/f/%d", n), 20) })
	}
	done, mover := make(chan struct{}), sync.WaitGroup{}
	mover.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
			var err error
			if i%4 < 3 {
				_, err = b.Put(b.ctx, "/fence", value(i), storage.Pre{}, 0)
			} else {
				_, err = b.Delete(b.ctx, "/fence", storage.Pre{})
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	writers.Wait()
	close(done)
	mover.Wait()

	fences := map[storage.Revision]storage.Revision{} // the fence at each revision, 0 if it was deleted
	for _, ev := range w.until(b.rev()) {
		if ev.Key == "/fence" {
			if fence = ev.Rev; ev.Deleted {
				fence = 0
			}
		}
		fences[ev.Rev] = fence
	}
	for _, s := range writers.mu.stored {
		if got := fences[s.rev]; got != s.fence {
			t.Errorf("a write was stored at %d with revision %d of the fence, which was at %d then", s.rev, s.fence, got)
		}
	}
}

// fencedWriters are writers that read the key /fence before each write.
type fencedWriters struct {
	sync.WaitGroup
	mu struct {
		sync.Mutex
		stored []fencedWrite
	}
}

// fencedWrite is a write that was stored at rev with a revision of the fence.
type fencedWrite struct{ fence, rev storage.Revision }

// run creates, updates and deletes a key until n writes have been stored.
func (f *fencedWriters) run(b *bench, key string, n int) {
	last := storage.Revision(0) // of the key, 0 if it is absent
	for i := 0; i < n; {
		fence, err := b.Get(b.ctx, "/fence")
		if err != nil && !errors.Is(err, storage.NotFound) {
			b.Error(err)
			return
		}
		pre := storage.Pre{Absent: last == 0, Rev: last, Fence: storage.Fence{Key: "/fence", Rev: fence.Rev}}
		rev, deletes := storage.Revision(0), last != 0 && i%5 == 0
		if deletes {
			rev, err = b.Delete(b.ctx, key, pre)
		} else {
			var e storage.Entry
			e, err = b.Put(b.ctx, key, value(i), pre, 0)
			rev = e.Rev
		}
		if errors.Is(err, storage.Fenced) {
			continue
		}
		if err != nil {
			b.Error(err)
			return
		}
		i++
		if last = rev; deletes {
			last = 0
		}
		f.mu.Lock()
		f.mu.stored = append(f.mu.stored, fencedWrite{fence.Rev, rev})
		f.mu.Unlock()
	}
}
