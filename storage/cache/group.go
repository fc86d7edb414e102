package cache

import (
	"strings"
	"sync/atomic"
)

// Watchers that the same changes concern form a group, and sleep on one channel. For each batch
// publish finds the groups that the batch concerns, by prefix, key and field value, and wakes no
// others. publishLocked (window.go) and trim call publish; Watch and Watcher.Close call join and
// leave.

// groupKey names the watchers that the same changes concern: those of one key, of all keys under a
// prefix, or of the objects under a prefix with one value in a selectable field.
type groupKey struct {
	prefix       string // ends in "/"; or a key
	field, value string // of ResourceConfig.GroupBy; field is "" for none
}

// group is the watchers of one groupKey. They share a cell to wait on.
//
// A batch wakes only the groups that it concerns. So the position of a sleeping watcher falls
// behind although it misses nothing, and the window may move past the position. The cells tell the
// watcher where to go on: no change between the moment at which it had seen everything and
// cell.from concerns it, nor any change between cell.upto and the from of the next cell. A watcher
// that wakes late therefore looks at the changes between from and upto, and at none of the others.
type group struct {
	cell atomic.Pointer[cell]

	// Guarded by epoch.mu.

	refs       int    // watchers in the group
	from, upto uint64 // see cell, for the batch being published; from is 0 if the batch does not concern the group
}

// cell is one wait of a group. It ends with the first batch that concerns the group.
type cell struct {
	number uint64        // counts the cells of a group, from 0
	woken  chan struct{} // closed once the batch has been published
	// from is the sequence number of the batch's first change that concerns the group; 0 while no
	// batch has concerned it. It is set before the batch is published.
	from atomic.Uint64
	upto uint64 // sequence number behind the last such change; set before from
}

func newCell(number uint64) *cell { return &cell{number: number, woken: make(chan struct{})} }

// publish makes next the present state. since is the sequence number of the first change that the
// state before did not have. publish returns the cells of the groups that the new changes concern;
// the caller closes them.
//
// epoch.mu orders publish and join: a watcher that joins either finds the cell of its group marked
// here or sees the new state.
func (e *epoch) publish(next *state, since uint64) []*cell {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case len(e.mu.groups) == 0:
	case next.first > since: // some new changes have been dropped already: all watchers must look
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

// endCell gives the group a new cell and returns the old one, which the caller closes.
func (g *group) endCell() *cell {
	c := g.cell.Load()
	g.cell.Store(newCell(c.number + 1))
	return c
}

// markLocked notes that the change with the number seq concerns g. g may be nil: there is no such
// group.
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

// concernLocked marks the groups that a change concerns. For the key /registry/pods/ns/name these
// are the group of that key, and those of /registry/pods/ and /registry/pods/ns/, without a field
// and with each field value that the object has or had.
func (e *epoch) concernLocked(ch *change, seq uint64) {
	if ch.hidden() { // its fields are unknown: it concerns all groups that it may belong to
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

// concernFieldsLocked marks the groups under prefix whose field value the object has or had.
func (e *epoch) concernFieldsLocked(prefix string, ch *change, seq uint64) {
	for _, field := range e.groupBy {
		is, has := ch.obj.field(field)
		if has {
			e.markLocked(e.mu.groups[groupKey{prefix, field, is}], seq)
		}
		if was, had := ch.prev.field(field); had && !(has && was == is) { // the object leaves that group
			e.markLocked(e.mu.groups[groupKey{prefix, field, was}], seq)
		}
	}
}

// field returns the value of a selectable field and whether the object has it. o may be nil.
func (o *Object) field(key string) (string, bool) {
	if o == nil {
		return "", false
	}
	return o.Fields.Get(key)
}

// join adds w to the group of its key, and makes the group if there is none.
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

// leave removes w from its group, and removes the group if w was the last.
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

// wakeAll wakes all watchers of an epoch that has ended. They find the error in epoch.end.
func (e *epoch) wakeAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, g := range e.mu.groups {
		close(g.endCell().woken)
	}
}

// dropSnapshots takes the initial state from watchers that are still sending it while the window
// has moved past their position: first is the number with which the window begins. These watchers
// could not go on after the initial state, which costs memory until then. Their next call of Next
// returns Compacted.
func (e *epoch) dropSnapshots(first uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for w := range e.mu.watchers {
		if w.pos.Load() < first {
			w.initial.Store(nil)
		}
	}
}
