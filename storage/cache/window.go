package cache

import (
	"sort"
	"sync/atomic"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// state is a resource at one moment: all objects and the changes that led there. It is immutable.
//
// Sequence numbers count the changes of an epoch from 1; events[i] has the number first+i.
type state struct {
	epoch  *epoch
	tree   *tree
	events []*change        // the window, oldest first; shares its array with later states
	first  uint64           // sequence number of events[0]
	last   storage.Revision // of the newest change, or of the load; every change up to it is in tree
	floor  storage.Revision // every change after it is in events
	bytes  int64            // held by events only
	dead   int64            // held by dropped changes that the array of events still refers to
	churn  int64            // bytes of all objects replaced since the load
	stored int64            // bytes of the entries in tree
	broken int              // objects that cannot be decoded

	all atomic.Pointer[[]*Object] // the objects in key order, made by the first list of all
}

// next returns a copy of s to be changed and published.
func (s *state) next() *state {
	return &state{epoch: s.epoch, tree: s.tree, events: s.events, first: s.first, last: s.last, floor: s.floor,
		bytes: s.bytes, dead: s.dead, churn: s.churn, stored: s.stored, broken: s.broken}
}

// end is the sequence number that the next change will get.
func (s *state) end() uint64 { return s.first + uint64(len(s.events)) }

// change is one change of one object. obj is nil if it was deleted, prev if it was created.
type change struct {
	rev       storage.Revision
	key       string
	obj, prev *Object
	at        int64 // when it was published, Unix seconds
	last      atomic.Pointer[Object]
}

// gone returns the previous state at the revision of the change, as watchers see a deletion. All share one object.
func (ch *change) gone() *Object {
	if o := ch.last.Load(); o != nil {
		return o
	}
	ch.last.CompareAndSwap(nil, ch.prev.At(ch.rev))
	return ch.last.Load()
}

// hidden reports whether nobody can tell whom the change concerns, because the object cannot be read or could not before.
func (ch *change) hidden() bool {
	return ch.obj != nil && ch.obj.broken || ch.prev != nil && ch.prev.broken
}

// size is what only the window holds of a change.
func (ch *change) size() int64 {
	n := int64(128)
	if ch.prev != nil {
		n += ch.prev.size()
	}
	if ch.obj == nil {
		n += int64(len(ch.prev.data)) // gone
	}
	return n
}

// publishLocked makes a new state from the changes. The caller holds r.mu and closes the returned cells, whose
// watchers have something to see.
func (r *Resource) publishLocked(e *epoch, changes []*change) []*cell {
	old := e.state.Load()
	next := old.next()
	now := time.Now()
	for _, ch := range changes {
		if ch.rev <= r.mu.base {
			continue // the load has seen it
		}
		if ch.obj != nil {
			ch.prev, _ = r.mu.tree.Set(ch.key, ch.obj)
		} else if ch.prev, _ = r.mu.tree.Delete(ch.key); ch.prev == nil {
			continue
		}
		r.closeKeptLocked(ch.rev)
		ch.at = now.Unix()
		next.add(ch)
	}
	if next.end() == old.end() {
		return nil
	}
	next.tree = r.mu.tree.IsoCopy()
	next.shrink(&r.c.cfg, now)
	r.shelf.stored.Store(next.stored)
	return e.publish(next, old.end())
}

// add appends a change. Earlier states do not look behind the length of their own events.
func (s *state) add(ch *change) {
	if ch.prev != nil {
		s.churn += ch.prev.size()
	}
	s.count(ch.prev, ch.obj)
	s.last = max(s.last, ch.rev)
	s.bytes += ch.size()
	s.events = append(s.events, ch)
}

// count notes that obj took the place of prev, each nil for none.
func (s *state) count(prev, obj *Object) {
	if prev != nil {
		s.stored -= int64(len(prev.data))
		if prev.broken {
			s.broken--
		}
	}
	if obj != nil {
		s.stored += int64(len(obj.data))
		if obj.broken {
			s.broken++
		}
	}
}

// minWindow is how many changes are remembered however old they are.
const minWindow = 100

// shrink drops changes from the old end of the window while it is beyond its bounds.
func (s *state) shrink(cfg *Config, now time.Time) {
	old := now.Add(-cfg.WindowAge).Unix()
	drop, before := 0, s.bytes
	for n := len(s.events); n > 0; n-- {
		ch := s.events[drop]
		if n <= cfg.WindowEvents && s.bytes <= cfg.WindowBytes && (n <= minWindow || ch.at >= old) {
			break
		}
		s.bytes -= ch.size()
		s.floor = ch.rev
		drop++
	}
	if drop == 0 {
		return
	}
	// Changes of one revision come and go together.
	for drop < len(s.events) && s.events[drop].rev == s.floor {
		s.bytes -= s.events[drop].size()
		drop++
	}
	s.first += uint64(drop)
	s.events = s.events[drop:]
	if s.dead += before - s.bytes; s.dead > cfg.WindowBytes/2 {
		s.copyEvents()
	}
}

// copyEvents moves the window to an array of its own, which releases the dropped changes.
func (s *state) copyEvents() {
	s.events = append(make([]*change, 0, len(s.events)+len(s.events)/4+16), s.events...)
	s.dead = 0
}

// trim shrinks what a resource that may have become quiet keeps: window, snapshots, forms and the history before the
// window. The array of the window is copied, so that the dropped changes are released.
func (r *Resource) trim(now time.Time) {
	r.shelf.trim()
	if e := r.epoch.Load(); e != nil {
		e.history.trim(now)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropKeptLocked(now)
	e := r.epoch.Load()
	if e == nil {
		return
	}
	old := e.state.Load()
	next := old.next()
	next.shrink(&r.c.cfg, now)
	if next.dead > 0 {
		next.copyEvents()
	}
	if next.first != old.first || old.dead > 0 {
		next.all.Store(old.all.Load())
		e.publish(next, next.end())
	}
	e.dropSnapshots(next.first)
}

// seqAfter returns the sequence number of the first change after rev, which must be at least floor.
func (s *state) seqAfter(rev storage.Revision) uint64 {
	return s.first + uint64(firstAfter(s.events, rev))
}

// firstAfter returns the index of the first change after rev.
func firstAfter(changes []*change, rev storage.Revision) int {
	return sort.Search(len(changes), func(i int) bool { return changes[i].rev > rev })
}
