package embedded

import (
	"sync"
	"sync/atomic"

	"github.com/coracle-project/coracle/storage"
)

// feed brings what has been applied to the cursors, once readers see it.
type feed struct {
	seen atomic.Uint64 // highest revision in any answer

	mu struct {
		sync.Mutex
		rev     storage.Revision // the cursors have been told of everything up to here
		cursors map[*cursor]struct{}
		closed  bool
	}
}

// saw raises seen to rev.
func (f *feed) saw(rev storage.Revision) {
	for {
		old := f.seen.Load()
		if uint64(rev) <= old || f.seen.CompareAndSwap(old, uint64(rev)) {
			return
		}
	}
}

// publish tells the cursors of changes, in order, the revisions complete.
func (f *feed) publish(events []storage.Event) {
	if len(events) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.rev = events[len(events)-1].Rev
	f.saw(f.mu.rev)
	for c := range f.mu.cursors {
		c.offerLocked(events)
	}
}

// begin sets the revision of a store that was just opened.
func (f *feed) begin(rev storage.Revision) {
	f.mu.rev, f.mu.cursors = rev, map[*cursor]struct{}{}
	f.saw(rev)
}

// close ends all cursors, and lets no others in.
func (f *feed) close() {
	f.mu.Lock()
	f.mu.closed = true
	open := f.mu.cursors
	f.mu.cursors = nil
	f.mu.Unlock()
	for c := range open {
		c.Close()
	}
}
