package cache

import (
	"context"
	"slices"
)

// Show returns what is seen of objects, each in its place; nil for those that are not seen at all, and where there is none. Objects
// that cannot be read it leaves as they are. It is asked about many at a time, since it may take long, and always says the same of an
// object. The slice that it gets is shared; it may return it.
type Show func(ctx context.Context, objects []*Object) ([]*Object, error)

// maxShown is how many objects Show is asked about at once where it is not known how many will be seen.
const maxShown = 512

// listShown selects objects from a snapshot as they are seen. Once one is not seen, more are looked at than are wanted.
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
			if len(list.Objects) == opts.Limit { // which may be 0 for none
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

// showInitial has the objects in buf shown.
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

// showChanges has the objects of changes shown that may concern the watcher.
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

// sees returns an object as the watcher sees it, nil if it does not.
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
