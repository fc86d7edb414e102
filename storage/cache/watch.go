package cache

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// A watch of one resource. A Watcher passes through up to three phases: the initial state
// (collectInitial), the store's history before the window (collectPast, in past.go), and the window
// (collectWindow). In the window it sleeps on the cell of its group (group.go).
//
// The handlers of watch requests call Watch, and then Next in a loop; one Next may return many
// events.

// EventType is the type of a watch event.
type EventType uint8

// These are the types of events, as in the Kubernetes API. An ERROR event has no type here: Next
// returns the error.
const (
	Added EventType = iota
	Modified
	Deleted
	Bookmark
)

// Event is one change as a watcher sees it. An object that begins to match is Added, and one that
// ceases to match is Deleted.
type Event struct {
	Type EventType
	// Object is the new state. In Deleted it is the last state, at the revision of the deletion; in
	// Bookmark it is nil.
	Object *Object
	// Rev is the revision of the change. In an Added event of the initial state it is the object's
	// revision. A Bookmark says that every change up to Rev has been sent.
	Rev storage.Revision
	// InitialEnd marks the Bookmark that ends the initial state.
	InitialEnd bool
}

// WatchOptions says what to watch and where to begin.
type WatchOptions struct {
	Prefix string // of the keys, at least that of the resource; ends in "/"
	Key    string // if set, only this object is watched
	// Initial begins with the present state as Added events in key order. Want says how fresh the
	// state must be; it may not be Exact. InitialEnd sends a bookmark after the state
	// (sendInitialEvents, KEP-3157).
	Initial, InitialEnd bool
	Want                Want
	// After begins with the changes after this revision, which may lie in the future. If After is 0
	// and Initial is false, the watch begins after the present state; Want says how fresh that
	// state must be.
	After storage.Revision
	// Bookmarks asks for a bookmark when nothing was sent for Config.BookmarkInterval (KEP-956).
	Bookmarks bool
	// Corrupt includes objects that cannot be read, whatever Match says; Object.Err says why they
	// cannot be read. Without it such an object ends the watch with storage.Corrupt.
	Corrupt bool
	// Match selects the objects; nil selects all. It must be a pure function.
	Match func(*Object) bool
	// Show says how the objects are shown; nil shows them as they are stored. An object that begins
	// to be shown is Added, and one that ceases to be shown is Deleted.
	Show Show
	// Field, if its Key is not "", promises that Match is true only for objects that have this pair
	// among their Fields. If Key is one of ResourceConfig.GroupBy, changes of other objects do not
	// wake the watcher.
	Field Pair
}

// maxEvents is about how many events one Next returns at most.
const maxEvents = 512

// Watcher is a position in the history of a resource. One goroutine at a time uses it; Close may be
// called by any. It owns no goroutine and no queue, so a slow watcher costs nothing but its
// position, and the initial state until it has been sent.
type Watcher struct {
	r     *Resource
	opts  WatchOptions
	key   groupKey
	epoch *epoch
	group *group

	pos     atomic.Uint64           // sequence number of the next change to look at; written by Next
	initial atomic.Pointer[initial] // the state still to be sent; dropSnapshots removes it if sending takes too long
	// cell is one of group's cells: no change between pos and cell.from concerns the watcher. It is
	// nil if unknown, and written by Next.
	cell atomic.Pointer[cell]
	done atomic.Bool // Close was called

	// Owned by Next.

	begin bool             // part of initial has not been sent
	past  storage.Revision // the next changes are those after it, before the window; 0 once the window has been reached
	upto  storage.Revision // every change up to here has been sent
	buf   []Event
	shown map[*Object]*Object // the results of Show for the objects of the changes being looked at

	marks bookmarks // decides when a bookmark is due
}

// initial is the part of the initial state that has not been sent.
type initial struct {
	tree *tree
	rev  storage.Revision
	from string // the least key not sent; owned by Next
}

