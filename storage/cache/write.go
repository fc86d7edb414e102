package cache

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// Writes through the cache: create, update and delete. They guess the present state from the cache,
// write with the guessed revision as the precondition, and read from the store when the guess was
// wrong. If the store does not know whether a write was applied (InDoubt), they find out from the
// store and from the window. The registry's handlers call these methods.

// UpdateOptions changes how Update works. The zero value updates an object that exists.
type UpdateOptions struct {
	// AllowCreate creates the object if it does not exist; the function is then called with nil.
	// Without it Update returns NotFound.
	AllowCreate bool
	// DryRun reads the store's present state, calls the function and writes nothing. The result has
	// the present revision, or none if the object would be created.
	DryRun bool
	// Put returns the options for the value that the function returned last. If Put is nil, they
	// are the zero PutOptions.
	Put func() PutOptions
}

// PutOptions change how a value is stored.
type PutOptions struct {
	// Form is the form (Object.Stored) of the value, whatever DecodeFunc says; 0 leaves the form to
	// DecodeFunc.
	Form uint32
	// Fence must hold when the value is stored; see storage.Fence. A write of nothing, because the
	// value changes nothing or in a dry run, does not look at it.
	Fence storage.Fence
}

// UpdateFunc makes the new stored value of an object from its present state, which is nil if the
// object does not exist. It is called again if the state turns out to be stale, so it must have no
// effect but its result.
type UpdateFunc func(cur *Object) (value []byte, lease storage.LeaseID, err error)

// DeleteOptions changes how Delete works. The zero value deletes the object at any revision.
type DeleteOptions struct {
	// Rev, if not 0, is the revision that the object must have. At another revision Delete returns
	// Conflict.
	Rev storage.Revision
}

// maxDoubt is how many times a write is tried if its outcome is unknown each time.
const maxDoubt = 3

// Create stores a new object. Errors: Exists, TooLarge, InDoubt (the write may have been applied,
// and reading did not tell), or the decoder's.
func (r *Resource) Create(ctx context.Context, key string, value []byte, lease storage.LeaseID) (*Object, error) {
	return r.CreateAs(ctx, key, value, PutOptions{}, lease)
}

// CreateAs stores a new object with options. Errors: those of Create, and Fenced, after which the
// object is not stored and will not be.
func (r *Resource) CreateAs(
	ctx context.Context, key string, value []byte, opts PutOptions, lease storage.LeaseID,
) (*Object, error) {
	p, err := r.prepare(key, value, opts, lease)
	if err != nil {
		return nil, err
	}
	o, err := p.write(ctx, 0)
	r.answer(revOf(o))
	return o, err
}

