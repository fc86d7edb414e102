package client

import (
	"context"
	"strings"

	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Source returns the objects that the selectors of opts select as a follow.Source, for
// follow.Changes. It ignores the other options. If the server is in this process, an object that
// the server cannot read is a change with Unread set (see meta.WithUnread). A server in another
// process ends the stream with an error instead. An object that the server can read and this client
// cannot decode is a change with Unread set in both cases.
//
// The stream reads the existing objects page by page. If the caller is slow, at most one page or
// the events in the connection's buffers are in memory; a server that cannot wait any longer ends
// the stream.
func (r Resource[T]) Source(opts meta.ListOptions) follow.Source[T] {
	return source[T]{r, meta.ListOptions{LabelSelector: opts.LabelSelector, FieldSelector: opts.FieldSelector}}
}

// source is a resource as a follow.Source.
type source[T meta.Object] struct {
	r    Resource[T]
	opts meta.ListOptions // the selectors
}

// Open implements follow.Source.
func (s source[T]) Open(ctx context.Context, after string) (follow.Stream[T], error) {
	st := &stream[T]{source: s, ctx: meta.WithUnread(ctx), page: s.opts, listed: after != "", from: after}
	st.page.Limit = pageSize
	return st, nil
}

// stream yields the pages of a list, and then the events of a watch from the list's revision on.
type stream[T meta.Object] struct {
	source[T]
	ctx    context.Context
	page   meta.ListOptions // the next page, unless listed
	listed bool             // all pages have been yielded
	from   string           // the revision of the list, if listed
	watch  *Watch[T]        // nil before it is opened
	buf    []follow.Change[T]
}

// open opens the watch, unless it is open.
func (s *stream[T]) open() (err error) {
	if s.watch == nil {
		opts := s.opts
		opts.ResourceVersion, opts.AllowWatchBookmarks = s.from, true
		s.watch, err = s.r.Watch(s.ctx, opts)
	}
	return err
}

// Next implements follow.Stream. The next call reuses the memory of the batch.
func (s *stream[T]) Next() (b follow.Batch[T], err error) {
	clear(s.buf)
	s.buf = s.buf[:0]
	if !s.listed {
		return s.list()
	}
	if err := s.open(); err != nil {
		return b, err
	}
	ev, u, err := s.watch.next()
	if err != nil {
		return b, s.watch.explained(err)
	}
	switch {
	case u != nil:
		s.addUnread(u, ev.Type == Deleted)
		return follow.Batch[T]{Changes: s.buf, InStep: true, ResourceVersion: u.ResourceVersion}, nil
	case ev.Type != Bookmark:
		ch := follow.Change[T]{Name: nameOf(ev.Object), Gone: ev.Type == Deleted}
		if !ch.Gone {
			ch.New = ev.Object
		}
		s.buf = append(s.buf, ch)
	}
	return follow.Batch[T]{
		Changes:         s.buf,
		InStep:          true,
		ResourceVersion: ev.Object.GetObjectMeta().ResourceVersion,
	}, nil
}

// list reads a page and returns it as a batch.
func (s *stream[T]) list() (b follow.Batch[T], err error) {
	page, err := s.r.List(s.ctx, s.page)
	if err != nil {
		return b, err
	}
	for _, obj := range page.Items {
		s.buf = append(s.buf, follow.Change[T]{Name: nameOf(obj), New: obj})
	}
	for i := range page.Unread {
		s.addUnread(&page.Unread[i], false)
	}
	s.page.Continue, s.listed = page.Continue, page.Continue == ""
	if !s.listed {
		return follow.Batch[T]{Changes: s.buf}, nil
	}
	s.from = page.ResourceVersion
	return follow.Batch[T]{Changes: s.buf, InStep: true, ResourceVersion: s.from}, nil
}

// addUnread adds the change of an object that cannot be read. gone says that it has been deleted.
func (s *stream[T]) addUnread(u *meta.Unread, gone bool) {
	ch := follow.Change[T]{
		Name: follow.Name{Namespace: strings.Clone(u.Namespace), Name: strings.Clone(u.Name)},
		Gone: gone,
	}
	if !gone {
		ch.Unread = s.r.unreadError(u)
	}
	s.buf = append(s.buf, ch)
}

// nameOf returns the name of an object. It copies the strings, which would otherwise keep the whole
// text of the object alive.
func nameOf[T meta.Object](obj T) follow.Name {
	m := obj.GetObjectMeta()
	return follow.Name{Namespace: strings.Clone(m.Namespace), Name: strings.Clone(m.Name)}
}

// Close implements follow.Stream.
func (s *stream[T]) Close() {
	if s.watch != nil {
		s.watch.Close()
	}
}
