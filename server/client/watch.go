package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/coracle-project/coracle/scheme/meta"
)

// EventType is what has happened to an object, as the wire spells it.
type EventType string

// The event types.
const (
	Added    EventType = "ADDED"    // it is there, or has come to match the selectors
	Modified EventType = "MODIFIED" // it has changed
	Deleted  EventType = "DELETED"  // it is gone, or does not match the selectors any more
	Bookmark EventType = "BOOKMARK" // nothing has: all changes up to a revision have been sent
	// Unread is not on the wire. The object is there in a state that cannot be read. Only who
	// watches with a context of meta.WithUnread sees that; for others the watch ends.
	Unread EventType = "UNREAD"
)

// Event is one change.
type Event[T meta.Object] struct {
	Type EventType
	// Object is the new state. Of Deleted it is the last one, with the revision of its end; of
	// Bookmark an empty object with the revision, and at the end of the initial events with the
	// annotation meta.InitialEventsAnnotation. Of Unread, and if the last state cannot be read of
	// Deleted, it has nothing but namespace, name and resourceVersion.
	Object T
}

// Watch is a stream of changes. It ends with the context that it was opened with, or with Close.
type Watch[T meta.Object] struct {
	r      Resource[T]
	body   io.ReadCloser
	events *bufio.Reader // one event a line
	// lenient: an object that cannot be read does not end the watch.
	lenient bool
}

// Watch opens a stream of changes to the objects that opts select: those after
// opts.ResourceVersion, or without one the present state as Added events, in no particular order,
// and then the changes after that. Close it. A server ends every watch after some time; who follows
// a Source goes on from there.
func (r Resource[T]) Watch(ctx context.Context, opts meta.ListOptions) (*Watch[T], error) {
	path, err := r.path(r.namespace, "")
	if err != nil {
		return nil, err
	}
	opts.Watch = true
	resp, err := r.c.open(ctx, &call{
		method: http.MethodGet,
		path:   path,
		query:  listQuery(&opts),
		accept: accept[T](false),
	})
	if err != nil {
		return nil, err
	}
	return &Watch[T]{r: r, body: resp.Body, events: bufio.NewReader(resp.Body), lenient: meta.ShowsUnread(ctx)}, nil
}

// Next waits for a change. The error is io.EOF where the server has ended the watch in good order:
// another one from the last event or bookmark goes on without a gap. A *meta.StatusError is why the
// server cannot go on; with one that meta.IsResourceExpired knows, the changes asked for are no
// longer known, and all has to be read anew.
func (w *Watch[T]) Next() (Event[T], error) {
	ev, u, err := w.next()
	if u != nil {
		ev.Object = nameOnly[T](u.Namespace, u.Name)
		ev.Object.GetObjectMeta().ResourceVersion = u.ResourceVersion
		if ev.Type != Deleted {
			ev.Type = Unread
		}
	}
	return ev, w.explained(err)
}

// explained says in an error that it is one of the watch.
func (w *Watch[T]) explained(err error) error {
	if err == nil || err == io.EOF || isStatus(err) {
		return err
	}
	return fmt.Errorf("client: watch of %s: %w", w.r.gvr.GroupResource(), err)
}

// next is Next, but u is not nil if the object cannot be read. Then the event has only its type.
func (w *Watch[T]) next() (ev Event[T], u *meta.Unread, err error) {
	line, end := w.events.ReadBytes('\n')
	if end != nil && (end != io.EOF || len(line) == 0) {
		return ev, nil, end
	}
	typ, object, err := cutEvent(line)
	switch {
	case err != nil && end == io.EOF: // in the middle of it
		return ev, nil, io.ErrUnexpectedEOF
	case err != nil:
		return ev, nil, err
	}
	ev.Type = typ
	switch typ {
	case Bookmark:
		ev.Object, err = w.r.decode(object, meta.GroupVersionKind{})
		return ev, nil, err
	case Added, Modified, Deleted:
		ev.Object, u, err = w.r.decodeItem(object, meta.GroupVersionKind{}, w.lenient)
		if u != nil && typ != Deleted {
			w.r.c.unread(w.r.gvr.GroupResource(), *u)
		}
		return ev, u, err
	case "ERROR":
		e := &meta.StatusError{}
		if err := json.Unmarshal(object, &e.Status); err != nil {
			return ev, nil, err
		}
		return ev, nil, e
	}
	return ev, nil, fmt.Errorf("unknown event %q", typ)
}

// cutEvent takes a line apart. In the form that servers give it, the object is not looked into, as
// that is what its decoder does.
func cutEvent(line []byte) (EventType, []byte, error) {
	rest, begun := bytes.CutPrefix(line, []byte(`{"type":"`))
	rest, ended := bytes.CutSuffix(rest, []byte("}\n"))
	if typ, object, ok := bytes.Cut(rest, []byte(`","object":`)); ok && begun && ended {
		return EventType(typ), object, nil
	}
	var event struct {
		Type   EventType       `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	err := json.Unmarshal(line, &event)
	return event.Type, event.Object, err
}

// Close ends the watch, and a Next that waits.
func (w *Watch[T]) Close() { w.body.Close() }

// isStatus reports whether err is the server's word.
func isStatus(err error) bool {
	var status *meta.StatusError
	return errors.As(err, &status)
}
