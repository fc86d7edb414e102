package cache

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// UpdateOptions changes what Update does.
type UpdateOptions struct {
	// AllowCreate calls the function with nil if the object does not exist, and creates it; else that is NotFound.
	AllowCreate bool
	// DryRun decides on the store's present state and writes nothing. The object is returned at the present revision,
	// or without one if it would be created.
	DryRun bool
	// Form returns the form of the value that the function made last. 0, or a Form that is nil, leaves
	// that to DecodeFunc.
	Form func() uint32
}

// UpdateFunc makes the new stored value of an object from its present state, nil if it does not exist. It is called
// again if the state turns out to be stale.
type UpdateFunc func(cur *Object) (value []byte, lease storage.LeaseID, err error)

// DeleteOptions changes what Delete does.
type DeleteOptions struct {
	// Rev, if not 0, is the revision that the object must have; else Conflict.
	Rev storage.Revision
}

// maxDoubt is how often a write whose outcome stays unknown is tried.
const maxDoubt = 3

// Create stores a new object. Errors: Exists, TooLarge, InDoubt (and it could not be found out), or the decoder's.
func (r *Resource) Create(ctx context.Context, key string, value []byte, lease storage.LeaseID) (*Object, error) {
	return r.CreateAs(ctx, key, value, 0, lease)
}

// CreateAs is Create of a value that is in a form, if that is not 0, whatever DecodeFunc says of it.
func (r *Resource) CreateAs(ctx context.Context, key string, value []byte, form uint32, lease storage.LeaseID) (*Object, error) {
	p, err := r.prepare(key, value, form, lease)
	if err != nil {
		return nil, err
	}
	o, err := p.write(ctx, 0)
	r.answer(revOf(o))
	return o, err
}

// Update replaces the object at key by what fn makes of it. It starts from the cached state and, if that was stale,
// goes on with the store's until it wins. An error of fn is reported only if it comes from the store's present state.
// If the value does not change the object, nothing is written and the object is returned at its old revision.
// Errors: NotFound, TooLarge, InDoubt (and it could not be found out), or fn's.
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

// errAgain asks for another try on the state that has been read meanwhile.
var errAgain = errors.New("again")

// updating is one call of Update.
type updating struct {
	r     *Resource
	key   string
	opts  UpdateOptions
	fn    UpdateFunc
	cur   *Object // nil if absent
	fresh bool    // cur came from the store during this call
}

// refresh reads cur from the store.
func (u *updating) refresh(ctx context.Context) error {
	cur, err := u.r.fetch(ctx, u.key)
	if err != nil && !errors.Is(err, storage.NotFound) {
		return err
	}
	u.cur, u.fresh = cur, true
	return nil
}

// confirm returns nil if cur is the store's state, else errAgain with the new one in cur.
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

func revOf(o *Object) storage.Revision {
	if o == nil {
		return 0
	}
	return o.Rev
}

func (u *updating) try(ctx context.Context) (*Object, error) {
	if u.cur == nil && !u.opts.AllowCreate {
		return nil, notFound(u.key, 0) // never a guess: an absent guess is looked up first
	}
	base := revOf(u.cur)
	value, lease, err := u.fn(u.cur)
	if err != nil {
		if stale := u.confirm(ctx); stale != nil {
			return nil, stale
		}
		return nil, err
	}
	form := uint32(0)
	if u.opts.Form != nil {
		form = u.opts.Form()
	}
	p, err := u.r.prepare(u.key, value, form, lease)
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

// Delete deletes the object at key if check, which may be nil, allows it. check sees the state that is deleted; it is
// called again if the state turns out to be stale, and its error is reported only if it comes from the store's present
// state. The result is the last state at the revision of the deletion. Errors: NotFound, Conflict (opts.Rev), InDoubt
// (and it could not be found out), or check's.
func (r *Resource) Delete(ctx context.Context, key string, opts DeleteOptions, check func(cur *Object) error) (*Object, error) {
	o, err := r.remove(ctx, key, opts, check)
	r.answer(revOf(o))
	return o, err
}

func (r *Resource) remove(ctx context.Context, key string, opts DeleteOptions, check func(cur *Object) error) (*Object, error) {
	u := &updating{r: r, key: key, cur: r.guess(key)}
	var doubt error // of the last deletion, until it is known not to have happened
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
			return last.At(gone), nil // by us, or by somebody else at the same time: it is gone either way
		case u.cur.Rev == last.Rev:
			continue
		}
		// Updated by somebody, or deleted and created anew: then this is another object, which is not to be deleted.
		ch, known := r.search(ctx, key, last.Rev, u.cur.Rev, func(ch *change) bool { return revOf(ch.prev) == last.Rev })
		if !known || ch == nil {
			return nil, doubt
		}
		if ch.obj == nil {
			return ch.gone(), nil
		}
		doubt = nil
	}
}