// Watch returns a position in the history of the resource. Errors: Compacted (After is before
// ResourceConfig.Since or before the store's history), Future (the revision in Want has not been
// reached), Unavailable (the cache is behind the store), Corrupt. Close the watcher.
func (r *Resource) Watch(ctx context.Context, opts WatchOptions) (*Watcher, error) {
	if since := r.cfg.Since; !opts.Initial && opts.After != 0 && opts.After+1 < since {
		return nil, &storage.Error{Op: "watch", Key: r.cfg.Prefix, Kind: storage.Compacted, Rev: since}
	}
	w := &Watcher{r: r, opts: opts, key: r.groupKey(&opts)}
	w.marks.begin(&r.c.cfg)
	want := opts.Want
	if opts.After != 0 && !opts.Initial {
		want = Want{Match: Any}
	}
	s, rev, err := w.join(ctx, want)
	if err != nil {
		return nil, err
	}
	switch {
	case opts.Initial:
		w.begin = true
		w.pos.Store(s.end())
		from := opts.Prefix
		w.initial.Store(&initial{tree: s.tree, rev: rev, from: max(from, opts.Key)})
	case opts.After == 0:
		w.pos.Store(s.end())
	case opts.After >= s.floor:
		w.pos.Store(s.seqAfter(opts.After))
	default:
		w.past = opts.After
		if _, err := s.epoch.history.after(ctx, w.past); err != nil {
			w.Close()
			if s.epoch.end.Load() != nil { // the cache has lost the stream; the store may still have the history
				return r.Watch(ctx, opts)
			}
			return nil, err
		}
	}
	return w, nil
}

// join adds the watcher to the epoch of a state that satisfies want, and returns the state. It
// tries again if the epoch has ended meanwhile.
func (w *Watcher) join(ctx context.Context, want Want) (*state, storage.Revision, error) {
	for {
		s, rev, err := w.r.at(ctx, want)
		if err != nil {
			return nil, 0, err
		}
		w.epoch = s.epoch
		w.group = s.epoch.join(w)
		if s.epoch.end.Load() == nil {
			return s, rev, nil
		}
		s.epoch.leave(w)
	}
}

// groupKey names the changes that may concern a watcher with these options.
func (r *Resource) groupKey(opts *WatchOptions) groupKey {
	switch {
	case opts.Key != "":
		return groupKey{prefix: opts.Key}
	case slices.Contains(r.cfg.GroupBy, opts.Field.Key):
		return groupKey{prefix: opts.Prefix, field: opts.Field.Key, value: opts.Field.Value}
	}
	return groupKey{prefix: opts.Prefix}
}

// Close removes the watcher from its group and releases the initial state. It does not end a Next
// under way: the context does.
func (w *Watcher) Close() {
	if w.done.Swap(true) {
		return
	}
	w.epoch.leave(w)
	w.initial.Store(nil)
}

// SetDeadline plans a last bookmark before t, the end of the request, so that the client can resume
// from there: two seconds before t, as in Kubernetes, or in the middle of the watch if the watch
// lasts less than four seconds. Anything that is sent after that moment replaces the bookmark.
// SetDeadline has no effect on watchers without bookmarks. Call it before the first Next.
func (w *Watcher) SetDeadline(t time.Time) { w.marks.deadline(t) }

// Next returns the events that have come so far, and waits for one if there are none. The slice is
// valid until the next call. Errors: Compacted (the watcher fell behind the window, or the resource
// missed changes), Corrupt (a changed object cannot be read; with the Op "delete" the object could
// not be read before it was deleted), Closed, or that of ctx. Every error but ctx's ends the watch.
func (w *Watcher) Next(ctx context.Context) ([]Event, error) {
	w.buf = w.buf[:0]
	for {
		cell, err := w.collect(ctx)
		if err != nil {
			return nil, err
		}
		if len(w.buf) == 0 && cell != nil {
			if err := w.wait(ctx, cell); err != nil {
				return nil, err
			}
		}
		if len(w.buf) > 0 {
			w.marks.sent(w.opts.Bookmarks)
			return w.buf, nil
		}
	}
}

