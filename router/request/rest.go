package request

import (
	"context"
	"iter"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Encoded is one object at one revision, as bytes. Implementations are immutable and shared between requests.
type Encoded interface {
	// JSON is the whole object in the resource's storage version, resourceVersion included.
	JSON() []byte
	// Head is the length of the leading `{"kind":...,"apiVersion":...,` of JSON, without which lists of built-in
	// kinds show their items.
	Head() int
	// Form returns another encoding of the object, made on first demand by build and kept beside it. Requests that
	// come at once may build it twice; one result is kept. form is a small number that the codec factory hands out
	// for a combination of media type, version and metadata-only, so that finding one needs no hashing.
	Form(form uint32, build func() ([]byte, error)) ([]byte, error)
}

// ListRequest is a parsed and validated list, watch or deletecollection.
type ListRequest struct {
	Namespace            string // "" for all
	Labels               meta.LabelRequirements
	Fields               meta.FieldRequirements
	ResourceVersion      string
	ResourceVersionMatch meta.ResourceVersionMatch
	Limit                int64
	Continue             string
	// Of watches only.
	SendInitialEvents *bool
	Bookmarks         bool
}

// List is one page of objects, all of one revision.
type List struct {
	ResourceVersion string
	Continue        string
	Remaining       *int64
	Items           iter.Seq[Encoded]
	Len             int // of Items
}

// EventType is the type of a watch event as the wire spells it.
type EventType string

// The event types.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
	Bookmark EventType = "BOOKMARK"
	Failed   EventType = "ERROR"
)

// Event is one change as a watcher sees it. A Bookmark has no Object, but the revision up to which all was sent.
type Event struct {
	Type            EventType
	Object          Encoded
	ResourceVersion string // of a Bookmark
	InitialEnd      bool   // the Bookmark that ends the initial events
}

// EventCursor is a position in the history of a resource. It is used by one goroutine.
type EventCursor interface {
	// Next blocks until there are events or ctx ends. The slice is valid until the next call. With io.EOF the watch
	// ends without a fault: the client goes on, in another one, from the last event that it saw.
	Next(ctx context.Context) ([]Event, error)
	// Close releases the cursor.
	Close()
}

// Current is the state that an update starts from.
type Current struct {
	Encoded Encoded // nil if the object does not exist
	// Object decodes it into the hub version, each time anew; an empty object if it does not exist.
	Object func() (meta.Object, error)
}

// UpdateFunc makes the new object, in the hub version, from the current one. It is called again when the object
// has changed meanwhile.
type UpdateFunc func(ctx context.Context, cur Current) (meta.Object, error)

// UpdateRequest is one update or patch.
type UpdateRequest struct {
	Namespace string
	Name      string
	Change    UpdateFunc
	Options   *meta.UpdateOptions
	// UID, if set, must be that of the current object (PUT; a patch that changes the uid is invalid instead).
	UID meta.UID
	// ForceCreate lets the update create what does not exist, whatever the strategy says (apply).
	ForceCreate bool
}

// DeleteResult tells what became of a deletion.
type DeleteResult struct {
	// Encoded is the deleted (or, with finalizers or grace, marked) object; nil if the answer is Status.
	Encoded Encoded
	// Status is the answer of kinds that do not return the deleted object.
	Status *meta.Status
	// Done is false if the object lives on until finalizers or a grace period end.
	Done bool
}