// Discard deletes the object at key, which cannot be read, in the state of revision rev. Nobody is asked, as nobody knows what
// it is; watchers are told by an error. Errors: NotFound, Conflict (it is at another revision), InDoubt.
func (r *Resource) Discard(ctx context.Context, key string, rev storage.Revision) error {
	if r.closed.Load() {
		return closed("delete", key)
	}
	gone, err := r.c.store.Delete(ctx, key, storage.Pre{Rev: rev})
	r.answer(gone)
	return err
}

// lookAgain refreshes u, and returns the store's revision if the object is gone.
func (r *Resource) lookAgain(ctx context.Context, u *updating) (storage.Revision, error) {
	cur, err := r.fetch(ctx, u.key)
	u.cur, u.fresh = cur, true
	var e *storage.Error
	if errors.As(err, &e) && e.Kind == storage.NotFound {
		return e.Rev, nil
	}
	return 0, err
}

// mayDelete returns nil if the object may be deleted in the state cur.
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

// prepared is a value that has been decoded and can be written.
type prepared struct {
	r     *Resource
	key   string
	value []byte
	lease storage.LeaseID
	dec   Decoded
	// before is a revision that had been reached before the first put: a change up to it is not ours.
	before storage.Revision
}

// prepare decodes value before it is written: what cannot be read back is not stored, and the event of the write needs
// no decoding.
func (r *Resource) prepare(key string, value []byte, form uint32, lease storage.LeaseID) (*prepared, error) {
	dec, err := r.peekWritten(key, value)
	if err != nil {
		return nil, err
	}
	if form != 0 {
		dec.Form = form
	}
	return &prepared{r: r, key: key, value: value, lease: lease, dec: dec}, nil
}

// put writes the value once.
func (p *prepared) put(ctx context.Context, pre storage.Pre) (*Object, error) {
	c := p.r.c
	if p.r.closed.Load() {
		return nil, closed("put", p.key)
	}
	if p.before == 0 {
		p.before = c.known()
	}
	var w *write
	if p.r.epoch.Load() != nil {
		w = p.r.writes.add(p.key, p.value, p.dec)
	}
	entry, err := c.store.Put(ctx, p.key, p.value, pre, p.lease)
	switch {
	case err != nil && w != nil:
		p.r.writes.fail(w)
		// An object with this Decoded may exist already if the write was applied after all.
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

// write puts the value over the state at base (0: absent). If the outcome is unknown it finds out, and tries again what
// has not been applied: at most one of the tries can succeed. Errors: those of Store.Put. With Exists, Conflict and
// NotFound another write came first; with InDoubt it could not be found out.
func (p *prepared) write(ctx context.Context, base storage.Revision) (*Object, error) {
	var doubt error
	for try := 1; ; try++ {
		o, err := p.put(ctx, storage.Pre{Absent: base == 0, Rev: base})
		inDoubt := false
		switch storage.KindOf(err) {
		case storage.InDoubt:
			if doubt, inDoubt = err, true; try == maxDoubt {
				return nil, err
			}
		case storage.Exists, storage.Conflict, storage.NotFound:
			if doubt == nil {
				return nil, err
			}
		default:
			return o, err
		}
		// It may have been applied, now or in an earlier try.
		own, known := p.settle(ctx, base)
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

// settle finds out whether a write over the state at base (0: absent) has been applied, and returns the object if so.
// known is false if it cannot tell.
func (p *prepared) settle(ctx context.Context, base storage.Revision) (own *Object, known bool) {
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
	// It may have been replaced since.
	ch, known := p.r.search(ctx, p.key, max(base, p.before), now, func(ch *change) bool {
		return revOf(ch.prev) == base && ch.obj != nil && p.wrote(ch.obj)
	})
	if ch != nil {
		return ch.obj, true
	}
	// If the key was to be created and is absent still, or again, creating it is what the caller wants in any case.
	return nil, known || base == 0 && gone != nil
}

// wrote reports whether o, the first state of the key over base, is what was written. Somebody else who wrote exactly
// the same while our write was under way is not told from us.
func (p *prepared) wrote(o *Object) bool { return o.Rev > p.before && o.same(&p.dec) }

// search returns the first change of key after one revision and up to another for which is holds, nil if there is
// none. known is false if the window does not reach from the one to the other.
func (r *Resource) search(ctx context.Context, key string, after, upto storage.Revision, is func(*change) bool) (ch *change, known bool) {
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