// collect fills buf with the events that are there. Once the watcher has seen every change, it
// returns the cell to wait for.
func (w *Watcher) collect(ctx context.Context) (*cell, error) {
	if err := w.epoch.end.Load(); err != nil {
		return nil, *err
	}
	switch {
	case w.done.Load():
		return nil, closed("watch", w.key.prefix)
	case w.begin:
		return nil, w.collectInitial(ctx)
	case w.past != 0:
		return nil, w.collectPast(ctx)
	}
	return w.collectWindow(ctx)
}

// collectInitial adds objects of the initial state to buf, at most maxEvents in one call, and the
// bookmark that ends the state.
func (w *Watcher) collectInitial(ctx context.Context) error {
	in := w.initial.Load()
	if in == nil {
		return w.evicted(w.epoch.state.Load())
	}
	stop := w.opts.Prefix[:len(w.opts.Prefix)-1] + "0" // '0' follows '/'
	if w.opts.Key != "" {
		stop = w.opts.Key + "\x00"
	}
	var err error
	rest := "" // the first key that does not fit into buf
	in.tree.Ascend(in.from, func(key string, o *Object) bool {
		if key >= stop {
			return false
		}
		if len(w.buf) == maxEvents {
			rest = key
			return false
		}
		if !w.opts.Corrupt {
			if err = o.Err(); err != nil {
				return false
			}
		}
		if w.opts.Match == nil || o.broken || w.opts.Match(o) {
			w.buf = append(w.buf, Event{Type: Added, Object: o, Rev: o.Rev})
		}
		return true
	})
	if err == nil && w.opts.Show != nil {
		err = w.showInitial(ctx)
	}
	if err != nil {
		return err
	}
	if rest != "" {
		in.from = rest
		return nil
	}
	w.begin = false
	w.initial.Store(nil)
	w.upto = in.rev
	if w.opts.InitialEnd {
		w.buf = append(w.buf, Event{Type: Bookmark, Rev: in.rev, InitialEnd: true})
	}
	return nil
}

// collectWindow adds the changes of the window from pos on to buf. It returns the cell to wait for
// once all have been looked at, or nil if there is more to look at.
//
// The cell that the watcher holds says how far it may skip:
//
//   - No cell: the watcher looks at all changes from pos on.
//   - The cell's from is 0: no change in the state concerns the watcher.
//   - The cell has ended and the group has the next cell: only changes from cell.from to cell.upto
//     concern the watcher.
//   - The group is further on: the watcher looks at all changes from cell.from on.
func (w *Watcher) collectWindow(ctx context.Context) (*cell, error) {
	pos, at := w.pos.Load(), w.cell.Load()
	idle := at != nil && at.from.Load() == 0
	next := at
	if !idle {
		next = w.group.cell.Load()
	}
	// The order of the loads matters. The cell is loaded first: a change that is not in the state
	// will wake that cell. The clock is loaded before the state: every change up to seen is in the
	// state, unless the epoch has ended.
	seen := w.r.c.seen.now()
	s := w.epoch.state.Load()
	if err := w.epoch.end.Load(); err != nil {
		return nil, *err
	}
	stop := s.end()
	switch {
	case at == nil:
	case idle:
		pos = stop // no change in s concerns the watcher, unless from has been set meanwhile
		if at.from.Load() != 0 {
			return nil, nil
		}
	case next == at: // the batch is about to be published
		return at, nil
	case next.number == at.number+1:
		pos, stop = max(pos, at.from.Load()), at.upto
	default: // several batches have concerned the group
		pos = max(pos, at.from.Load())
	}
	if pos < s.first {
		return nil, w.evicted(s)
	}
	upto, err := stop, error(nil)
	if w.opts.Show != nil && pos < stop {
		upto = min(stop, pos+maxEvents)
		err = w.showChanges(ctx, s.events[pos-s.first:upto-s.first])
	}
	for ; pos < upto && len(w.buf) < maxEvents && err == nil; pos++ {
		err = w.add(s.events[pos-s.first])
	}
	w.pos.Store(pos)
	if err != nil || pos < stop {
		return nil, err
	}
	w.cell.Store(next)
	if next.from.Load() != 0 {
		return nil, nil
	}
	w.upto = max(seen, s.last)
	return next, nil
}

