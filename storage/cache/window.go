package cache

import (
	"sort"
	"sync/atomic"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// A state is an immutable picture of a resource: the tree of objects and the window of recent
// changes. publishLocked makes the next state from a batch of changes; Cache.run reaches it through
// Resource.ingest, and a load through Resource.begin. Lists read the tree, watchers read the
// window.
//
// States share the array of the window: a later state appends behind the length of the earlier one,
// or begins further on in the array.

// state is a resource at one moment: all objects and the changes that led there. It is immutable.
//
// Sequence numbers count the changes of an epoch from 1. events[i] has the number first+i.
type state struct {
	epoch  *epoch
	tree   *tree
	events []*change        // the window, oldest first; shares its array with later states
	first  uint64           // sequence number of events[0]
	last   storage.Revision // of the newest change, or of the load; every change up to it is in tree
	floor  storage.Revision // every change after it is in events
	bytes  int64            // estimated bytes that only events hold
	dead   int64            // estimated bytes of dropped changes to which the array of events still refers
	churn  int64            // bytes of all objects replaced since the load
	stored int64            // bytes of the entries in tree
	broken int              // objects in tree that cannot be read

	all atomic.Pointer[[]*Object] // the objects in key order, made by the first list of all
}

// next returns a copy of s for its successor, without the list of all objects.
func (s *state) next() *state {
	return &state{epoch: s.epoch, tree: s.tree, events: s.events, first: s.first, last: s.last, floor: s.floor,
		bytes: s.bytes, dead: s.dead, churn: s.churn, stored: s.stored, broken: s.broken}
}

// end returns the sequence number that the next change will get.
func (s *state) end() uint64 { return s.first + uint64(len(s.events)) }

// change is one change of one object. obj is nil if it was deleted, prev if it was created.
type change struct {
	rev       storage.Revision
	key       string
	obj, prev *Object
	at        int64                  // when it was published, Unix seconds
	last      atomic.Pointer[Object] // of a deletion, made by gone
}

// gone returns the previous state at the revision of the change, which is what watchers get as the
// object of a deletion. All watchers share one object.
func (ch *change) gone() *Object {
	if o := ch.last.Load(); o != nil {
		return o
	}
	ch.last.CompareAndSwap(nil, ch.prev.At(ch.rev))
	return ch.last.Load()
}

// hidden reports whether the object cannot be read or could not be read before the change. Then
// nobody can tell which labels and fields it has or had, and so which watchers the change concerns.
func (ch *change) hidden() bool {
	return ch.obj != nil && ch.obj.broken || ch.prev != nil && ch.prev.broken
}

// size estimates the bytes that only the window holds for a change: the change, the previous state
// and, of a deletion, the copy that gone makes.
func (ch *change) size() int64 {
	n := int64(128)
	if ch.prev != nil {
		n += ch.prev.size()
	}
	if ch.obj == nil {
		n += int64(len(ch.prev.data)) // the copy that gone makes
	}
	return n
}

// publishLocked makes a new state from changes and publishes it. It skips changes that the load has
// seen, and deletions of keys that are not there. The caller holds r.mu, and closes the returned
// cells once it has released r.mu: their watchers have something to look at.
func (r *Resource) publishLocked(e *epoch, changes []*change) []*cell {
	old := e.state.Load()
	next := old.next()
	now := time.Now()
	for _, ch := range changes {
		if ch.rev <= r.mu.base {
			continue // the loaded tree includes it
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

// add appends a change to a state that is not yet published. Earlier states share the array of
// events and do not look behind their own length.
func (s *state) add(ch *change) {
	if ch.prev != nil {
		s.churn += ch.prev.size()
	}
	s.count(ch.prev, ch.obj)
	s.last = max(s.last, ch.rev)
	s.bytes += ch.size()
	s.events = append(s.events, ch)
}

// count updates the totals of s when obj replaces prev. Each is nil for no object.
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

// minWindow is the number of changes that the window keeps however old they are.
const minWindow = 100

// shrink drops the oldest changes while the window is beyond one of its bounds. It moves floor to
// the newest dropped revision, and drops the changes of one revision together, so that the window
// never begins within a revision.
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
	// The window keeps no part of a revision.
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

// copyEvents moves the window to a new array, which releases the dropped changes.
func (s *state) copyEvents() {
	s.events = append(make([]*change, 0, len(s.events)+len(s.events)/4+16), s.events...)
	s.dead = 0
}

// trim shrinks what a quiet resource keeps: window, snapshots, forms and the history before the
// window. It copies the array of the window, so that the dropped changes are released, and takes
// the initial state from watchers that are too slow. The janitor calls it.
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

// seqAfter returns the sequence number of the first change after rev. rev must be at least floor.
func (s *state) seqAfter(rev storage.Revision) uint64 {
	return s.first + uint64(firstAfter(s.events, rev))
}

// firstAfter returns the index of the first change after rev, which is len(changes) if there is
// none.
func firstAfter(changes []*change, rev storage.Revision) int {
	return sort.Search(len(changes), func(i int) bool { return changes[i].rev > rev })
}
