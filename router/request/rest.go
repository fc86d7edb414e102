package request

import (
	"context"
	"iter"

	"github.com/coracle-project/coracle/scheme/meta"
)

// The types that router and registry exchange. The router makes ListRequests and Writes and passes
// them to the registry behind a router.Resource; the registry answers with Encoded objects, Lists,
// Events and DeleteResults.

// Encoded is one object at one revision, as bytes. Implementations are immutable and shared between
// requests.
//
// A form is one encoding of an object: a combination of kind, version and media type. The registry
// gives each form a small number, so that finding a form of an object needs no hashing.
type Encoded interface {
	// Stored returns the object as it is stored, and the number of that form.
	Stored() (data []byte, form uint32)
	// Head returns the length of the prefix `{"kind":...,"apiVersion":...,` of Stored's bytes,
	// which the items in lists of built-in kinds do not have. It is 0 if the bytes are not JSON.
	Head() int
	// Form returns another form of the object. build makes it on first demand; the result is kept
	// beside the object for a while. Concurrent callers may each call build; one result is kept.
	Form(form uint32, build func() ([]byte, error)) ([]byte, error)
	// Revision returns the revision of the object, which is its resourceVersion.
	Revision() uint64
}

// Verdict is an Encoded that may be a Status instead of an object, such as the answer to a binding.
type Verdict interface {
	Encoded
	// Status returns the Status, or nil for an object.
	Status() *meta.Status
}

// ListRequest is a parsed and validated list, watch or deletecollection.
type ListRequest struct {
	Version              string // the version whose field names Fields uses; "" for the stored version
	Namespace            string // "" for all namespaces
	Labels               meta.LabelRequirements
	Fields               meta.FieldRequirements
	ResourceVersion      string
	ResourceVersionMatch meta.ResourceVersionMatch
	Limit                int64
	Continue             string
	// The fields below are for watches only.
	SendInitialEvents *bool
	Bookmarks         bool
}

// List is one page of objects, all read at one revision.
type List struct {
	ResourceVersion string
	Continue        string
	Remaining       *int64
	Items           iter.Seq[Encoded]
	Len             int // number of Items
	// Form returns the form in which all Items are stored, 0 if they are not all stored in the same
	// one. It looks at every item. nil: the implementation has no quicker way than the caller.
	Form func() uint32
}

// EventType is the type of a watch event, spelled as on the wire.
type EventType string

// The event types. Failed is an event whose object is the Status of an error.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
	Bookmark EventType = "BOOKMARK"
	Failed   EventType = "ERROR"
)

// Event is one change as a watcher sees it. A Bookmark has no Object, only the revision up to which
// all events were sent.
type Event struct {
	Type            EventType
	Object          Encoded
	ResourceVersion string // of a Bookmark only
	InitialEnd      bool   // the Bookmark that ends the initial events
}

// EventCursor is a position in the history of a resource. One goroutine uses it.
type EventCursor interface {
	// Next blocks until there are events or ctx ends. The slice is valid until the next call.
	// io.EOF means that the watch ends without a fault: the client may continue in a new watch from
	// the last event that it received.
	Next(ctx context.Context) ([]Event, error)
	// Close releases the cursor.
	Close()
}

// Current is the state of an object that an update starts from.
type Current struct {
	Encoded Encoded // nil if the object does not exist
	// Object decodes Encoded into the hub version, anew at each call. If the object does not exist,
	// it returns an empty one.
	Object func() (meta.Object, error)
}

// ChangeFunc makes the new object from the current one, in the version that the Write names. The
// registry owns the result and may change it. If the object was changed by somebody else meanwhile,
// or a generated name is taken, the registry calls it again.
type ChangeFunc func(ctx context.Context, cur Current) (meta.Typed, error)

// Apply is a server-side apply: the fields that a client wants to set, and nothing about the
// others.
type Apply struct {
	Config map[string]any // the applied configuration as a tree; never changed
	// Force takes over fields whose managers have set other values, instead of reporting a
	// conflict.
	Force bool
	// Check is called with the metadata of the result; exists says whether the object existed
	// before. Check may change m.
	Check func(m *meta.ObjectMeta, exists bool) error
}

// Rights answers whether the user of a request may use another verb on the object that it names.
type Rights interface {
	// May returns nil if the user may use the verb, otherwise the error for the user.
	May(ctx context.Context, verb string) error
}

// Write is a change that a client, or the server itself, wants of one object: the parameter of the
// write pipeline (registry/write.go). The pipeline does not change it, so the same Write may be
// used again.
type Write struct {
	Namespace string
	// Name is the name in the path. It is empty for a create, whose object has a name or gets a
	// generated one.
	Name string
	// Version is the API version that the client uses; "" for the stored version.
	Version string
	// User is the user who writes; nil for the server itself.
	User *User
	// Manager becomes the owner of the fields that are set: the parameter fieldManager, or the
	// beginning of the user agent. If it is empty, the write does not record owners and
	// managedFields are stored as they are.
	Manager string
	// DryRun runs every step and stores nothing.
	DryRun bool
	// Options are the client's CreateOptions, UpdateOptions or DeleteOptions, and never nil for
	// those. For a connection they are the options of its kind, such as PodExecOptions, in the
	// version served, or nil if the connection takes none.
	Options meta.Typed
	// Change makes the new object. It is nil for a deletion.
	Change ChangeFunc
	// Apply, if set, replaces Change. Manager is then not empty.
	Apply *Apply
	// UID, if set, must be the uid of the current object. It is for PUT; a patch that changes the
	// uid is an invalid object instead.
	UID meta.UID
	// Invalid, if set, says what is wrong with the kind and apiVersion in the sent object. The
	// pipeline reports it when it validates the object: NotFound, Conflict and the refusals of
	// admission are reported before it. Writes through a subresource ignore it.
	Invalid error
	// ForceCreate lets an update create an object that does not exist, whatever the strategy of the
	// resource says. An apply sets it.
	ForceCreate bool
	// Rights is asked for the verb create before an update creates an object; nil: no question.
	Rights Rights
	// Admitted says that admission has already admitted the request that this write is a part of,
	// and is not asked again.
	Admitted bool
	// Warn sends a warning to the client, also if the write succeeds. Annotate adds to the audit
	// record of the request. AnnotateRequest does so if the record has the request's body. Each is
	// nil if nobody receives what it says.
	Warn                      func(text string)
	Annotate, AnnotateRequest func(key, value string)
	// Story is told what admission does with the write; nil if nobody wants it.
	Story *Story
}

// DeleteResult is the outcome of a deletion.
type DeleteResult struct {
	// Encoded is the deleted object, or, if finalizers or a grace period keep it, the object marked
	// as being deleted. It is nil if Status is the answer.
	Encoded Encoded
	// Status is the answer of resources that do not return the deleted object.
	Status *meta.Status
	// Done is false if the object still exists, until its finalizers are removed or its grace
	// period ends.
	Done bool
}
