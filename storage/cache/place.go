package cache

import (
	"context"

	"github.com/coracle-project/coracle/storage"
)

// Place is a place in the history of a resource, for a reader that keeps something made of all objects and looks whether it still
// holds whenever it is used. It costs nothing between two looks. The zero Place is before everything.
type Place struct {
	epoch *epoch
	seq   uint64           // of the next change to take in
	rev   storage.Revision // everything up to here has been taken in
}

// Revision is one up to which everything has been taken in, and no change after it.
func (p Place) Revision() storage.Revision { return p.rev }

// Changed is what has become of the object at a key. Object is nil if it is gone.
type Changed struct {
	Key    string
	Object *Object
}

// Holds reports whether a reader at p has taken in all that this server knows of, and all that was written through it and answered.
// It takes no lock.
func (r *Resource) Holds(p Place) bool {
	e := r.epoch.Load()
	if e == nil || e != p.epoch {
		return false
	}
	s := e.state.Load()
	return s.end() == p.seq && (uint64(s.last) >= r.answered.Load() || uint64(r.c.seen.now()) >= r.answered.Load())
}

// Reloads reports whether the objects are to be loaded again, because the store's watch was lost, and a reader at p has taken in all
// that was written through this server. It has them loaded, and does not wait for that.
func (r *Resource) Reloads(p Place) bool {
	return p.epoch != nil && r.epoch.Load() == nil && uint64(p.rev) >= r.answered.Load() && r.warm()
}

// Since returns what has changed after p, in order, and the place behind that. If whole is set, p is too far back, and what is
// returned is all there is. Objects that cannot be read are among them; see Object.Err.
//
// It waits until this server has seen revision least, and what was written through it.
func (r *Resource) Since(ctx context.Context, p Place, least storage.Revision) (changes []Changed, whole bool, next Place, err error) {
	s, rev, err := r.at(ctx, Want{Match: NotOlderThan, Rev: max(least, storage.Revision(r.answered.Load()))})
	if err != nil {
		return nil, false, p, err
	}
	next = Place{s.epoch, s.end(), rev}
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

// CatchUp waits until this server has seen every write acknowledged before.
func (r *Resource) CatchUp(ctx context.Context) error {
	_, _, err := r.at(ctx, Want{})
	return err
}

// answer notes that a client is about to learn of revision rev of an object.
func (r *Resource) answer(rev storage.Revision) {
	for old := r.answered.Load(); uint64(rev) > old && !r.answered.CompareAndSwap(old, uint64(rev)); {
		old = r.answered.Load()
	}
}
