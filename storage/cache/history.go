package cache

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// history serves the watchers of an epoch that resume from before the window, so that a restarted server needs no relist
// of its clients. They share one reader of the store's history, and what it has read.
//
// That is kept in stretches, bounded together by Config.WindowBytes. The least recently used go first, and all of them
// some time after their last use. A watcher holds a revision and no stretch: if the one that it needs is not there, it
// asks for it. The reader serves the one who is furthest behind, and goes on from there: so they meet and advance
// together. Whoever has waited for long comes first, so everybody's turn comes; and who has asked is handed the stretch,
// even if there is no room to keep it, so a turn is progress.
//
// The reader is a goroutine while somebody has asked for something.
type history struct {
	r      *Resource
	epoch  *epoch
	source source // owned by the reader; by the holder of mu while there is none

	mu struct {
		sync.Mutex
		kept    []*kept // in no order; they do not overlap
		bytes   int64   // of kept
		wishes  map[storage.Revision]*wish
		reading bool
		taken   bool               // somebody was handed the last stretch, and will soon ask for what follows
		used    time.Time          // when a stretch was last looked for
		cancel  context.CancelFunc // of the reader; nil before the first
		ended   bool
	}
}

// kept is a stretch for those who come later.
type kept struct {
	*stretch
	used time.Time
}

// wish is the wait of all who need the stretch behind one revision.
type wish struct {
	rev   storage.Revision
	since time.Time
	refs  int           // who wait; guarded by history.mu
	done  chan struct{} // closed once one of the following has been set
	found *stretch
	err   error
}

const (
	// stretchParts is how many stretches there is room for at least, so that watchers at different places do not take
	// them from each other at once.
	stretchParts = 4
	// maxKept bounds the stretches that are kept, however small.
	maxKept = 64
	// historyAge is how long stretches and an open cursor are kept after their last use.
	historyAge = 30 * time.Second
	// patience is how long a wish may wait for others.
	patience = time.Second
)

func newHistory(r *Resource, e *epoch) *history {
	h := &history{r: r, epoch: e, source: source{r: r}}
	h.mu.wishes = map[storage.Revision]*wish{}
	return h
}

// after returns a stretch that has the changes after rev, which is before the window, and waits for it. Errors:
// Compacted, that of ctx or of the epoch's end, or the store's.
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

// ask returns the stretch behind rev if it is there, else a wish for it.
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
		h.serve(ctx) // the cache is closed: this only tells
	}
	return w, nil, nil
}

// serve reads what is asked for until there is nothing more.
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

// choose returns where to read next and where what is there already begins, 0 for nowhere. It ends the reader if
// there is nothing to do.
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

// findLocked returns the stretch that has the changes after rev, or nil.
func (h *history) findLocked(rev storage.Revision) *kept {
	for _, k := range h.mu.kept {
		if k.after <= rev && rev < k.upto {
			return k
		}
	}
	return nil
}

// keepLocked hands st to those who have asked for it, and keeps it for others.
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

func (h *history) dropLocked(k *kept) {
	h.mu.bytes -= k.bytes
	h.mu.kept = slices.DeleteFunc(h.mu.kept, func(other *kept) bool { return other == k })
}

// failLocked tells those who have asked for the history from a revision on that it cannot be read. If it has been
// compacted, so has what is before; anything else would meet the others as well.
func (h *history) failLocked(from storage.Revision, err error) {
	for rev, w := range h.mu.wishes {
		if rev <= from || storage.KindOf(err) != storage.Compacted {
			w.err = err
			close(w.done)
			delete(h.mu.wishes, rev)
		}
	}
}

// endError says why the epoch has ended.
func (h *history) endError() error {
	if err := h.epoch.end.Load(); err != nil {
		return *err
	}
	return closed("watch", h.r.cfg.Prefix)
}

// trim drops what has not been used for long.
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

// close ends the reader and forgets everything. The epoch has ended.
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

// closeSource closes the cursor if nobody will read any more: whoever is the last of close and the reader does it.
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

// size returns the bytes of what is kept.
func (h *history) size() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.bytes
}
