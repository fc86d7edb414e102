package cache

import (
	"context"

	"github.com/coracle-project/coracle/storage"
)

// While a resource is being loaded, the store answers reads of single objects and of pages: such a
// read takes few entries, and after a start there are many of them. All other reads wait for the
// load.

// cold reports whether the store has to answer a read because the objects are not loaded. If so, it
// starts the load in the background. It reports false for a revision that the store has not
// reached: such a read waits for its revision as it would on a loaded resource. The error is the
// store's, or Closed.
//
// It is small so that it can be inlined: reads of a loaded resource pay for one atomic load.
func (r *Resource) cold(ctx context.Context, want Want) (bool, error) {
	if r.epoch.Load() == nil {
		return r.isCold(ctx, want)
	}
	return false, nil
}

// isCold is cold for a resource that is not loaded.
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

// warm starts a goroutine that loads the objects, unless one runs already. It returns false if the
// resource or the cache is closed.
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
		_, _ = r.ready(r.c.ctx) // load reports errors to Hooks.LoadFailed; the next read tries again
	})
}

// maxColdMatch is how many entries of the store a page with a filter looks at. Beyond that the page
// waits for the load, which reads all entries once for all readers.
const maxColdMatch = 2 * loadChunk

// These constants bound one Range of a load.
const (
	firstChunk = 100     // entries of the first Range, before their size is known
	maxChunk   = 5000    // entries
	chunkBytes = 4 << 20 // bytes of keys and values, estimated from the Range before
)

// nextChunk returns the limit of the next Range, from the limit and the entries of the last one:
// twice the limit, at most maxChunk, and at most as many entries as fit into chunkBytes if they are
// as large as the last ones.
func nextChunk(limit int, entries []storage.Entry) int {
	bytes := 0
	for i := range entries {
		bytes += len(entries[i].Key) + len(entries[i].Value)
	}
	fit := chunkBytes * len(entries) / max(bytes, 1)
	return max(1, min(fit, 2*limit, maxChunk))
}
