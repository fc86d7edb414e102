package registry

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// This file converts objects through a kind's converter, which for custom resources is mostly a
// webhook: many objects in one call, and each state of an object once for all readers. Lists,
// watches, encoding (forms.go) and writes (oldIn) call it. For kinds without a converter it does
// nothing.

// conversions are the conversions of one Store that run. If several readers want the same
// conversion, the first reader asks the converter and the others wait for it, each until its own
// context ends. The result is kept beside the object, as all forms are. No lock is held while the
// converter works.
type conversions struct {
	mu      sync.Mutex
	running map[conversion]*converting
}

// conversion names the conversion of one state of an object into a form.
type conversion struct {
	key  string
	rev  storage.Revision
	form uint32
}

// converting is a conversion that runs. obj, err and alone are set before done is closed.
type converting struct {
	done  chan struct{}
	obj   *cache.Object
	err   error
	alone bool // it was the only object of its batch, so err is about this object
}

// A batch for a converter has at most maxBatch objects, and at most maxBatchBytes bytes as they are
// stored, unless its first object alone is larger.
const (
	maxBatch      = 512
	maxBatchBytes = 2 << 20
)

// converts reports whether an object in a form needs the converter to be shown in a version.
func (s *Store) converts(form uint32, version string) bool {
	if s.batch == nil {
		return false
	}
	l := s.lookerIn(version)
	return l != nil && form != l.jsonForm && form != l.shownForm
}

// lookerIn returns the looker for a version of the stored kind, nil if the kind has no such
// version.
func (s *Store) lookerIn(version string) *looker {
	return s.reader.looker(meta.GroupVersion{Group: s.reader.kind.GroupKind().Group, Version: version}.String())
}

// converted returns the objects in a version of the kind, in the same order. It uses conversions
// that were made before, waits for those that run, and makes the others in batches. The error names
// the object that it is about, if it is about one.
func (s *Store) converted(ctx context.Context, objects []*cache.Object, version string) ([]*cache.Object, error) {
	out := make([]*cache.Object, len(objects))
	form := s.lookerIn(version).shownForm
	for {
		mine, others := s.conversions.begin(objects, out, form)
		if len(mine)+len(others) == 0 {
			return out, nil
		}
		if err := s.convertMine(ctx, objects, mine, version, form); err != nil {
			return nil, err
		}
		for i, c := range mine {
			out[i] = c.obj
		}
		for i, c := range others {
			select {
			case <-c.done:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			// The reader that converted it may have failed because of another object in its batch,
			// or its request may have ended. Then the next round converts it here.
			if c.err != nil && c.alone && !errors.Is(c.err, context.Canceled) &&
				!errors.Is(c.err, context.DeadlineExceeded) {
				return nil, c.err
			}
			out[i] = c.obj
		}
	}
}

// begin sets out[i] for the objects that have the form already. It divides the indexes of the
// others: mine are those that the caller must convert, others those that another reader converts.
func (c *conversions) begin(
	objects []*cache.Object, out []*cache.Object, form uint32,
) (mine, others map[int]*converting) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mine, others = map[int]*converting{}, map[int]*converting{}
	for i, o := range objects {
		if out[i] != nil {
			continue
		}
		// This is checked with the lock held: a form is kept before its conversion leaves
		// c.running.
		if out[i] = o.FormObject(form); out[i] != nil {
			continue
		}
		key := conversion{o.Key, o.Rev, form}
		if running := c.running[key]; running != nil {
			others[i] = running
			continue
		}
		mine[i] = &converting{done: make(chan struct{})}
		if o.Rev != 0 { // the object of a dry run is seen by one request only
			c.running[key] = mine[i]
		}
	}
	return mine, others
}

// end wakes the readers that wait for a conversion.
func (c *conversions) end(o *cache.Object, form uint32, running *converting) {
	c.mu.Lock()
	delete(c.running, conversion{o.Key, o.Rev, form})
	c.mu.Unlock()
	close(running.done)
}

// errCutShort is the error of a conversion whose reader stopped before its batch. Readers that wait
// then convert it themselves.
var errCutShort = errors.New("the conversion was cut short")

