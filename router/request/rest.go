package request

import (
	"context"
	"iter"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Encoded is one object at one revision, as bytes. Implementations are immutable and shared between requests.
//
// Forms are the encodings of an object: combinations of kind, version and media type, each with a small number that the
// registry hands out, so that finding one needs no hashing.
type Encoded interface {
	// Stored is the object as it is stored, and the form that this is.
	Stored() (data []byte, form uint32)
	// Head is the length of the leading `{"kind":...,"apiVersion":...,` of what Stored returns, if it is JSON, without
	// which lists of built-in kinds show their items.
	Head() int
	// Form returns another form of the object, made on first demand by build and kept beside it for a while. Requests
	// that come at once may build it twice; one result is kept.
	Form(form uint32, build func() ([]byte, error)) ([]byte, error)
	// Revision is the revision of the object, its resourceVersion.
	Revision() uint64
}

// ListRequest is a parsed and validated list, watch or deletecollection.
type ListRequest struct {
	Version              string // in which Fields is meant; "" for the version stored
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
	// Form looks at all Items, and returns the form in which they are stored, 0 if that is not the same for all. nil if
	// nobody knows better than who asks.
	Form func() uint32
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
	// Object decodes it into the hub, each time anew; an empty object if it does not exist.
	Object func() (meta.Object, error)
}

// ChangeFunc makes the new object from the current one, in the version that the Write names. What it returns is the
// registry's to change; when the object has changed meanwhile, or its name is taken, it is called again.
type ChangeFunc func(ctx context.Context, cur Current) (meta.Typed, error)

// Apply is what a client wants of an object, without saying what the rest of it should be.
type Apply struct {
	Config map[string]any // a tree, which is not changed
	// Force takes fields from those who have given them other values.
	Force bool
	// Check is asked about what has become of the metadata; exists says that there was an object. It may change them.
	Check func(m *meta.ObjectMeta, exists bool) error
}

// Rights tells what else the user of a request may do with what it names.
type Rights interface {
	// May returns why a verb is not allowed, as the answer to the user; nil if it is.
	May(ctx context.Context, verb string) error
}

// Write is what a client, or the server itself, wants of one object: the parameter of the write pipeline. It is not
// changed, and may be given again.
type Write struct {
	Namespace string
	// Name is that of the path. It is empty for a create that brings its own, or has one made.
	Name string
	// Version is the one that the client speaks; "" for the one stored.
	Version string
	// User is who writes; nil for the server itself.
	User *User
	// Manager is who is to own the fields that are set: fieldManager, or the beginning of the user agent. If it is empty,
	// nobody records who owns what: managedFields are written as they are.
	Manager string
	// DryRun: everything happens, but nothing is stored.
	DryRun bool
	// Options are the client's: CreateOptions, UpdateOptions or DeleteOptions. Of a connection they
	// are of a kind of their own, such as PodExecOptions, in the version served, or nil if it takes
	// none. Else they are not nil.
	Options meta.Typed
	// Change makes the object. Of a deletion it is nil.
	Change ChangeFunc
	// Apply, if set, is in the place of Change. Then there is a Manager.
	Apply *Apply
	// UID, if set, must be that of the current object (PUT; a patch that changes the uid is invalid instead).
	UID meta.UID
	// Invalid, if set, is what is wrong with the kind and version that the object says it is of. It counts when the object is
	// validated: that it is not there, has another state, or is not admitted is said first. To a door it does not matter.
	Invalid error
	// ForceCreate lets an update create what does not exist, whatever the strategy says (apply).
	ForceCreate bool
	// Rights are asked before an update creates; nil: nobody is.
	Rights Rights
	// Admitted: admission has let pass what this is a part of, and is not asked again.
	Admitted bool
	// Warn tells the client something, also when the write succeeds; Annotate adds to the audit record of the request.
	// Either is nil if nobody listens.
	Warn     func(text string)
	Annotate func(key, value string)
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
