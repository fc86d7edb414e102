package cache

import (
	"context"

	"github.com/coracle-project/coracle/storage"
)

// While a resource is being loaded, reads of single objects and of pages are answered by the store: they need little of
// it, and after a start there are many of them. All else waits for the load.

// cold reports whether a read is to be answered by the store, because the objects are not loaded. Then it has them
// loaded. A read of a revision that the store has not reached is not: it waits for it as always.
func (r *Resource) cold(ctx context.Context, want Want) (bool, error) {
	if r.epoch.Load() == nil { // small, so that reads pay next to nothing for it
		return r.isCold(ctx, want)
	}
	return false, nil
}

func (r *Resource) isCold(ctx context.Context, want Want) (bool, error) {
	if want.Match == NotOlderThan || want.Match == Exact {
		now, err := r.c.Revision(ctx)
		if err != nil || now < want.Rev {
			return false, err
		}
	}
	if !r.warm() {
		return false, closed("read", r.cfg.Prefix)
	}
	r.fellBack(Loading)
	return true, nil
}

// warm begins to load the objects, if nobody does. It returns false if the resource or the cache is closed.
func (r *Resource) warm() bool {
	r.mu.Lock()
	isGone := r.mu.phase == gone
	r.mu.Unlock()
	if isGone || r.c.ctx.Err() != nil {
		return false
	}
	if !r.warming.CompareAndSwap(false, true) {
		return true
	}
	return r.c.spawn(func() {
		defer r.warming.Store(false)
		_, _ = r.ready(r.c.ctx) // Hooks.LoadFailed tells; the next read tries again
	})
}

// maxColdMatch is how many objects a page that selects looks at in the store. Then it waits for the load: reading them
// all is what that does, for everybody.
const maxColdMatch = 2 * loadChunk

// Bounds of what a load reads at once.
const (
	firstChunk = 100 // entries, before their size is known
	maxChunk   = 5000
	chunkBytes = 4 << 20
)

// nextChunk returns how many entries to read after some were read with a limit.
func nextChunk(limit int, entries []storage.Entry) int {
	bytes := 0
	for i := range entries {
		bytes += len(entries[i].Key) + len(entries[i].Value)
	}
	fit := chunkBytes * len(entries) / max(bytes, 1)
	return max(1, min(fit, 2*limit, maxChunk))
}
