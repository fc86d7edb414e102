package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// This file serves list and watch: it turns a request into options for cache.Resource, and pages
// and events of the cache into those of the router. The router calls List and Watch; selector.go
// compiles the selectors. resourceVersion and resourceVersionMatch have the meaning of Kubernetes'
// API concepts; a read without a resourceVersion is served from the cache as KEP-2340 describes.

// List returns one page of objects. See router.Lister.
func (s *Store) List(ctx context.Context, req *request.ListRequest) (*request.List, error) {
	sel, err := s.selector(ctx, req)
	if err != nil {
		return nil, err
	}
	if !req.Labels.Empty() || !req.Fields.Empty() {
		sel.limit(meter.New(ctx))
	}
	opts, err := s.listOptions(req, &sel)
	if err != nil {
		return nil, err
	}
	opts.Corrupt = meta.ShowsUnread(ctx)
	list, err := s.objects.List(ctx, *opts)
	if err == nil {
		err = sel.stored.failed()
	}
	if err != nil {
		if req.Continue != "" && errors.Is(err, storage.Compacted) {
			return nil, expiredContinue(opts)
		}
		return nil, s.listError(err, opts.Want.Rev)
	}
	out := &request.List{
		ResourceVersion: formatRevision(list.Rev), Items: items(list.Objects), Len: len(list.Objects),
		Form: formOf(list.Objects),
	}
	if opts.Corrupt {
		out.Items = s.lenientItems(list.Objects, req.Version)
	}
	if list.More && len(list.Objects) > 0 {
		last := list.Objects[len(list.Objects)-1].Key
		out.Continue = cache.EncodeContinue(list.Rev, last[len(opts.Prefix):])
		if list.Remaining > 0 {
			out.Remaining = &list.Remaining
		}
	}
	return out, nil
}

// items yields objects as request.Encoded, without a second slice.
func items(objects []*cache.Object) iter.Seq[request.Encoded] {
	return func(yield func(request.Encoded) bool) {
		for _, o := range objects {
			if !yield(o) {
				return
			}
		}
	}
}

// formOf returns a function that returns the form in which all objects are stored, 0 if they
// differ. It is a fast path for List.Form: without it the router calls two interface methods for
// each object.
func formOf(objects []*cache.Object) func() uint32 {
	return func() (all uint32) {
		for i, o := range objects {
			if o.Err() != nil {
				return 0
			}
			if _, form := o.Stored(); i == 0 {
				all = form
			} else if form != all {
				return 0
			}
		}
		return all
	}
}

// listOptions translates a request into options for the cache. A continue token decides on the
// revision; resourceVersion must then not be set. The error is a 400.
func (s *Store) listOptions(req *request.ListRequest, sel *selector) (*cache.ListOptions, error) {
	opts := &cache.ListOptions{
		Prefix: s.prefix(req.Namespace), Match: sel.stored.match(), Show: s.seenIn(sel, req.Version),
	}
	if req.Limit > 0 {
		opts.Limit = int(min(req.Limit, 1<<31-1))
	}
	opts.Only = s.only(sel, opts.Prefix, req.Namespace)
	if req.Continue != "" {
		rev, after, err := cache.DecodeContinue(req.Continue, opts.Prefix)
		if err != nil {
			return nil, meta.NewBadRequest("invalid continue token: " + err.Error())
		}
		if req.ResourceVersion != "" && req.ResourceVersion != "0" {
			return nil, meta.NewBadRequest("specifying resource version is not allowed when using continue")
		}
		opts.After, opts.Want = after, cache.Want{Rev: rev, Match: cache.Exact}
		if rev == 0 { // the token of an expired list: continue at the current state
			opts.Want = cache.Want{Match: cache.Consistent}
		}
		return opts, nil
	}
	rev, err := parseRevision(req.ResourceVersion)
	if err != nil {
		return nil, meta.NewBadRequest("invalid resource version: " +
			field.Invalid(
				field.NewPath("resourceVersion"), meta.Excerpt(req.ResourceVersion), meta.Excerpt(err.Error()),
			).Error())
	}
	opts.Want = want(req, rev, opts.Only != "")
	return opts, nil
}

// want translates resourceVersion and resourceVersionMatch for the cache. If resourceVersionMatch
// is not set, a limit makes the revision exact, as in Kubernetes before that parameter existed,
// unless the list is of one name, which has no pages.
func want(req *request.ListRequest, rev storage.Revision, oneName bool) cache.Want {
	switch {
	case req.ResourceVersion == "":
		return cache.Want{Match: cache.Consistent}
	case rev == 0:
		return cache.Want{Match: cache.Any}
	case req.ResourceVersionMatch == meta.ResourceVersionMatchExact,
		req.ResourceVersionMatch == "" && req.Limit > 0 && !oneName:
		return cache.Want{Rev: rev, Match: cache.Exact}
	default:
		return cache.Want{Rev: rev, Match: cache.NotOlderThan}
	}
}

