// Watches: Resource.Watch and the stream of events that it returns. The Source in follow.go reads
// its events, too.

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

// EventType says what has happened to an object, in the spelling of the API.
type EventType string

// The event types.
const (
	Added    EventType = "ADDED"    // the object exists, or has begun to match the selectors
	Modified EventType = "MODIFIED" // the object has changed
	Deleted  EventType = "DELETED"  // the object is gone, or has ceased to match the selectors
	Bookmark EventType = "BOOKMARK" // no change: all changes up to a revision have been sent
	// Unread is an event of this client alone: the object exists and cannot be read. Only a watch
	// with a context of meta.WithUnread has such events; any other watch ends with an error.
	Unread EventType = "UNREAD"
)

// Event is one change.
type Event[T meta.Object] struct {
	Type EventType
	// Object is the new state. For Deleted it is the last state, with the revision of the deletion.
	// For Bookmark it is an empty object with the revision; the bookmark after the initial events
	// has the annotation meta.InitialEventsAnnotation. For Unread, and for Deleted if the last
	// state cannot be read, it has only namespace, name and resourceVersion.
	Object T
}

// Watch is a stream of changes. It ends with its context, or with Close.
type Watch[T meta.Object] struct {
	r      Resource[T]
	body   io.ReadCloser
	events *bufio.Reader // one event a line
	// lenient says that an object that cannot be read is an event, and not the end of the watch.
	lenient bool
}

// Watch opens a stream of changes to the objects that opts select: the changes after
// opts.ResourceVersion; or, without one, the present objects as Added events, in no particular
// order, and then their changes. The caller must Close it. A server ends every watch after some
// time; follow.Changes on a Source opens the next one.
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

// Next waits for a change. The error is io.EOF if the server has ended the watch in good order: a
// new watch from the revision of the last event or bookmark misses nothing. A *meta.StatusError
// says why the server cannot go on. If meta.IsResourceExpired is true for the error, the server no
// longer has the changes, and the caller must list again.
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

// explained adds to an error which resource was watched. It leaves io.EOF and the server's errors
// as they are.
func (w *Watch[T]) explained(err error) error {
	if err == nil || err == io.EOF || isStatus(err) {
		return err
	}
	return fmt.Errorf("client: watch of %s: %w", w.r.gvr.GroupResource(), err)
}

// next does the work of Next. If an object cannot be read, u describes the object and the event has
// only a type.
func (w *Watch[T]) next() (ev Event[T], u *meta.Unread, err error) {
	line, end := w.events.ReadBytes('\n')
	if end != nil && (end != io.EOF || len(line) == 0) {
		return ev, nil, end
	}
	typ, object, err := cutEvent(line)
	switch {
	case err != nil && end == io.EOF: // the stream broke off in the middle of an event
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

// cutEvent splits a line into the type and the object of an event. For the usual form of a line it
// does not parse the object, which the decoder does later; any other form goes through
// encoding/json.
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

// Close ends the watch. A waiting Next returns an error.
func (w *Watch[T]) Close() { w.body.Close() }

// isStatus reports whether err is an error that the server has sent.
func isStatus(err error) bool {
	var status *meta.StatusError
	return errors.As(err, &status)
}