// Update replaces the object at key by the value that fn makes of it. It begins with the cached
// state. If that state was stale, Update reads the state from the store and tries again, until its
// write succeeds. An error of fn is returned only if fn saw the store's present state. If the value
// does not change the object, nothing is written and the object is returned at its old revision.
// Errors: NotFound, TooLarge, Fenced (the value is not stored and will not be), InDoubt (the write
// may have been applied, and reading did not tell), or fn's.
func (r *Resource) Update(ctx context.Context, key string, opts UpdateOptions, fn UpdateFunc) (*Object, error) {
	u := &updating{r: r, key: key, opts: opts, fn: fn}
	if !opts.DryRun {
		u.cur = r.guess(key)
	}
	if u.cur == nil {
		if err := u.refresh(ctx); err != nil {
			return nil, err
		}
	}
	for {
		o, err := u.try(ctx)
		if err != errAgain {
			r.answer(revOf(o))
			return o, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// errAgain asks for another try, on the state that has been read meanwhile.
var errAgain = errors.New("again")

// updating is one call of Update or Delete.
type updating struct {
	r     *Resource
	key   string
	opts  UpdateOptions
	fn    UpdateFunc
	cur   *Object // nil if absent
	fresh bool    // cur came from the store during this call
}

// refresh reads cur from the store. An absent object is no error.
func (u *updating) refresh(ctx context.Context) error {
	cur, err := u.r.fetch(ctx, u.key)
	if err != nil && !errors.Is(err, storage.NotFound) {
		return err
	}
	u.cur, u.fresh = cur, true
	return nil
}

// confirm returns nil if cur is the store's present state, else errAgain, with the store's state in
// cur.
func (u *updating) confirm(ctx context.Context) error {
	if u.fresh {
		return nil
	}
	before := revOf(u.cur)
	if err := u.refresh(ctx); err != nil {
		return err
	}
	if revOf(u.cur) != before {
		return errAgain
	}
	return nil
}

// revOf returns the revision of o, or 0 if o is nil.
func revOf(o *Object) storage.Revision {
	if o == nil {
		return 0
	}
	return o.Rev
}

// try calls fn once and writes its value. It returns errAgain if cur was stale.
func (u *updating) try(ctx context.Context) (*Object, error) {
	if u.cur == nil && !u.opts.AllowCreate {
		return nil, notFound(u.key, 0) // cur is from the store: an absent guess is read there first
	}
	base := revOf(u.cur)
	value, lease, err := u.fn(u.cur)
	if err != nil {
		if stale := u.confirm(ctx); stale != nil {
			return nil, stale
		}
		return nil, err
	}
	var opts PutOptions
	if u.opts.Put != nil {
		opts = u.opts.Put()
	}
	p, err := u.r.prepare(u.key, value, opts, lease)
	if err != nil {
		return nil, err
	}
	if u.opts.DryRun {
		return newObject(u.key, base, &p.dec), nil
	}
	if u.cur != nil && !u.cur.stale && u.cur.same(&p.dec) {
		if err := u.confirm(ctx); err != nil {
			return nil, err
		}
		if !u.cur.stale {
			return u.cur, nil
		}
	}
	o, err := p.write(ctx, base)
	switch storage.KindOf(err) {
	case storage.Exists, storage.Conflict, storage.NotFound:
		if err := u.refresh(ctx); err != nil {
			return nil, err
		}
		return nil, errAgain
	}
	return o, err
}

// Delete deletes the object at key if check allows it; check may be nil. check gets the state that
// is about to be deleted. It is called again if that state turns out to be stale, and its error is
// returned only if it saw the store's present state. The result is the last state, at the revision
// of the deletion. Errors: NotFound, Conflict (opts.Rev), InDoubt (the deletion may have been
// applied, and reading did not tell), or check's.
func (r *Resource) Delete(
	ctx context.Context, key string, opts DeleteOptions, check func(cur *Object) error,
) (*Object, error) {
	o, err := r.remove(ctx, key, opts, check)
	r.answer(revOf(o))
	return o, err
}

// remove is Delete without answer. Each round decides on cur and asks the store to delete that
// revision. If the outcome is unknown, the round reads the key again:
//
//   - It is absent: the object is gone, by this deletion or by another one.
//   - It is unchanged: the deletion was not applied, and is tried again.
//   - It has changed: the window tells whether the change that ended cur was a deletion. If so,
//     Delete has succeeded, and a later object of the same name stays. If it was an update, the
//     next round begins with the new state.
func (r *Resource) remove(
	ctx context.Context, key string, opts DeleteOptions, check func(cur *Object) error,
) (*Object, error) {
	u := &updating{r: r, key: key, cur: r.guess(key)}
	var doubt error // error of the last deletion, until it is certain that it was not applied
	for try := 0; ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if u.cur == nil && !u.fresh {
			if err := u.refresh(ctx); err != nil {
				return nil, err
			}
		}
		if u.cur == nil {
			return nil, notFound(key, 0)
		}
		if err := u.mayDelete(ctx, opts, check); err == errAgain {
			continue
		} else if err != nil {
			return nil, err
		}
		if r.closed.Load() {
			return nil, closed("delete", key)
		}
		rev, err := r.c.store.Delete(ctx, key, storage.Pre{Rev: u.cur.Rev})
		switch storage.KindOf(err) {
		case storage.InDoubt:
			if doubt, try = err, try+1; try == maxDoubt {
				return nil, err
			}
		case storage.Conflict, storage.NotFound:
		default:
			if err != nil {
				return nil, err
			}
			r.c.acknowledged(rev)
			return u.cur.At(rev), nil
		}
		last := u.cur
		gone, err := r.lookAgain(ctx, u)
		switch {
		case doubt == nil && err != nil:
			return nil, err
		case doubt == nil:
			continue
		case err != nil:
			return nil, doubt
		case u.cur == nil:
			r.c.acknowledged(gone)
			return last.At(gone), nil // by this deletion or by a concurrent one: the object is gone either way
		case u.cur.Rev == last.Rev:
			continue
		}
		// The object was updated, or it was deleted and another object created, which must not be
		// deleted.
		ch, known := r.search(ctx, key, last.Rev, u.cur.Rev,
			func(ch *change) bool { return revOf(ch.prev) == last.Rev })
		if !known || ch == nil {
			return nil, doubt
		}
		if ch.obj == nil {
			return ch.gone(), nil
		}
		doubt = nil
	}
}

// Discard deletes the object at key, which cannot be read, if it is at revision rev. There is no
// check, because its content is unknown; its watchers get an error. Errors: NotFound, Conflict (it
// is at another revision), InDoubt.
func (r *Resource) Discard(ctx context.Context, key string, rev storage.Revision) error {
	if r.closed.Load() {
		return closed("delete", key)
	}
	gone, err := r.c.store.Delete(ctx, key, storage.Pre{Rev: rev})
	r.answer(gone)
	return err
}

// lookAgain refreshes u. If the object is absent, it returns the revision at which the store found
// it absent.
func (r *Resource) lookAgain(ctx context.Context, u *updating) (storage.Revision, error) {
	cur, err := r.fetch(ctx, u.key)
	u.cur, u.fresh = cur, true
	var e *storage.Error
	if errors.As(err, &e) && e.Kind == storage.NotFound {
		return e.Rev, nil
	}
	return 0, err
}

// mayDelete returns nil if opts and check allow to delete cur, and errAgain if they do not and cur
// was stale.
func (u *updating) mayDelete(ctx context.Context, opts DeleteOptions, check func(*Object) error) error {
	var err error
	if opts.Rev != 0 && u.cur.Rev != opts.Rev {
		err = &storage.Error{Op: "delete", Key: u.key, Kind: storage.Conflict, Rev: u.cur.Rev}
	} else if check != nil {
		err = check(u.cur)
	}
	if err == nil {
		return nil
	}
	if stale := u.confirm(ctx); stale != nil {
		return stale
	}
	return err
}

// prepared is a value that has been decoded and is ready to be written.
type prepared struct {
	r     *Resource
	key   string
	value []byte
	lease storage.LeaseID
	fence storage.Fence
	dec   Decoded
	// before is a revision that the store had reached before the first put: no change up to it is
	// this write.
	before storage.Revision
}

// prepare decodes value before it is written. So a value that cannot be read back is not stored,
// and the event of the write need not be decoded.
func (r *Resource) prepare(key string, value []byte, opts PutOptions, lease storage.LeaseID) (*prepared, error) {
	dec, err := r.peekWritten(key, value)
	if err != nil {
		return nil, err
	}
	if opts.Form != 0 {
		dec.Form = opts.Form
	}
	return &prepared{r: r, key: key, value: value, lease: lease, fence: opts.Fence, dec: dec}, nil
}

// put writes the value once. While the resource is loaded, it announces the write to own.go, so
// that the event takes its object.
func (p *prepared) put(ctx context.Context, pre storage.Pre) (*Object, error) {
	c := p.r.c
	if p.r.closed.Load() {
		return nil, closed("put", p.key)
	}
	if p.before == 0 {
		p.before = c.newestShown()
	}
	var w *write
	if p.r.epoch.Load() != nil {
		w = p.r.writes.add(p.key, p.value, p.dec)
	}
	entry, err := c.store.Put(ctx, p.key, p.value, pre, p.lease)
	switch {
	case err != nil && w != nil:
		p.r.writes.fail(w)
		// If the write was applied after all, its event may have made an object of dec, which owns
		// these slices.
		p.dec.Labels, p.dec.Fields = slices.Clone(p.dec.Labels), slices.Clone(p.dec.Fields)
		return nil, err
	case err != nil:
		return nil, err
	}
	c.acknowledged(entry.Rev)
	if w != nil {
		return p.r.writes.done(w, entry.Rev), nil
	}
	return newObject(p.key, entry.Rev, &p.dec), nil
}

// write puts the value over the state at base; 0 means absent. If the outcome is unknown, it finds
// out, and tries again if the write has not been applied. The precondition lets at most one of the
// tries succeed. Errors: those of Store.Put. Exists, Conflict and NotFound say that another write
// came first; Fenced says that no try has been applied, and none that is still on its way will be,
// as long as nobody deletes the key of the fence; InDoubt says that the outcome stays unknown.
func (p *prepared) write(ctx context.Context, base storage.Revision) (*Object, error) {
	var doubt error
	for try := 1; ; try++ {
		o, err := p.put(ctx, storage.Pre{Absent: base == 0, Rev: base, Fence: p.fence})
		inDoubt := false
		switch storage.KindOf(err) {
		case storage.InDoubt:
			if doubt, inDoubt = err, true; try == maxDoubt {
				return nil, err
			}
		case storage.Exists, storage.Conflict, storage.NotFound, storage.Fenced:
			if doubt == nil {
				return nil, err
			}
		default:
			return o, err
		}
		// This try or an earlier one may have been applied.
		own, known := p.settle(ctx, base, inDoubt)
		switch {
		case own != nil:
			return own, nil
		case !known:
			return nil, doubt
		case !inDoubt:
			return nil, err
		}
	}
}

// settle finds out whether a write over the state at base (0: absent) has been applied, and returns
// its object if so. known is false if that stays unknown. again says that the write is tried again
// if it has not been applied.
func (p *prepared) settle(ctx context.Context, base storage.Revision, again bool) (own *Object, known bool) {
	cur, err := p.r.fetch(ctx, p.key)
	now := revOf(cur)
	var gone *storage.Error
	switch {
	case err == nil && p.wrote(cur):
		return cur, true
	case err == nil && now <= p.before: // the state is older than the write
		return nil, true
	case errors.As(err, &gone) && gone.Kind == storage.NotFound:
		now = gone.Rev
	case err != nil:
		return nil, false
	}
	// The write may have been applied and replaced since.
	ch, known := p.r.search(ctx, p.key, max(base, p.before), now, func(ch *change) bool {
		return revOf(ch.prev) == base && ch.obj != nil && p.wrote(ch.obj)
	})
	if ch != nil {
		return ch.obj, true
	}
	// A create of a key that is absent may be tried again whether or not it had been applied,
	// because the caller wants the object to exist.
	return nil, known || again && base == 0 && gone != nil
}

// wrote reports whether o, the first state of the key after base, is the value that was written. If
// another server wrote exactly the same value at the same time, its write is taken for this one.
func (p *prepared) wrote(o *Object) bool { return o.Rev > p.before && o.same(&p.dec) }

// search returns the first change of key with after < revision <= upto for which is holds, or nil
// if there is none. known is false if the window does not reach back to after.
func (r *Resource) search(
	ctx context.Context, key string, after, upto storage.Revision, is func(*change) bool,
) (ch *change, known bool) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	s, _, err := r.at(ctx, Want{Match: NotOlderThan, Rev: upto})
	if err != nil || after < s.floor {
		return nil, false
	}
	for _, ch := range s.events[s.seqAfter(after)-s.first:] {
		if ch.key == key && is(ch) {
			return ch, true
		}
	}
	return nil, true
}
