package generic

import (
	"context"
	"strconv"
	"sync"

	"github.com/coracle-project/coracle/storage"
)

// Progress is the revision up to which a loop has processed the changes of a store. Other
// goroutines wait until the loop has processed a write that they know of. NewProgress makes it. All
// methods may be called at once.
type Progress struct {
	mu      sync.Mutex
	begun   bool             // Reach was called
	rev     storage.Revision // the highest that was reached
	changed chan struct{}    // closed, and replaced, by each Reach
}

// NewProgress returns the Progress of a loop that has not processed anything.
func NewProgress() *Progress { return &Progress{changed: make(chan struct{})} }

// Reach notes that the loop has processed all changes up to a resourceVersion. The resourceVersion
// must be that of a follow.Batch that is in step and comes from the Source of a registry.Store.
func (p *Progress) Reach(resourceVersion string) {
	rev, _ := strconv.ParseUint(resourceVersion, 10, 64) // such a Source gives decimal revisions
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun, p.rev = true, max(p.rev, storage.Revision(rev))
	close(p.changed)
	p.changed = make(chan struct{})
}

// Wait returns nil when the loop has processed everything up to rev. A rev of 0 waits for the
// objects that existed when the loop began. The error is that of ctx.
func (p *Progress) Wait(ctx context.Context, rev storage.Revision) error {
	for {
		p.mu.Lock()
		there, changed := p.begun && p.rev >= rev, p.changed
		p.mu.Unlock()
		if there {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
