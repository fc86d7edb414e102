package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"reflect"
	"strings"
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Pauses of Follow: at least firstPause between the beginnings of two streams, longer with each failure in a row.
const (
	firstPause = time.Second
	maxPause   = 30 * time.Second
)

// Follow is a watch without an end: it yields the objects that opts select as Added events and from then on every
// change, until ctx ends or the loop is left. Where a stream ends, the next one goes on from the last event or bookmark. If
// the server does not know any more what happened since, all objects are listed again, as Added events, and those that
// are gone meanwhile are told of as Deleted events whose objects have nothing but namespace and name. With
// opts.AllowWatchBookmarks a Bookmark follows what was listed.
//
// An object that cannot be read does not end it. In the process of the server (see meta.WithUnread)
// an Unread event tells of it, each time that it is met: the object is there, and whoever knew an
// earlier state of it goes by that one. The server of another process yields an error instead.
//
// An error does not end it either: it is yielded with an empty Event, for the log, and after a pause of 1 s, growing to 30 s
// while nothing succeeds, Follow tries again. Whoever knows that it is no use leaves the loop.
//
// Of opts, nothing else but the selectors counts. Follow keeps the names of all objects that it has told of, and no more.
func (r Resource[T]) Follow(ctx context.Context, opts meta.ListOptions) iter.Seq2[Event[T], error] {
	return func(yield func(Event[T], error) bool) {
		f := &follower[T]{
			r:     r,
			opts:  meta.ListOptions{LabelSelector: opts.LabelSelector, FieldSelector: opts.FieldSelector},
			known: map[key]bool{},
			yield: yield, bookmarks: opts.AllowWatchBookmarks,
		}
		f.run(ctx)
	}
}

// key names an object.
type key struct{ namespace, name string }

// follower is one Follow.
type follower[T meta.Object] struct {
	r     Resource[T]
	opts  meta.ListOptions
	yield func(Event[T], error) bool
	left  bool // yield has returned false
	// bookmarks: the reader wants to know where a list ends.
	bookmarks bool

	from  string       // the revision up to which all is told; "" if that is to be found by listing
	known map[key]bool // told of, and not as Deleted; true while listing: seen in this list
}

func (f *follower[T]) run(ctx context.Context) {
	ctx = meta.WithUnread(ctx)
	pause := firstPause
	for {
		begun := time.Now()
		err := f.once(ctx)
		if f.left || ctx.Err() != nil || err != nil && !f.yield(Event[T]{}, err) {
			return
		}
		if meta.IsResourceExpired(err) || meta.IsGone(err) {
			f.from = ""
		}
		lasted := time.Since(begun)
		if err == nil || lasted > maxPause {
			pause = firstPause
		}
		if !sleep(ctx, pause-lasted) {
			return
		}
		if err != nil {
			pause = min(2*pause, maxPause)
		}
	}
}

// once lists, if need be, and watches until that ends: nil if it ended in good order.
func (f *follower[T]) once(ctx context.Context) error {
	if f.from == "" {
		if err := f.list(ctx); err != nil || f.left {
			return err
		}
	}
	opts := f.opts
	opts.ResourceVersion, opts.AllowWatchBookmarks = f.from, true
	w, err := f.r.Watch(ctx, opts)
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		ev, err := w.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		f.from = ev.Object.GetObjectMeta().ResourceVersion
		if ev.Type != Bookmark && !f.tell(ev) {
			return nil
		}
	}
}

// list tells of all that is there, and of what is not there any more.
func (f *follower[T]) list(ctx context.Context) error {
	for k := range f.known {
		f.known[k] = false
	}
	version := ""
	for page, err := range f.r.pages(ctx, f.opts) {
		if err != nil {
			return err
		}
		version = page.ResourceVersion
		for _, obj := range page.Items {
			if !f.tell(Event[T]{Added, obj}) {
				return nil
			}
		}
		for i := range page.Unread {
			u := &page.Unread[i]
			ev := Event[T]{Unread, nameOnly[T](key{u.Namespace, u.Name})}
			ev.Object.GetObjectMeta().ResourceVersion = u.ResourceVersion
			if !f.tell(ev) {
				return nil
			}
		}
	}
	for k, seen := range f.known {
		if !seen && !f.tell(Event[T]{Deleted, nameOnly[T](k)}) {
			return nil
		}
	}
	f.from = version
	if f.bookmarks {
		end := nameOnly[T](key{})
		end.GetObjectMeta().ResourceVersion = version
		f.left = !f.yield(Event[T]{Bookmark, end}, nil)
	}
	return nil
}

// tell yields a change, and reports whether the reader wants more.
func (f *follower[T]) tell(ev Event[T]) bool {
	m := ev.Object.GetObjectMeta()
	k := key{m.Namespace, m.Name}
	if ev.Type == Deleted {
		delete(f.known, k)
	} else {
		if _, ok := f.known[k]; !ok { // the names refer to the text of the whole object
			k = key{strings.Clone(k.namespace), strings.Clone(k.name)}
		}
		f.known[k] = true
	}
	f.left = !f.yield(ev, nil)
	return !f.left
}

// nameOnly makes an object that is nothing but a name.
func nameOnly[T meta.Object](k key) T {
	obj := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	m := obj.GetObjectMeta()
	m.Namespace, m.Name = k.namespace, k.name
	return obj
}

// sleep waits, and reports whether ctx lasted that long.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