// convertMine converts the objects whose indexes are in mine, in batches, until a batch fails. When
// it returns, even by a panic, each conversion in mine has ended.
func (s *Store) convertMine(
	ctx context.Context, objects []*cache.Object, mine map[int]*converting, version string, form uint32,
) (err error) {
	var batch []int
	bytes := 0
	defer func() {
		for i, c := range mine {
			if c.obj == nil && c.err == nil {
				c.err = errCutShort
			}
			s.conversions.end(objects[i], form, c)
		}
	}()
	convert := func() {
		var made []cache.Decoded
		if made, err = s.convertBatch(ctx, objects, batch, version); err != nil {
			for _, i := range batch {
				mine[i].err, mine[i].alone = err, len(batch) == 1
			}
			return
		}
		for n, i := range batch {
			mine[i].obj = objects[i].KeepForm(made[n])
		}
	}
	for i, o := range objects {
		if mine[i] == nil {
			continue
		}
		data, _ := o.Stored()
		if len(batch) > 0 && (len(batch) == maxBatch || bytes+len(data) > maxBatchBytes) {
			if convert(); err != nil {
				return err
			}
			batch, bytes = batch[:0], 0
		}
		batch, bytes = append(batch, i), bytes+len(data)
	}
	if len(batch) > 0 {
		convert()
	}
	return err
}

// convertBatch converts the objects at the given indexes in one call of the converter.
func (s *Store) convertBatch(
	ctx context.Context, objects []*cache.Object, places []int, version string,
) ([]cache.Decoded, error) {
	list := make([]meta.Typed, len(places))
	for n, i := range places {
		obj, err := s.reader.complete(objects[i])
		if err != nil {
			return nil, s.namedError(ctx, objects[i], s.reader.corrupt(ctx, objects[i], err))
		}
		list[n] = obj
	}
	converted, err := s.batch(ctx, list, version)
	if err != nil {
		about := objects[places[0]]
		if e := (*kind.ObjectError)(nil); errors.As(err, &e) {
			about = objects[places[e.Index]]
		}
		return nil, s.namedError(ctx, about, err)
	}
	out := make([]cache.Decoded, len(places))
	for n, obj := range converted {
		if out[n], err = s.reader.shown(obj); err != nil {
			return nil, s.namedError(ctx, objects[places[n]], err)
		}
	}
	return out, nil
}

// showAll returns the objects of a list in a version, and converts those that need the converter.
// Unreadable objects and nil stay as they are. Other forms are not made here, but one by one when
// they are sent.
func (s *Store) showAll(ctx context.Context, objects []*cache.Object, version string) ([]*cache.Object, error) {
	var foreign []*cache.Object
	var places []int
	for i, o := range objects {
		if o == nil || o.Err() != nil {
			continue
		}
		if _, form := o.Stored(); s.converts(form, version) {
			foreign, places = append(foreign, o), append(places, i)
		}
	}
	if len(foreign) == 0 {
		return objects, nil
	}
	converted, err := s.converted(ctx, foreign, version)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(objects)
	for n, i := range places {
		out[i] = converted[n]
	}
	return out, nil
}

// seenIn returns the function through which a list or watch in a version sees objects: it converts
// them first and selects afterwards, because a converter may change labels. It is nil if the kind
// has no converter.
func (s *Store) seenIn(sel *selector, version string) cache.Show {
	if s.batch == nil || version == "" {
		return nil
	}
	match := sel.shown.match()
	return func(ctx context.Context, objects []*cache.Object) ([]*cache.Object, error) {
		out, err := s.showAll(ctx, objects, version)
		if err != nil || match == nil {
			return out, err
		}
		out = slices.Clone(out)
		for i, o := range out {
			if o != nil && o.Err() == nil && !match(o) {
				out[i] = nil
			}
		}
		return out, sel.shown.failed()
	}
}

// oldIn decodes cur, the stored object that a write changes, in the version that strategies see for
// requests in version.
func (s *Store) oldIn(ctx context.Context, cur *cache.Object, version string) (meta.Object, error) {
	if _, form := cur.Stored(); s.reader.kind.Hub(version) != version || !s.converts(form, version) {
		return s.reader.hubOf(ctx, cur, version)
	}
	converted, err := s.converted(ctx, []*cache.Object{cur}, version)
	if err != nil {
		return nil, err
	}
	decoded, err := s.reader.kind.Decode(codec.DecodeRequest{Data: converted[0].JSON(), Shared: true})
	if err != nil {
		return nil, err
	}
	return decoded.Object.(meta.Object), nil
}