// evicted returns the error of a watcher that has fallen behind the window, and calls the hook.
func (w *Watcher) evicted(s *state) error {
	if f := w.r.c.cfg.Hooks.Evicted; f != nil {
		f(w.r.cfg.Name)
	}
	return &storage.Error{Op: "watch", Key: w.key.prefix, Kind: storage.Compacted, Rev: s.floor}
}

// concerns reports whether the key and the revision of a change are within the watch. It does not
// look at the object.
func (w *Watcher) concerns(ch *change) bool {
	switch {
	case ch.rev <= w.opts.After:
		return false
	case w.opts.Key != "":
		return ch.key == w.opts.Key
	}
	return len(w.opts.Prefix) <= len(w.r.cfg.Prefix) || strings.HasPrefix(ch.key, w.opts.Prefix)
}

// add appends the event that the watcher sees of a change. It appends nothing if the watcher saw
// the object neither before nor after the change.
func (w *Watcher) add(ch *change) error {
	if !w.concerns(ch) {
		return nil
	}
	if ch.hidden() && !w.opts.Corrupt {
		return w.addHidden(ch)
	}
	was, is := w.sees(ch.prev), w.sees(ch.obj)
	switch {
	case is != nil && was != nil:
		w.buf = append(w.buf, Event{Type: Modified, Object: is, Rev: ch.rev})
	case is != nil:
		w.buf = append(w.buf, Event{Type: Added, Object: is, Rev: ch.rev})
	case was == ch.prev && was != nil:
		w.buf = append(w.buf, Event{Type: Deleted, Object: ch.gone(), Rev: ch.rev})
	case was != nil:
		w.buf = append(w.buf, Event{Type: Deleted, Object: was.At(ch.rev), Rev: ch.rev})
	}
	return nil
}

// addHidden is add for an object that cannot be read, or could not be read before the change. The
// watcher may have sent the object earlier, when it could be read. So the event is Added, with the
// present state, if the watcher sees it; in all other cases the watch ends with Corrupt, because
// the client may hold an object that it should have been told to delete.
func (w *Watcher) addHidden(ch *change) error {
	switch {
	case ch.obj == nil:
		return ch.prev.corrupt("delete")
	case ch.obj.broken:
		return ch.obj.Err()
	}
	is := w.sees(ch.obj)
	if is == nil {
		return ch.prev.Err()
	}
	w.buf = append(w.buf, Event{Type: Added, Object: is, Rev: ch.rev})
	return nil
}

// wait returns when the cell is woken or a bookmark has been added to buf.
func (w *Watcher) wait(ctx context.Context, c *cell) error {
	var due <-chan time.Time
	if w.opts.Bookmarks {
		due = w.marks.due()
	}
	for {
		select {
		case <-c.woken:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-due:
		}
		// The bookmark shows the present revision, not that at which the wait began.
		again, err := w.collectWindow(ctx)
		if err != nil || again == nil || len(w.buf) > 0 {
			return err
		}
		if c = again; c.from.Load() == 0 {
			break
		}
		due = nil // a change is about to be published, and upto may be old
	}
	if w.upto >= w.opts.After {
		w.buf = append(w.buf, Event{Type: Bookmark, Rev: w.upto})
	}
	w.marks.sent(true)
	return nil
}
