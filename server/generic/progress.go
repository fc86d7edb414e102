package generic

import (
	"context"
	"strconv"
	"sync"

	"github.com/coracle-project/coracle/storage"
)

// Progress is how far a loop that follows the store has come. Others wait for it. Make it with
// NewProgress. All methods may be called at once.
type Progress struct {
	mu      sync.Mutex
	begun   bool
	rev     storage.Revision
	changed chan struct{} // closed when the loop has come further
}

// NewProgress returns the progress of a loop that has not looked at anything yet.
func NewProgress() *Progress { return &Progress{changed: make(chan struct{})} }

// Reach says that the loop has looked at everything up to a resourceVersion, which a follow.Batch
// of a Store's Source has that is in step.
func (p *Progress) Reach(resourceVersion string) {
	rev, _ := strconv.ParseUint(resourceVersion, 10, 64) // such a Source gives decimal revisions
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun, p.rev = true, max(p.rev, storage.Revision(rev))
	close(p.changed)
	p.changed = make(chan struct{})
}

// Wait returns when the loop has looked at everything up to a revision, with 0 when it has looked
// at what was there when it began. The error is that of ctx.
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
