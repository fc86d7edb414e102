package cache

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// Watchers that resume from before the window: history keeps stretches of the store's history and
// runs the reader that fetches them; past.go has the reading itself and the watcher's side
// (collectPast). Watch and Watcher.Next call history.after.

// history serves the watchers of an epoch that resume from before the window. Without it the
// clients of a restarted server would have to list again. The watchers share one reader of the
// store's history, and the stretches that it has read.
//
// Config.WindowBytes bounds the stretches together. The least recently used are dropped first, and
// all of them some time after their last use. A watcher holds a revision and no stretch; if the
// stretch that it needs is not there, it asks for it with a wish.
//
// The reader serves the wish with the lowest revision and goes on from there, so that watchers meet
// and advance together. A wish that has waited longer than patience comes first, so every wish is
// served. The watchers of a wish get the stretch even if there is no room to keep it, so each turn
// is progress.
//
// The reader is a goroutine that runs while there are wishes.
type history struct {
	r      *Resource
	epoch  *epoch
	source source // owned by the reader; by the holder of mu while no reader runs

	mu struct {
		sync.Mutex
		kept    []*kept                    // in no order; they do not overlap
		bytes   int64                      // sum over kept
		wishes  map[storage.Revision]*wish // by the revision behind which the stretch begins
		reading bool                       // a reader runs
		taken   bool                       // a watcher got the last stretch, and will soon ask for the next one
		used    time.Time                  // when a stretch was last asked for or read
		cancel  context.CancelFunc         // of the reader; nil before the first
		ended   bool                       // the epoch has ended
	}
}

// kept is a stretch that is kept for later watchers.
type kept struct {
	*stretch
	used time.Time // when it was last used
}

// wish is the wait of all watchers that need the stretch behind one revision.
type wish struct {
	rev   storage.Revision
	since time.Time     // when the first watcher asked
	refs  int           // watchers that wait; guarded by history.mu
	done  chan struct{} // closed once found or err has been set
	found *stretch
	err   error
}

const (
	// stretchParts is the number of stretches of full size that fit into the bound, so that a few
	// watchers at different revisions do not push out each other's stretches.
	stretchParts = 4
	// maxKept bounds the number of stretches, however small they are.
	maxKept = 64
	// historyAge is how long stretches and an open cursor are kept after their last use.
	historyAge = 30 * time.Second
	// patience is how long a wish may wait while wishes with lower revisions are served.
	patience = time.Second
)

// newHistory returns the history of an epoch. It reads nothing until it is asked.
func newHistory(r *Resource, e *epoch) *history {
	h := &history{r: r, epoch: e, source: source{r: r}}
	h.mu.wishes = map[storage.Revision]*wish{}
	return h
}

