package cache

import (
	"context"
	"errors"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// Reads of single objects, and the choice of a state for all reads (at). A Want says how fresh a
// read must be; at waits until the cache has seen enough. If the cache cannot serve a read, the
// store does (getStore, and listStore in liststore.go).

// Match says which states of the store satisfy a read; see resourceVersionMatch in the Kubernetes
// API.
type Match uint8

// These are the values of Match.
const (
	Consistent   Match = iota // every write acknowledged before the read began
	Any                       // any state that the store has had
	NotOlderThan              // Want.Rev or later
	Exact                     // exactly Want.Rev
	OwnWrites                 // every write of this server acknowledged before the read began; the store is not asked
)

// Want is how fresh a read must be. The zero Want is Consistent.
type Want struct {
	Rev   storage.Revision // used by NotOlderThan and Exact
	Match Match
}

// least returns the revision of NotOlderThan, else 0.
func (w Want) least() storage.Revision {
	if w.Match == NotOlderThan {
		return w.Rev
	}
	return 0
}

// errBehind says that the cache did not reach a revision of the store within MaxWait, or that the
// store did not reach a revision that the cache has seen.
var errBehind error = &storage.Error{Op: "read", Kind: storage.Unavailable,
	Err: errors.New("cache and store are too far apart")}

// at returns a state that satisfies want, and its revision. For Exact the state may be newer than
// want. It waits up to MaxWait for the cache to see the revision. Errors: Future, errBehind.
func (r *Resource) at(ctx context.Context, want Want) (*state, storage.Revision, error) {
	rev := want.Rev
	switch want.Match {
	case Any:
		rev = 0
	case OwnWrites:
		rev = storage.Revision(r.c.acked.Load())
	case Consistent:
		var err error
		if rev, err = r.c.Revision(ctx); err != nil {
			return nil, 0, err
		}
	}
	var deadline time.Time
	for {
		// seen is read before the state: every change up to seen is in the state then.
		seen := r.c.seen.now()
		s, err := r.current(ctx)
		if err != nil {
			return nil, 0, err
		}
		if now := max(seen, s.last); now >= rev {
			return s, now, nil
		}
		if deadline.IsZero() {
			deadline = time.Now().Add(r.c.cfg.MaxWait)
		}
		began := time.Now()
		reached, err := r.c.seen.wait(ctx, rev, time.Until(deadline))
		r.c.waited(ctx, began)
		switch {
		case err != nil:
			return nil, 0, err
		case reached:
		case r.c.ctx.Err() != nil:
			return nil, 0, closed("read", r.cfg.Prefix)
		default:
			return nil, 0, r.lateError(ctx, want, rev)
		}
	}
}

// lateError returns the error of a read whose revision the cache has not seen in time: Future if
// the store has not reached it either, else errBehind.
func (r *Resource) lateError(ctx context.Context, want Want, rev storage.Revision) error {
	if want.Match == Consistent || want.Match == OwnWrites {
		return errBehind
	}
	now, err := r.c.Revision(ctx)
	if err != nil {
		return err
	}
	if now >= rev {
		return errBehind
	}
	return &storage.Error{Op: "read", Key: r.cfg.Prefix, Kind: storage.Future, Rev: now}
}

// Get returns the object at key. Errors: NotFound (Error.Rev is the revision that was read), Future
// (Error.Rev is the present revision), Compacted (Exact only), Corrupt (the object cannot be read).
func (r *Resource) Get(ctx context.Context, key string, want Want) (*Object, error) {
	if want.Match == Exact {
		list, err := r.List(ctx, ListOptions{Prefix: r.cfg.Prefix, Only: key, Want: want})
		return list.one(key, err)
	}
	if cold, err := r.cold(ctx, want); err != nil {
		return nil, err
	} else if cold {
		return r.getStore(ctx, key, want)
	}
	s, rev, err := r.at(ctx, want)
	if err == errBehind {
		r.fellBack(Behind)
		return r.getStore(ctx, key, want)
	}
	if err != nil {
		return nil, err
	}
	o, ok := s.tree.Get(key)
	if !ok {
		return nil, notFound(key, rev)
	}
	if o.broken && r.mayBeReadable() {
		r.fellBack(Unreadable)
		return r.getStore(ctx, key, want)
	}
	if o.broken {
		return nil, o.Err()
	}
	return o, nil
}

// getStore is Get, answered by the store. A read that names a least revision uses a range, because
// only a range returns the revision that was read.
func (r *Resource) getStore(ctx context.Context, key string, want Want) (*Object, error) {
	if want.least() == 0 {
		loading := r.epoch.Load() == nil // before the read, which may show more than the load that ends meanwhile
		o, err := r.fetch(ctx, key)
		if loading {
			r.answer(revOf(o))
			if absent, ok := errors.AsType[*storage.Error](err); ok && absent.Kind == storage.NotFound {
				r.answer(absent.Rev)
			}
		}
		return o, err
	}
	list, err := r.listStore(ctx, ListOptions{Prefix: r.cfg.Prefix, Only: key, Want: want}, false)
	return list.one(key, err)
}

// one returns the only object of a list of key, or NotFound at the list's revision.
func (l List) one(key string, err error) (*Object, error) {
	switch {
	case err != nil:
		return nil, err
	case len(l.Objects) == 0:
		return nil, notFound(key, l.Rev)
	}
	return l.Objects[0], nil
}

// Exists returns the revision of the object at key, or 0 if there is none. The read is consistent,
// and succeeds for an object that cannot be decoded.
func (r *Resource) Exists(ctx context.Context, key string) (storage.Revision, error) {
	if cold, err := r.cold(ctx, Want{}); err != nil {
		return 0, err
	} else if cold {
		return r.exists(ctx, key)
	}
	s, _, err := r.at(ctx, Want{})
	if err == errBehind {
		r.fellBack(Behind)
		return r.exists(ctx, key)
	}
	if err != nil {
		return 0, err
	}
	if o, ok := s.tree.Get(key); ok {
		return o.Rev, nil
	}
	return 0, nil
}

// exists is Exists, answered by the store.
func (r *Resource) exists(ctx context.Context, key string) (storage.Revision, error) {
	entry, err := r.read(ctx, key)
	if errors.Is(err, storage.NotFound) {
		return 0, nil
	}
	return entry.Rev, err
}

// Preview returns the object that value would become if it were stored, without a revision. It
// stores nothing.
func (r *Resource) Preview(key string, value []byte) (*Object, error) {
	d, err := r.peekWritten(key, value)
	if err != nil {
		return nil, err
	}
	return newObject(key, 0, &d), nil
}

// fetch reads key from the store. It returns the cache's object if that is the same or newer, and
// decodes the entry otherwise.
func (r *Resource) fetch(ctx context.Context, key string) (*Object, error) {
	if r.closed.Load() {
		return nil, closed("get", key)
	}
	entry, err := r.read(ctx, key)
	if err != nil {
		return nil, err
	}
	// A fresh object is not good enough for a stale entry: its encryption key may have become old
	// since it was cached.
	if o := r.guess(key); o != nil && (o.Rev > entry.Rev || o.Rev == entry.Rev && (o.stale || !entry.Stale)) {
		return o, nil
	}
	o := r.decode(entry)
	if o.broken {
		return nil, o.Err()
	}
	return o, nil
}

// read returns the entry of key from the store. If the answer is older than what this cache has
// shown, read reads again at a revision that includes everything shown, because the caller could
// otherwise take an object that a watcher has just reported for deleted. A store that keeps the
// laws of package storage never answers so; if a store breaks them, reads cost more time but stay
// correct.
func (r *Resource) read(ctx context.Context, key string) (storage.Entry, error) {
	known, least := r.c.newestShown(), r.least(key)
	entry, err := r.c.store.Get(ctx, key)
	var gone *storage.Error
	absent := errors.As(err, &gone) && gone.Kind == storage.NotFound
	if absent && gone.Rev >= known || !absent && (err != nil || entry.Rev >= least) {
		return entry, err
	}
	res, err := r.c.readOne(ctx, storage.RangeRequest{Prefix: r.cfg.Prefix}, key, known)
	switch {
	case err != nil:
		return storage.Entry{}, err
	case len(res.Entries) == 0:
		return storage.Entry{}, notFound(key, res.Rev)
	}
	return res.Entries[0], res.Entries[0].Err
}

// least returns the lowest revision that an entry of key can have after everything that this cache
// has shown: that of the object in the state, or a revision after the state if the key is absent
// there. It is 0 if the resource is not loaded.
func (r *Resource) least(key string) storage.Revision {
	seen := r.c.seen.now() // read before the state: every change up to seen is in the state then
	e := r.epoch.Load()
	if e == nil {
		return 0
	}
	if o, ok := e.state.Load().tree.Get(key); ok {
		return o.Rev
	}
	return seen + 1
}

// guess returns the newest state of key that this cache has, without asking the store: the present
// object or that of an own write whose event has not come yet. It returns nil if there is none or
// the object cannot be read.
func (r *Resource) guess(key string) *Object {
	var o *Object
	if e := r.epoch.Load(); e != nil {
		o, _ = e.state.Load().tree.Get(key)
	}
	if own := r.writes.latest(key); own != nil && (o == nil || own.Rev > o.Rev) {
		return own
	}
	if o != nil && o.broken {
		return nil
	}
	return o
}

// notFound returns the error of a read of an absent key. rev is the revision at which it was
// absent, 0 if unknown.
func notFound(key string, rev storage.Revision) error {
	return &storage.Error{Op: "get", Key: key, Kind: storage.NotFound, Rev: rev}
}
