package registry

import (
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Request is what a strategy may know of the request that it serves.
type Request struct {
	Now       time.Time // UTC, whole seconds
	User      *request.User
	Namespace string
	DryRun    bool
}

// Strategy is what a kind decides about its objects. The functions are pure: no I/O and no clock but Request.Now.
// Objects are of the hub version. Every function may be nil, meaning nothing special.
//
// ObjectMeta is handled and validated by the Store; strategies see to the rest.
type Strategy struct {
	// ValidateName says what is wrong with a name, or with a generateName if prefix is set. nil: DNS-1123 subdomain.
	ValidateName func(name string, prefix bool) []string

	// Prepare drops what a client may not set on create, such as status, and sets what the server owns.
	Prepare func(r *Request, obj meta.Object)
	// PrepareUpdate keeps from old what this door may not change (status, or all but status) and bumps
	// ObjectMeta.Generation, which comes in as old's, when the kind counts the change.
	PrepareUpdate func(r *Request, obj, old meta.Object)

	Validate       func(r *Request, obj meta.Object) field.ErrorList
	ValidateUpdate func(r *Request, obj, old meta.Object) field.ErrorList

	// Warnings are texts for the client, also when the write succeeds. old is nil on create.
	Warnings func(r *Request, obj, old meta.Object) []string

	// Canonicalize brings a valid object into its normal form, right before it is stored.
	Canonicalize func(obj meta.Object)

	// AllowCreateOnUpdate lets PUT create what does not exist.
	AllowCreateOnUpdate bool
	// AllowUnconditionalUpdate lets PUT leave out resourceVersion.
	AllowUnconditionalUpdate bool

	// Graceful decides whether a deletion gives the object time. It may set opts.GracePeriodSeconds, and must leave
	// it set if it returns true. nil: deletions are immediate.
	Graceful func(r *Request, obj meta.Object, opts *meta.DeleteOptions) bool

	// Held reports whether something beside metadata.finalizers keeps a deleted object (namespaces: spec.finalizers).
	Held func(obj meta.Object) bool
	// Terminate is told that the deletion of an object that is held has begun, and shows it in the object.
	Terminate func(obj meta.Object)

	// OrphanByDefault leaves dependents alone if the client says nothing (Jobs, ReplicationControllers).
	OrphanByDefault bool
	// NoGarbageCollection keeps the garbage collector's finalizers off the kind (Events).
	NoGarbageCollection bool
}

// FieldValue reads one selectable field from an object's encoded JSON.
type FieldValue struct {
	// Label is the name in a field selector, such as "spec.nodeName".
	Label string
	// Path is where the value stands, such as "spec.nodeName".
	Path string
	// Default is the value of an object that lacks the field: "" for strings, "false" for booleans.
	Default string
}

// Table says how a kind is printed by clients that ask for as=Table.
type Table struct {
	Columns []meta.TableColumnDefinition
	// Cells returns one value for each column: string, int64, bool or float64. now is for ages.
	Cells func(obj meta.Object, now time.Time) []any
	// Conditions may be nil. It returns the row's conditions, such as Completed.
	Conditions func(obj meta.Object) []meta.TableRowCondition
}

// Resource declares a resource of a built-in or library user's kind.
type Resource struct {
	GroupResource meta.GroupResource // plural: "pods"
	Kind          string
	Singular      string
	ShortNames    []string
	Categories    []string
	Namespaced    bool

	// KeyPrefix is the resource's place under the store's prefix, such as "pods" or "services/specs"; "" means the
	// plural, or "group/plural" if the scheme has no hub for the group.
	KeyPrefix string
	// StorageVersion is the version stored; "" means the group's preferred one.
	StorageVersion string

	Strategy Strategy
	// Subresources are further doors to a part of the object: status, finalize.
	Subresources []Subresource

	// Fields are the selectable fields beside metadata.name and metadata.namespace.
	Fields []FieldValue
	Table  *Table // nil: name and age

	// TTL is how long an object is kept; nil or 0: until deleted.
	TTL func(obj meta.Object) time.Duration
	// ReturnsDeleted makes a deletion answer with the object instead of a Status.
	ReturnsDeleted bool
	// Verbs leaves out verbs that the kind does not serve. nil: all of create, delete, deletecollection, get, list,
	// patch, update, watch.
	Verbs []string
}

// Subresource is a door through which a part of an object can be changed.
type Subresource struct {
	// Name is the last segment of the path: "status".
	Name string
	// Strategy decides what may change. Only PrepareUpdate, ValidateUpdate, Warnings and Canonicalize are used.
	Strategy Strategy
	// Verbs are those served. nil: get, patch, update.
	Verbs []string
}
