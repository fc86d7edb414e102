package cache

import (
	"strings"
	"sync/atomic"
)

// groupKey names the watchers that the same changes concern: those of one key, of all keys with a prefix, or of the
// objects under a prefix that have a value in a selectable field.
type groupKey struct {
	prefix       string // or key
	field, value string // of ResourceConfig.GroupBy; field is "" for none
}

// group is the watchers of one groupKey. They share a cell to wait on.
//
// Only the groups that a change concerns are woken. Therefore a sleeping watcher's position falls behind although it
// misses nothing, and the window may move past it. The cells tell it where to go on: nothing between the moment it had
// seen everything and cell.from concerns it, nor anything between cell.upto and the next cell's from. So one that wakes
// late looks at what concerns it, not at what has happened to others meanwhile.
type group struct {
	cell atomic.Pointer[cell]

	// Guarded by epoch.mu.

	refs       int
	from, upto uint64 // of the batch being published; 0 if it does not concern the group
}

// cell is one wait of a group. It ends with the first batch that concerns the group.
type cell struct {
	number uint64        // of the cells of a group, counted from 0
	woken  chan struct{} // closed once the batch has been published
	// from is the sequence number of the first change of the batch for the group; 0 if there has been no such batch.
	// It is set before the batch is published.
	from atomic.Uint64
	upto uint64 // behind the last such change; set before from
}

func newCell(number uint64) *cell { return &cell{number: number, woken: make(chan struct{})} }

// publish shows next to readers. since is the number of its first new change. It returns the cells to be closed.
//
// epoch.mu makes this and the joining of a group one after the other: a watcher either finds its group's cell marked
// here or sees the new state.
func (e *epoch) publish(next *state, since uint64) []*cell {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case len(e.mu.groups) == 0:
	case next.first > since: // new changes have been dropped already: all must look
		for _, g := range e.mu.groups {
			e.markLocked(g, since)
		}
	default:
		for seq := since; seq < next.end(); seq++ {
			e.concernLocked(next.events[seq-next.first], seq)
		}
	}
	for _, g := range e.mu.concerned {
		c := g.cell.Load()
		c.upto = g.upto
		c.from.Store(g.from)
		g.from = 0
	}
	e.state.Store(next)
	if len(e.mu.concerned) == 0 {
		return nil
	}
	cells := make([]*cell, len(e.mu.concerned))
	for i, g := range e.mu.concerned {
		cells[i] = g.endCell()
	}
	clear(e.mu.concerned)
	e.mu.concerned = e.mu.concerned[:0]
	return cells
}

// endCell replaces the cell and returns it to be closed.
func (g *group) endCell() *cell {
	c := g.cell.Load()
	g.cell.Store(newCell(c.number + 1))
	return c
}

// markLocked notes that the change seq of the batch concerns g, if there is such a group.
func (e *epoch) markLocked(g *group, seq uint64) {
	if g == nil {
		return
	}
	if g.from == 0 {
		g.from = seq
		e.mu.concerned = append(e.mu.concerned, g)
	}
	g.upto = seq + 1
}

// concernLocked marks the groups that a change concerns: of its key, and at each level of prefixes those of the level and
// of the fields that the object has or had.
func (e *epoch) concernLocked(ch *change, seq uint64) {
	if ch.hidden() { // nobody knows what it is, or was: it ends all watches that it may belong to
		for key, g := range e.mu.groups {
			if key.prefix == ch.key || strings.HasSuffix(key.prefix, "/") && strings.HasPrefix(ch.key, key.prefix) {
				e.markLocked(g, seq)
			}
		}
		return
	}
	e.markLocked(e.mu.groups[groupKey{prefix: ch.key}], seq)
	for i := e.prefix; ; i++ {
		n := strings.IndexByte(ch.key[i:], '/')
		if n < 0 {
			return
		}
		i += n
		prefix := ch.key[:i+1]
		e.markLocked(e.mu.groups[groupKey{prefix: prefix}], seq)
		if e.mu.byField > 0 {
			e.concernFieldsLocked(prefix, ch, seq)
		}
	}
}

func (e *epoch) concernFieldsLocked(prefix string, ch *change, seq uint64) {
	for _, field := range e.groupBy {
		is, has := ch.obj.field(field)
		if has {
			e.markLocked(e.mu.groups[groupKey{prefix, field, is}], seq)
		}
		if was, had := ch.prev.field(field); had && !(has && was == is) { // it leaves that group
			e.markLocked(e.mu.groups[groupKey{prefix, field, was}], seq)
		}
	}
}

// field returns a selectable field of an object, which may be nil.
func (o *Object) field(key string) (string, bool) {
	if o == nil {
		return "", false
	}
	return o.Fields.Get(key)
}

// join enters the watcher's group.
func (e *epoch) join(w *Watcher) *group {
	e.mu.Lock()
	defer e.mu.Unlock()
	g := e.mu.groups[w.key]
	if g == nil {
		g = &group{}
		g.cell.Store(newCell(0))
		e.mu.groups[w.key] = g
		if w.key.field != "" {
			e.mu.byField++
		}
	}
	g.refs++
	e.mu.watchers[w] = struct{}{}
	return g
}

func (e *epoch) leave(w *Watcher) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.mu.watchers, w)
	g := e.mu.groups[w.key]
	if g == nil {
		return
	}
	if g.refs--; g.refs == 0 {
		delete(e.mu.groups, w.key)
		if w.key.field != "" {
			e.mu.byField--
		}
	}
}

// wakeAll wakes all watchers, which see that the epoch has ended.
func (e *epoch) wakeAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, g := range e.mu.groups {
		close(g.endCell().woken)
	}
}

// dropSnapshots takes the initial state from watchers that have fallen behind the window while they send it.
func (e *epoch) dropSnapshots(first uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for w := range e.mu.watchers {
		if w.pos.Load() < first {
			w.initial.Store(nil)
		}
	}
}