// after returns a stretch that has the changes after rev, which is before the window. It waits
// until the reader has read the stretch. Errors: Compacted, that of ctx or of the epoch's end, or
// the store's.
func (h *history) after(ctx context.Context, rev storage.Revision) (*stretch, error) {
	w, found, err := h.ask(rev)
	if w == nil {
		return found, err
	}
	select {
	case <-w.done:
		return w.found, w.err
	case <-ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.refs--; w.refs == 0 && h.mu.wishes[rev] == w {
		delete(h.mu.wishes, rev)
	}
	return nil, ctx.Err()
}

// ask returns the stretch behind rev if it is kept, else a wish for it. It starts the reader if
// none runs.
func (h *history) ask(rev storage.Revision) (*wish, *stretch, error) {
	h.mu.Lock()
	h.mu.used = time.Now()
	if k := h.findLocked(rev); k != nil {
		k.used = h.mu.used
		h.mu.Unlock()
		return nil, k.stretch, nil
	}
	if h.mu.ended {
		h.mu.Unlock()
		return nil, nil, h.endError()
	}
	w := h.mu.wishes[rev]
	if w == nil {
		w = &wish{rev: rev, since: h.mu.used, done: make(chan struct{})}
		h.mu.wishes[rev] = w
	}
	w.refs++
	start := !h.mu.reading
	var ctx context.Context
	if start {
		h.mu.reading = true
		ctx, h.mu.cancel = context.WithCancel(h.r.c.ctx)
	}
	h.mu.Unlock()
	if start && !h.r.c.spawn(func() { h.serve(ctx) }) {
		h.serve(ctx) // the cache is closed: serve only fails the wishes
	}
	return w, nil, nil
}

// serve is the reader. It reads one stretch after another until there are no wishes.
func (h *history) serve(ctx context.Context) {
	defer h.closeSource()
	limit := max(h.r.c.cfg.WindowBytes/stretchParts, 1)
	for {
		from, until, ok := h.choose()
		if !ok {
			return
		}
		st, err := h.source.read(ctx, h.epoch, from, until, limit)
		if ctx.Err() != nil {
			err = h.endError()
		}
		h.mu.Lock()
		if err != nil {
			h.failLocked(from, err)
		} else {
			h.keepLocked(st)
		}
		h.mu.Unlock()
	}
}

// choose returns the revision from behind which to read next, and the revision until which to read:
// there the next kept stretch begins. until is 0 if there is no such stretch. If there are no
// wishes, choose ends the reader and returns false.
func (h *history) choose() (from, until storage.Revision, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var least, oldest *wish
	for _, w := range h.mu.wishes {
		if least == nil || w.rev < least.rev {
			least = w
		}
		if oldest == nil || w.since.Before(oldest.since) {
			oldest = w
		}
	}
	if least == nil {
		h.mu.cancel()
		h.mu.reading = false
		return 0, 0, false
	}
	src := &h.source
	switch {
	case time.Since(oldest.since) > patience:
		from = oldest.rev
	case h.mu.taken && src.cursor != nil && src.pos < least.rev && h.findLocked(src.pos) == nil:
		from = src.pos
	default:
		from = least.rev
	}
	for _, k := range h.mu.kept {
		if k.after > from && (until == 0 || k.after < until) {
			until = k.after
		}
	}
	return from, until, true
}

// findLocked returns the kept stretch that has the changes after rev, or nil.
func (h *history) findLocked(rev storage.Revision) *kept {
	for _, k := range h.mu.kept {
		if k.after <= rev && rev < k.upto {
			return k
		}
	}
	return nil
}

// keepLocked gives st to the wishes that it fulfils, and keeps it for later ones. Then it drops the
// least recently used stretches beyond the bounds, which may be st itself.
func (h *history) keepLocked(st *stretch) {
	h.mu.taken = false
	for rev, w := range h.mu.wishes {
		if st.after <= rev && rev < st.upto {
			h.mu.taken = true
			w.found = st
			close(w.done)
			delete(h.mu.wishes, rev)
		}
	}
	if h.mu.ended {
		return
	}
	h.mu.used = time.Now()
	h.mu.kept = append(h.mu.kept, &kept{stretch: st, used: h.mu.used})
	h.mu.bytes += st.bytes
	for len(h.mu.kept) > maxKept || h.mu.bytes > h.r.c.cfg.WindowBytes {
		h.dropLocked(slices.MinFunc(h.mu.kept, func(a, b *kept) int { return a.used.Compare(b.used) }))
	}
}

// dropLocked removes k from the kept stretches.
func (h *history) dropLocked(k *kept) {
	h.mu.bytes -= k.bytes
	h.mu.kept = slices.DeleteFunc(h.mu.kept, func(other *kept) bool { return other == k })
}

// failLocked fails the wishes that cannot be fulfilled because reading from a revision failed.
// Compacted fails the wishes for that revision and for earlier ones. Any other error would come
// again for every wish, so it fails them all.
func (h *history) failLocked(from storage.Revision, err error) {
	for rev, w := range h.mu.wishes {
		if rev <= from || storage.KindOf(err) != storage.Compacted {
			w.err = err
			close(w.done)
			delete(h.mu.wishes, rev)
		}
	}
}

// endError returns the error with which the epoch has ended.
func (h *history) endError() error {
	if err := h.epoch.end.Load(); err != nil {
		return *err
	}
	return closed("watch", h.r.cfg.Prefix)
}

// trim drops stretches that have not been used for historyAge, and closes the cursor if no stretch
// has been asked for or read for that time. The janitor calls it.
func (h *history) trim(now time.Time) {
	h.mu.Lock()
	for _, k := range slices.Clone(h.mu.kept) {
		if now.Sub(k.used) > historyAge {
			h.dropLocked(k)
		}
	}
	var cursor storage.Cursor
	if !h.mu.reading && now.Sub(h.mu.used) > historyAge {
		cursor = h.source.release()
	}
	h.mu.Unlock()
	if cursor != nil {
		cursor.Close()
	}
}

// close drops all stretches and stops the reader, which fails its wishes. The epoch has ended.
func (h *history) close() {
	h.mu.Lock()
	h.mu.ended = true
	h.mu.kept, h.mu.bytes = nil, 0
	if h.mu.reading {
		h.mu.cancel()
	}
	h.mu.Unlock()
	h.closeSource()
}

// closeSource closes the cursor if the history has ended and no reader runs. Both close and the
// reader call it at their end, and the later of the two closes the cursor.
func (h *history) closeSource() {
	h.mu.Lock()
	var cursor storage.Cursor
	if h.mu.ended && !h.mu.reading {
		cursor = h.source.release()
	}
	h.mu.Unlock()
	if cursor != nil {
		cursor.Close()
	}
}

// size returns the estimated bytes of the stretches that are kept.
func (h *history) size() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.bytes
}
