package cache

import (
	"context"

	"github.com/coracle-project/coracle/storage"
)

// Position is a position in the history of a resource. It serves a reader that derives something
// from all objects and checks whether the derived thing is still up to date each time it uses it. A
// Position costs nothing between two checks. The zero Position is before everything.
type Position struct {
	epoch *epoch
	seq   uint64           // sequence number of the next change to take in
	rev   storage.Revision // every change up to here has been taken in
}

// Revision returns a revision up to which the reader has taken in every change, and after which it
// has taken in none.
func (p Position) Revision() storage.Revision { return p.rev }

// Changed is the newest state of the object at a key. Object is nil if the object has been deleted.
type Changed struct {
	Key    string
	Object *Object
}

// Holds reports whether a reader at p has taken in every change that this server has seen, and
// every write that this server has answered. It takes no lock.
func (r *Resource) Holds(p Position) bool {
	// seen is read before the epoch and its state, which then have every change up to seen. If it
	// were read last, it could count a change that came after the state was read.
	seen := r.c.seen.now()
	e := r.epoch.Load()
	if e == nil || e != p.epoch {
		return false
	}
	s := e.state.Load()
	return s.end() == p.seq && uint64(max(s.last, seen)) >= r.answered.Load()
}

// Reloads reports whether the resource has to be loaded again, because the watch on the store was
// lost, while a reader at p has taken in every write that this server has answered, and everything
// that it has read from the store since. If so, Reloads starts the load and does not wait for it.
func (r *Resource) Reloads(p Position) bool {
	return p.epoch != nil && r.epoch.Load() == nil && uint64(p.rev) >= r.answered.Load() && r.warm()
}

// ChangesSince returns the changes after p, in order, and the Position behind them. If whole is
// true, p is before the window, or of an earlier load, and the result is all objects instead.
// Objects that cannot be read are included; see Object.Err.
//
// It waits until this server has seen revision least and every write that it has answered.
func (r *Resource) ChangesSince(
	ctx context.Context, p Position, least storage.Revision,
) (changes []Changed, whole bool, next Position, err error) {
	s, rev, err := r.at(ctx, Want{Match: NotOlderThan, Rev: max(least, storage.Revision(r.answered.Load()))})
	if err != nil {
		return nil, false, p, err
	}
	next = Position{s.epoch, s.end(), rev}
	if s.epoch == p.epoch && p.seq >= s.first {
		for _, ch := range s.events[p.seq-s.first:] {
			changes = append(changes, Changed{ch.key, ch.obj})
		}
		return changes, false, next, nil
	}
	s.tree.Scan(func(key string, o *Object) bool {
		changes = append(changes, Changed{key, o})
		return true
	})
	return changes, true, next, nil
}

// CatchUp waits until this server has seen every write that was acknowledged before the call.
func (r *Resource) CatchUp(ctx context.Context) error {
	_, _, err := r.at(ctx, Want{})
	return err
}

// answer notes that a client is about to learn of revision rev, as the result of a write, or of a
// read that the store answers because the objects are not loaded. The store also answers reads when
// the cache is behind. They are not noted, because the cache may be behind for long, and whoever
// asks for changes would wait as long.
func (r *Resource) answer(rev storage.Revision) {
	for old := r.answered.Load(); uint64(rev) > old && !r.answered.CompareAndSwap(old, uint64(rev)); {
		old = r.answered.Load()
	}
}
