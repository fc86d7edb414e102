package storagetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/storage"
)

// bystanders is the number of cursors that are open and never read. An engine that serves cursors
// one after the other serves the last one late, which widens the window that testShown looks into.
const bystanders = 32

// testShown checks the law that a revision which a cursor has yielded can be read. It reads or
// changes each key right after a cursor has yielded its event. An engine that serves a cursor
// before the write is visible to reads fails here, but only sometimes; so there are many keys, and
// several writers.
func testShown(t *testing.T, e Engine) {
	for _, writers := range []int{1, 4} {
		t.Run(fmt.Sprintf("writers=%d", writers), func(t *testing.T) {
			b := open(t, e)
			for range bystanders {
				b.watch(storage.WatchRequest{Prefix: "/a/"})
			}
			w := b.watch(storage.WatchRequest{Prefix: "/a/"})
			w.last = b.rev()
			const keys = 500
			var wg sync.WaitGroup
			defer wg.Wait()
			for g := range writers {
				wg.Go(func() {
					for i := g; i < keys; i += writers {
						if _, err := b.Put(b.ctx, fmt.Sprintf("/a/%04d", i), value(i), storage.Pre{Absent: true},
							0); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			for left := keys; left > 0; {
				batch, err := w.Next(b.ctx)
				if err != nil {
					b.Fatalf("Next with %d keys to come: %v", left, err)
				}
				if err := w.check(batch); err != nil {
					b.Fatal(err)
				}
				// The last event comes first, because it is the one that may have been yielded too
				// early.
				for i := len(batch.Events) - 1; i >= 0; i-- {
					if batch.Events[i].Created { // the events of the writes in shown are left out
						b.shown(batch.Events[i], left)
						left--
					}
				}
			}
		})
	}
}

// shown reads or writes right after a cursor has yielded the event ev, which made a key. n is the
// number of events that are still to come; it decides what shown does. Most times shown reads: the
// key by Get, the key by a Range of a few keys, or another prefix by a Range at the revision of ev,
// which fails if reads have not reached that revision. For a tenth of the events it puts or deletes
// the key instead, with the revision of ev as the precondition. It does so rarely, because a write
// takes so long that the next events are old by then.
func (b *bench) shown(ev storage.Event, n int) {
	b.Helper()
	switch n % 20 {
	case 10:
		if _, err := b.Put(b.ctx, ev.Key, value(n), storage.Pre{Rev: ev.Rev}, 0); err != nil {
			b.Errorf("Put over %s, shown at %d: %v", ev.Key, ev.Rev, err)
		}
		return
	case 11:
		if _, err := b.Delete(b.ctx, ev.Key, storage.Pre{Rev: ev.Rev}); err != nil {
			b.Errorf("Delete of %s, shown at %d: %v", ev.Key, ev.Rev, err)
		}
		return
	}
	switch n % 3 {
	case 0:
		if got, err := b.Get(b.ctx, ev.Key); err != nil || got.Rev != ev.Rev {
			b.Errorf("Get of %s, shown at %d: got %s, %v", ev.Key, ev.Rev, show(got), err)
		}
	case 1:
		last := len(ev.Key) - 1 // up to ten keys differ in their last byte only
		res, err := b.Range(b.ctx, storage.RangeRequest{Prefix: "/a/", After: ev.Key[:last], Limit: 10, NoCount: true})
		found := slices.ContainsFunc(res.Entries, func(e storage.Entry) bool {
			return e.Key == ev.Key && e.Rev == ev.Rev
		})
		if err != nil || res.Rev < ev.Rev || !found {
			b.Errorf("Range for %s, shown at %d: got %s at %d, %v", ev.Key, ev.Rev, showAll(res.Entries), res.Rev, err)
		}
	case 2:
		if res, err := b.Range(b.ctx, storage.RangeRequest{Prefix: "/b/", Rev: ev.Rev}); err != nil ||
			res.Rev != ev.Rev {
			b.Errorf("Range at %d, which was shown: got %d, %v", ev.Rev, res.Rev, err)
		}
	}
}
