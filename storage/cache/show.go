package cache

import (
	"context"
	"slices"
)

// Show returns how a list or watch shows objects, one result for each, in their order. The result
// is nil for an object that is not shown, and for a nil object. It returns objects that cannot be
// read unchanged. It gets many objects in one call, because a call may take long. For the same
// object it must always return the same result. The slice that it gets is shared; Show must not
// change it, but may return it.
type Show func(ctx context.Context, objects []*Object) ([]*Object, error)

// maxShown is the number of objects in one call of Show after Show has left out an object: from
// then on the number of objects that a page needs is unknown.
const maxShown = 512

// listShown selects objects from a snapshot and shows them. Once Show has left an object out, it
// looks at more objects than the list wants, chunk by chunk, until the page is full.
func (s *state) listShown(ctx context.Context, snap snapshot, opts ListOptions) (List, error) {
	var list, part List
	for page := opts; ; {
		if snap.all(s, &page) {
			part = s.listAll(&page)
		} else {
			part = snap.list(&page)
		}
		seen, err := opts.Show(ctx, part.Objects)
		if err != nil {
			return List{}, err
		}
		if len(list.Objects) == 0 && page.After == opts.After && !slices.Contains(seen, nil) {
			part.Objects = seen
			return part, nil
		}
		for i, o := range seen {
			if o == nil {
				continue
			}
			list.Objects = append(list.Objects, o)
			if len(list.Objects) == opts.Limit { // never equal if the limit is 0
				if list.More = part.More || i+1 < len(seen); list.More {
					list.Remaining = -1
				}
				return list, nil
			}
		}
		if !part.More {
			return list, nil
		}
		page.After, page.Limit = part.Objects[len(part.Objects)-1].Key, maxShown
	}
}

// showInitial replaces the objects of the initial events in buf by what Show makes of them, and
// removes those that are not shown.
func (w *Watcher) showInitial(ctx context.Context) error {
	objects := make([]*Object, len(w.buf))
	for i := range w.buf {
		objects[i] = w.buf[i].Object
	}
	seen, err := w.opts.Show(ctx, objects)
	if err != nil {
		return err
	}
	kept := w.buf[:0]
	for i, e := range w.buf {
		if e.Object = seen[i]; e.Object != nil {
			kept = append(kept, e)
		}
	}
	w.buf = kept
	return nil
}

// showChanges calls Show with the objects of the changes that may concern the watcher, old and new,
// and keeps the results for sees.
func (w *Watcher) showChanges(ctx context.Context, changes []*change) error {
	var objects []*Object
	for _, ch := range changes {
		if !w.concerns(ch) {
			continue
		}
		for _, o := range [...]*Object{ch.prev, ch.obj} {
			if o != nil && !o.broken && (w.opts.Match == nil || w.opts.Match(o)) {
				objects = append(objects, o)
			}
		}
	}
	seen, err := w.opts.Show(ctx, objects)
	if err != nil {
		return err
	}
	w.shown = make(map[*Object]*Object, len(objects))
	for i, o := range objects {
		w.shown[o] = seen[i]
	}
	return nil
}

// sees returns an object as the watcher shows it, or nil if the watcher does not show it. o may be
// nil.
func (w *Watcher) sees(o *Object) *Object {
	switch {
	case o == nil:
	case w.opts.Show != nil && !o.broken:
		return w.shown[o]
	case w.opts.Match != nil && !o.broken && !w.opts.Match(o):
		return nil
	}
	return o
}
