package registry

import (
	"context"
	"errors"
	"io"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// Source returns the objects of the Store as a source for follow.Changes. The objects come as they
// are stored and are shared with the cache, so following them decodes nothing; Decode decodes one.
// ChangesSince (position.go) is the pull form.
func (s *Store) Source() follow.Source[request.Encoded] { return source{s} }

// source is a Store as a follow.Source.
type source struct{ s *Store }

// Open implements follow.Source.
func (f source) Open(ctx context.Context, after string) (follow.Stream[request.Encoded], error) {
	rev, err := parseRevision(after)
	if err != nil {
		return nil, badRevision(after, err)
	}
	opts := cache.WatchOptions{Prefix: f.s.root, After: rev, Bookmarks: true, Corrupt: true}
	opts.Initial, opts.InitialEnd = rev == 0, rev == 0
	st := &stream{s: f.s, ctx: ctx, after: rev, inStep: rev != 0}
	if st.w, err = f.s.objects.Watch(ctx, opts); err != nil {
		return nil, st.explained(err)
	}
	return st, nil
}

// stream is a position in the history of the objects. One goroutine uses it.
type stream struct {
	s      *Store
	ctx    context.Context
	w      *cache.Watcher
	after  storage.Revision // if inStep, Next has returned all changes up to here
	told   bool             // Next has returned a batch
	inStep bool
	buf    []follow.Change[request.Encoded]
}

// Next implements follow.Stream.
func (st *stream) Next() (b follow.Batch[request.Encoded], err error) {
	events, err := st.w.Next(st.ctx)
	if err != nil {
		return b, st.explained(err)
	}
	st.told = true
	clear(st.buf)
	st.buf = st.buf[:0]
	for i := range events {
		e := &events[i]
		if st.inStep = st.inStep || e.InitialEnd; st.inStep {
			st.after = e.Rev
		}
		if e.Type != cache.Bookmark {
			st.buf = append(st.buf, st.change(e))
		}
	}
	b.Changes = st.buf
	if b.InStep = st.inStep; b.InStep {
		b.ResourceVersion = formatRevision(st.after)
	}
	return b, nil
}

// change turns an event of the cache into a change.
func (st *stream) change(e *cache.Event) (ch follow.Change[request.Encoded]) {
	ch.Name.Namespace, ch.Name.Name = st.s.split(e.Object.Key)
	ch.Gone = e.Type == cache.Deleted
	if ch.Gone {
		return ch
	}
	if err := e.Object.Err(); err != nil {
		ch.Unread = st.s.apiError(err, ch.Name.Name)
		return ch
	}
	ch.New = e.Object
	return ch
}

// explained maps errors of the cache to those that follow.Source documents. If the stream fell
// behind the cache's window, it ends with io.EOF: it can be opened again at its last revision,
// because the store may still have the changes.
func (st *stream) explained(err error) error {
	switch {
	case errors.Is(err, storage.Closed):
		return follow.ErrEnded
	case !errors.Is(err, storage.Compacted):
		return err
	case st.told && st.inStep:
		return io.EOF
	}
	return meta.NewResourceExpired(
		"what has happened after revision " + formatRevision(st.after) + " is not known any more",
	)
}

// Close implements follow.Stream.
func (st *stream) Close() { st.w.Close() }