// expiredContinue returns the 410 for a continue token whose revision was compacted. It carries a
// token that continues at the current state.
func expiredContinue(opts *cache.ListOptions) error {
	err := meta.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. " +
		"You can start a new list without the continue parameter, or use the continue token in this response to retrieve " +
		"the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that " +
		"were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.")
	err.Status.Continue = cache.EncodeContinue(0, opts.After[len(opts.Prefix):])
	return err
}

// Watch returns a cursor over the changes that req selects. See router.Watcher. If ctx has a
// deadline and req asks for bookmarks, the watch sends a bookmark shortly before the deadline.
func (s *Store) Watch(ctx context.Context, req *request.ListRequest) (request.EventCursor, error) {
	sel, err := s.selector(ctx, req)
	if err != nil {
		return nil, err
	}
	rev, err := parseRevision(req.ResourceVersion)
	if err != nil {
		return nil, badRevision(req.ResourceVersion, err)
	}
	opts := cache.WatchOptions{
		Prefix: s.prefix(req.Namespace), Match: sel.stored.match(), Show: s.seenIn(&sel, req.Version),
		Field: sel.group, Bookmarks: req.Bookmarks,
	}
	opts.Key = s.only(&sel, opts.Prefix, req.Namespace)
	opts.Corrupt = meta.ShowsUnread(ctx)
	switch {
	case req.SendInitialEvents != nil && *req.SendInitialEvents:
		opts.Initial, opts.InitialEnd = true, req.Bookmarks
		opts.Want = cache.Want{Rev: rev, Match: cache.NotOlderThan}
		if req.ResourceVersion == "" {
			opts.Want.Match = cache.Consistent
		}
	case rev != 0:
		opts.After = rev
	case req.SendInitialEvents != nil: // false: from now on
		opts.Want = cache.Want{Match: cache.Consistent}
	default:
		opts.Initial = true
		opts.Want = cache.Want{Match: cache.Any}
		if req.ResourceVersion == "" {
			opts.Want.Match = cache.Consistent
		}
	}
	w, err := s.objects.Watch(ctx, opts)
	if errors.Is(err, storage.Compacted) {
		return nil, tooOld(rev, err)
	}
	if err != nil {
		return nil, s.readError(err, "", rev)
	}
	if end, ok := ctx.Deadline(); ok {
		w.SetDeadline(end)
	}
	return &eventCursor{w: w, s: s, stored: sel.stored, from: rev, version: req.Version, lenient: opts.Corrupt}, nil
}

// tooOld returns the 410 for a watch from a revision whose later changes were compacted.
func tooOld(rev storage.Revision, err error) error {
	oldest := storage.Revision(0)
	if e := (*storage.Error)(nil); errors.As(err, &e) && e.Rev > 0 {
		oldest = e.Rev - 1
	}
	return meta.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", rev, oldest))
}

// eventCursor adapts a cache.Watcher to request.EventCursor. One goroutine uses it.
type eventCursor struct {
	w       *cache.Watcher
	s       *Store
	stored  condition // the filter that the cache runs; its error ends the watch
	from    storage.Revision
	version string          // of the request
	lenient bool            // unreadable objects are sent as meta.Unread instead of ending the watch
	started bool            // Next has returned events
	buf     []request.Event // reused by every Next
}

var eventTypes = [...]request.EventType{
	cache.Added: request.Added, cache.Modified: request.Modified, cache.Deleted: request.Deleted,
	cache.Bookmark: request.Bookmark,
}

// Next returns all events so far, or waits for one. If the watcher falls behind the cache's window,
// Next ends the watch with io.EOF: the store may still have the events that it missed, so the
// client should watch again from its last event instead of listing everything. A watch that has
// returned no event yet has no last event, so it ends with a 410.
func (c *eventCursor) Next(ctx context.Context) ([]request.Event, error) {
	events, err := c.w.Next(ctx)
	if err == nil {
		err = c.stored.failed()
	}
	if err != nil {
		switch compacted := errors.Is(err, storage.Compacted); {
		case compacted && c.started:
			return nil, io.EOF
		case compacted:
			return nil, tooOld(c.from, err)
		}
		return nil, c.s.watchError(err)
	}
	c.started = true
	c.buf = c.buf[:0]
	for i := range events {
		e := request.Event{Type: eventTypes[events[i].Type], InitialEnd: events[i].InitialEnd}
		switch {
		case events[i].Type == cache.Bookmark:
			e.ResourceVersion = formatRevision(events[i].Rev)
		case c.lenient:
			e.Object = c.s.lenient(events[i].Object, events[i].Rev, c.version)
		default:
			e.Object = events[i].Object
		}
		c.buf = append(c.buf, e)
	}
	return c.buf, nil
}

// Close ends the watch. Next must not be called after it.
func (c *eventCursor) Close() { c.w.Close() }
