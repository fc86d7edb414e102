package embedded

import (
	"sync"
	"sync/atomic"

	"github.com/coracle-project/coracle/storage"
)

// feed shows applied changes to the cursors, and knows the highest revision that readers have seen.
type feed struct {
	seen atomic.Uint64 // highest revision in any answer

	mu struct {
		sync.Mutex
		rev     storage.Revision     // every change up to here has been offered to the cursors
		cursors map[*cursor]struct{} // open cursors; nil after close
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

// publish offers changes to the cursors. The changes are in order and end with a complete revision.
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

// begin sets the revision of a store that has just been opened.
func (f *feed) begin(rev storage.Revision) {
	f.mu.rev, f.mu.cursors = rev, map[*cursor]struct{}{}
	f.saw(rev)
}

// close ends all cursors and lets no others be opened.
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
