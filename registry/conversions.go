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

// conversions are those under way, of objects of kinds with a converter, which is mostly another
// server. What many readers want at the same time is asked for once: one of them asks, and the
// others wait, each for as long as it likes. The result is kept beside the object, as all forms
// are. The lock is held only to look.
type conversions struct {
	mu      sync.Mutex
	running map[conversion]*converting
}

// conversion is that of a state of an object into a form.
type conversion struct {
	key  string
	rev  storage.Revision
	form uint32
}

// converting is a conversion under way. When done is closed, all else is set.
type converting struct {
	done  chan struct{}
	obj   *cache.Object
	err   error
	alone bool // nothing else was asked for in the same breath: an error is about this object
}

// How many objects a converter is sent at a time, and how many bytes of them as they are stored,
// beside the first.
const (
	maxBatch      = 512
	maxBatchBytes = 2 << 20
)

// converts reports whether what is in a form has to be converted by a converter to be shown in a
// version.
func (s *Store) converts(form uint32, version string) bool {
	if s.batch == nil {
		return false
	}
	l := s.lookerIn(version)
	return l != nil && form != l.jsonForm && form != l.shownForm
}

// lookerIn returns what looks into objects of a version, nil if the kind that is stored has none of
// that name.
func (s *Store) lookerIn(version string) *looker {
	return s.reader.looker(meta.GroupVersion{Group: s.reader.kind.GroupKind().Group, Version: version}.String())
}

// converted returns what objects are in a version that the kind has, in their order. What has been
// made before is used again; the others are converted, many at a time. The error names the object
// that it is about, if it is about one.
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
			// Who asked for more may have failed for another object, or given up: then it is our
			// turn.
			if c.err != nil && c.alone && !errors.Is(c.err, context.Canceled) && !errors.Is(c.err, context.DeadlineExceeded) {
				return nil, c.err
			}
			out[i] = c.obj
		}
	}
}

// begin fills into out what has been made, and divides the rest: what the caller is to convert, and
// what somebody else does. Both are by index.
func (c *conversions) begin(objects []*cache.Object, out []*cache.Object, form uint32) (mine, others map[int]*converting) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mine, others = map[int]*converting{}, map[int]*converting{}
	for i, o := range objects {
		if out[i] != nil {
			continue
		}
		// With the lock, since a form is kept before its conversion ends.
		if out[i] = o.In(form); out[i] != nil {
			continue
		}
		place := conversion{o.Key, o.Rev, form}
		if running := c.running[place]; running != nil {
			others[i] = running
			continue
		}
		mine[i] = &converting{done: make(chan struct{})}
		if o.Rev != 0 { // what a dry run would store is nobody else's
			c.running[place] = mine[i]
		}
	}
	return mine, others
}

// end tells those who wait what became of a conversion.
func (c *conversions) end(o *cache.Object, form uint32, running *converting) {
	c.mu.Lock()
	delete(c.running, conversion{o.Key, o.Rev, form})
	c.mu.Unlock()
	close(running.done)
}

// errCutShort is what others are told whose conversion ended before its turn.
var errCutShort = errors.New("the conversion was cut short")

// convertMine converts the objects of mine, batch by batch, until one fails. All of them have ended
// when it returns.
func (s *Store) convertMine(ctx context.Context, objects []*cache.Object, mine map[int]*converting, version string, form uint32) (err error) {
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
			mine[i].obj = objects[i].Keep(made[n])
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

// convertBatch asks about the objects at some places.
func (s *Store) convertBatch(ctx context.Context, objects []*cache.Object, places []int, version string) ([]cache.Decoded, error) {
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

// showAll returns objects as those see them who address the resource in a version: what has to be
// converted for that is. Only kinds with a converter need it; other forms are made when they are
// sent.
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

// seenIn is how the cache has objects seen by who addresses the resource in a version: converted
// first, and selected afterwards, since a converter may change labels and annotations as well. It
// is nil where nothing is converted.
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

// oldIn is the object before a write, as those see it who address the resource in a version.
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
