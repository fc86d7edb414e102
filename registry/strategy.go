package registry

import (
	"context"
	"net/http"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// This file has the types of a declaration: what a kind says about itself. Packages such as
// registry/core fill in ResourceOf and Typed turns it into the Resource that New takes. Nothing
// here runs; the fields say when the Store calls their functions.

// Request is what strategies, reservations and guards see of the request. It belongs to one write.
type Request struct {
	Now       time.Time // of the present try of a write, not of the request; UTC, whole seconds
	User      *request.User
	Namespace string
	Name      string // of the path; "" for a create
	DryRun    bool
	Context   context.Context // of the request: a function that runs long ends with it

	warn func(text string) // nil: warnings are dropped
}

// Warn sends the client a warning about what Prepare does to its object. It is sent even if the
// write fails. A warning that depends on the finished object belongs in StrategyOf.Warnings
// instead.
func (r *Request) Warn(text string) {
	if r.warn != nil {
		r.warn(text)
	}
}

// These types are the declarations that a Store works with, for objects of any kind. A declaration
// for one kind is made with a generic type, such as ResourceOf. Typed turns it into a Resource.
type (
	Resource    = ResourceOf[meta.Object]
	Subresource = SubresourceOf[meta.Object]
	Strategy    = StrategyOf[meta.Object]
	Status      = StatusOf[meta.Object]
	Table       = TableOf[meta.Object]
	Projection  = ProjectionOf[meta.Object]
	Reserve     = ReserveOf[meta.Object]
	Guard       = GuardOf[meta.Object]
)

// StrategyOf is the rules of a kind for its objects. The functions are pure: no I/O and no clock
// but Request.Now. Objects are in the hub, whose type is T. old is the object before an update, and
// nil on create. Every function may be nil.
//
// The Store handles and validates ObjectMeta, counts metadata.generation and separates the status
// from the spec. The strategy has the rules for the rest of the object.
type StrategyOf[T meta.Object] struct {
	// ValidateName says what is wrong with a name, or with a generateName if prefix is set. nil:
	// DNS-1123 subdomain.
	ValidateName func(name string, prefix bool) []string

	// Metadata selects checks of ObjectMeta in addition to those that all kinds have.
	Metadata MetaChecks

	// Prepare runs before validation. It clears fields that a client may not set, sets fields that
	// the server owns, and restores from old the fields that must not change. Before it runs, the
	// fields of doors are as in old, the status of a new object is empty (unless Status.OnCreate is
	// set), and a new object has its name and UID.
	Prepare func(r *Request, obj, old T)

	// Validate returns the errors of a new object, or of a change from old to obj.
	Validate func(obj, old T) field.ErrorList

	// ValidateIn is used instead of Validate if the rules depend on the group version that the
	// client writes in (Events).
	ValidateIn func(gv meta.GroupVersion, obj, old T) field.ErrorList

	// ValidateRequest is used instead of Validate if the rules run long, warn the client, or depend
	// on the errors found so far (found). It returns only further errors.
	ValidateRequest func(r *Request, found field.ErrorList, obj, old T) field.ErrorList

	// Warnings returns texts for the client about a valid object.
	Warnings func(obj, old T) []string

	// Canonicalize brings a valid object into its normal form. It runs after validation and before
	// the validators of admission.
	Canonicalize func(obj T)

	// AllowCreateOnUpdate lets PUT create what does not exist.
	AllowCreateOnUpdate bool
	// AllowUnconditionalUpdate lets an update leave out resourceVersion: the last writer wins.
	AllowUnconditionalUpdate bool

	// Graceful reports whether a deletion gives the object a grace period. It may set
	// opts.GracePeriodSeconds (seconds), which must not be nil if it returns true. nil: deletions
	// are immediate.
	Graceful func(obj T, opts *meta.DeleteOptions) bool

	// Held reports whether a field other than metadata.finalizers keeps a deleted object in the
	// store (namespaces: spec.finalizers).
	Held func(obj T) bool
	// Terminate is for objects whose content is deleted before they go (namespaces, definitions).
	// It shows in obj that its deletion has begun. With Terminate, the first deletion only marks
	// the object, even if nothing holds it.
	Terminate func(obj T)

	// Permanent returns why the object of a name cannot be deleted, "" if it can be.
	// DeleteCollection does not call it.
	Permanent func(name string) string
	// OrphanByDefault keeps dependents if the client sends no propagation policy (Jobs,
	// ReplicationControllers).
	OrphanByDefault bool
	// OrphanWarning is the warning to a client that deletes without a propagation policy; may be
	// "".
	OrphanWarning string
	// NoGarbageCollection keeps the garbage collector's finalizers off the kind (Events).
	NoGarbageCollection bool
}

// MetaChecks are checks of ObjectMeta that only some kinds make. Most repeat the common checks,
// because kube-apiserver's code for a kind calls them itself, and the client then sees each error
// twice. The bits reproduce that.
type MetaChecks uint8

const (
	// MetaRepeat repeats the checks of the new metadata on an update.
	MetaRepeat MetaChecks = 1 << iota
	// MetaCompare compares old and new metadata a second time on an update.
	MetaCompare
	// MetaFinalizers reports finalizers without a domain, except Kubernetes' own. On an update it
	// reports nothing by itself, but once for each of MetaCompare and MetaRepeat that is set beside
	// it.
	MetaFinalizers

	// MetaCommon selects no check beside those of all kinds. MetaChange, MetaObject and MetaWhole
	// are the combinations that occur.
	MetaCommon MetaChecks = 0
	MetaChange            = MetaCompare | MetaFinalizers
	MetaObject            = MetaRepeat | MetaFinalizers
	MetaWhole             = MetaChange | MetaObject
)

func (c MetaChecks) has(check MetaChecks) bool { return c&check != 0 }

// ofDoor returns the checks of a door whose resource has the checks c. A door does not repeat the
// checks of the new metadata, except for kinds with MetaObject, as in kube-apiserver.
func (c MetaChecks) ofDoor() MetaChecks {
	if c == MetaObject {
		return c
	}
	return c &^ MetaRepeat
}

// ReserveOf is the step of a write that takes something outside the object, such as addresses and
// ports, and sets it in obj, before the object is prepared and validated. It may do I/O. A
// reservation that is only counted, and not shown in the object, is an admission.Reserver, which
// runs after all validators.
//
// obj has its namespace and name. On create, old is nil and obj has its UID as well. When old is
// removed, through any door, obj is nil. ReserveOf is called once for each try of a write, with the
// state that the try starts from. It is not called for a deletion that only marks the object, nor
// for a write to a part of the object, such as its status. An error ends the write, and means that
// nothing is taken.
//
// settle, if not nil, is called once with the fate of the try: see admission.Settle. The fate of an
// update that changes nothing is Stored, that of a dry run NotStored. In a dry run (r.DryRun),
// ReserveOf must take nothing that other requests could see.
type ReserveOf[T meta.Object] func(ctx context.Context, r *Request, obj, old T) (settle admission.Settle, err error)

// GuardOf refuses a write that authorization has allowed, because of the content of the object:
// RBAC refuses a role with rights that its writer lacks. Its error is the answer. It sees the
// object as admission left it, before it is prepared and validated, and may do I/O. old is nil on
// create. Writes of the server itself are not guarded.
type GuardOf[T meta.Object] func(ctx context.Context, r *Request, obj, old T) error

// FieldValue declares one selectable field, and how its value is found in an encoded object.
type FieldValue struct {
	// Label is the name in a field selector, such as "spec.nodeName".
	Label string
	// Path is the path of the value in the JSON of the object, such as "spec.nodeName".
	Path string
	// Else is a second path, which is read if the value at Path is empty; may be "".
	Else string
	// Default is the value of an object that lacks the field: "" for strings, "false" for booleans.
	Default string
	// Version is the only version that has the field; "" for all.
	Version string
	// Groups says that many clients each watch the objects with one value of the field (each
	// kubelet watches the pods of its node). The cache then wakes only the watchers of the values
	// that a changed object has or had. Redeclare cannot change which fields have Groups, because
	// running watches depend on them.
	Groups bool
}

// TableOf says how objects are shown to clients that ask for a Table, such as kubectl get.
type TableOf[T meta.Object] struct {
	Columns []meta.TableColumnDefinition
	// Cells returns one value for each column: string, int64, bool or float64. now is for ages. It
	// must accept an empty object, without defaults and not valid: that is the row of a bookmark.
	Cells func(obj T, now time.Time) []any
	// Conditions returns the conditions of the row, such as Completed; may be nil.
	Conditions func(obj T) []meta.TableRowCondition
}

// ResourceOf declares a stored resource: how it is named, stored, checked and shown. Built-in
// resources, custom resources and those of programs that embed the server are all declared by it.
type ResourceOf[T meta.Object] struct {
	GroupResource meta.GroupResource // plural: "pods"
	Kind          string
	ListKind      string // "": the kind with List behind it
	Singular      string // "": the kind in lower case
	ShortNames    []string
	Categories    []string
	Namespaced    bool

	// Type is the kind of the objects; nil means the Go types that are registered for Kind.
	Type kind.Kind
	// StorageVersion is the version stored; "" means the most preferred one that has the kind.
	StorageVersion string
	// StoredAsJSON stores objects as JSON even if Config.Protobuf is set.
	StoredAsJSON bool

	// Complete fills in fields that an object of an older server may lack and that defaults cannot
	// fill in. It is called when an object is loaded, after defaulting and conversion to the hub,
	// and never for a write of this server. It is pure and idempotent. nil: defaults complete the
	// objects.
	Complete func(obj T)
	// CompleteNeeds are the conditions on an object in the storage version under which Complete
	// changes nothing, written as the needs of scheme.AddDefaulting. An object that meets them is
	// not decoded when it is loaded. Without CompleteNeeds every object is decoded. New reports a
	// mistake in them; for a lazy kind, loading the first object panics instead.
	CompleteNeeds []string

	Strategy StrategyOf[T]
	// Generation lists the fields, such as "spec", whose changes metadata.generation counts. It
	// begins at 1, and counts changes through every door. nil: the kind has no generation.
	Generation []string
	// ResetFields lists the fields that a write to the resource itself leaves unchanged, so that
	// the writer does not come to own them in managedFields. nil: the status, if the kind has one.
	ResetFields []string
	// ResetFieldsIn lists such fields by version, in place of ResetFields. As in kube-apiserver, a
	// write in one version resets only the fields of that version.
	ResetFieldsIn map[string][]string
	// Status declares the status of the kind; nil: it has none.
	Status *StatusOf[T]
	// Reserve is nil for nearly all kinds.
	Reserve ReserveOf[T]
	// Guard is nil for nearly all kinds.
	Guard GuardOf[T]
	// Subresources are the subresources beside status: scale, binding, exec.
	Subresources []SubresourceOf[T]

	// Fields are the selectable fields in addition to metadata.name and metadata.namespace.
	Fields []FieldValue
	Table  *TableOf[T] // nil: name and age
	// Tables are the tables of single versions (of custom resources), which override Table.
	Tables map[string]*TreeTable

	// TTL returns how long an object is stored after its last write; nil or 0: until it is deleted.
	TTL func(obj T) time.Duration
	// ReturnsDeleted makes a deletion answer with the object instead of a Status.
	ReturnsDeleted bool
	// Verbs leaves out verbs that the kind does not serve. nil: all of create, delete,
	// deletecollection, get, list, patch, update, watch. There is no patch without update.
	Verbs []string
	// Served lists the versions that clients can use. nil: all versions of the kind.
	Served []string
	// NoCreate, if not "", is why objects cannot be created (a definition that is being deleted).
	// Discovery then does not list create.
	NoCreate string
	// Custom serves the resource as custom resources are served: items of lists carry apiVersion
	// and kind. Kinds without a Go type are always served so.
	Custom bool
	// Since is the revision of the store at which the resource began to exist; 0 means always. A
	// watch from an earlier revision gets a 410. New reads it, Redeclare does not.
	Since storage.Revision

	// Deprecated lists versions that clients should stop to use. A request in such a version gets a
	// warning.
	Deprecated []Deprecation

	// fits reports whether obj has the type that the functions expect; nil: any type fits.
	fits func(obj meta.Object) bool
}

// Deprecation says that a resource is deprecated in a version.
type Deprecation struct {
	Version string // "": all versions
	Since   string // the release that began to warn: "1.33"
	Removed string // the release that no longer serves it; "": none is known
	// Instead is the kind that clients should use; zero: there is none.
	Instead meta.GroupVersionKind
	// Warning, if not "", replaces the text that is made of the other fields.
	Warning string
}

// StatusOf declares the status of a kind: the field "status", and the subresource of that name,
// which is the only door through which it can be written. The functions are those of that door, as
// in StrategyOf; old is never nil.
type StatusOf[T meta.Object] struct {
	// OnCreate keeps the status that a client sends with a new object, as kubelets do. Else the
	// status is cleared before Prepare.
	OnCreate bool

	Prepare  func(r *Request, obj, old T)
	Validate func(obj, old T) field.ErrorList
	Warnings func(obj, old T) []string
	Metadata MetaChecks // as in SubresourceOf
	// ResetFields lists the fields that a write to the status leaves unchanged, as in ResourceOf.
	// nil: spec.
	ResetFields []string
}

// SubresourceOf declares a subresource. There are three sorts:
//   - a door, through which a part of the object can be read and changed: status. It has neither
//     Project, Create nor Connect;
//   - a door that shows a kind of its own: scale, which has Project;
//   - an action: Create, which takes and answers an object of Kind that is not stored (binding,
//     eviction, token), or Connect, which hands on the connection (exec, log, proxy).
type SubresourceOf[T meta.Object] struct {
	// Name is the last segment of the path: "status".
	Name string
	// Kind is the kind and version that clients read and write here. It must be registered in the
	// scheme. Zero: that of the resource.
	Kind meta.GroupVersionKind
	// Owns lists fields of the hub, such as "status", that only this door can change: updates of
	// the resource and of other doors leave them as they are. An update through this door leaves
	// all other fields but metadata as they are.
	Owns []string
	// Versions lists the versions of the resource that have the subresource; nil: all. Two doors of
	// one name must not share a version.
	Versions []string
	// Verbs lists the served verbs. nil: get, patch, update for a door; create for Create; get for
	// Connect.
	Verbs []string

	// Prepare, Validate, ValidateRequest and Warnings are the rules of a door, as in StrategyOf;
	// old is never nil. A door with Project has none of them: its changes follow the rules of the
	// resource. AllowUnconditionalUpdate of the resource holds for its doors, except that a door
	// with Project can always leave resourceVersion out.
	Prepare         func(r *Request, obj, old T)
	Validate        func(obj, old T) field.ErrorList
	ValidateRequest func(r *Request, found field.ErrorList, obj, old T) field.ErrorList
	Warnings        func(obj, old T) []string
	// ResetFields lists the fields that a write through the door leaves unchanged, as in
	// ResourceOf.
	ResetFields []string
	// Metadata selects the checks of ObjectMeta that the door makes. MetaCommon stands for no
	// checks if the door has neither Validate nor ValidateRequest. Otherwise it stands for the
	// checks of the resource without MetaRepeat, or all of them if they are MetaObject.
	Metadata MetaChecks

	Project *ProjectionOf[T]
	// Also lists further versions of Kind that an action accepts.
	Also []string
	// Complete fills in fields of an action that the client may leave out, from other objects, and
	// refuses an action that contradicts them. It runs before Check, and may do I/O. It may be nil.
	Complete func(ctx context.Context, a *Action) error
	// Check validates the object of an action. It runs after the mutators and before the validators
	// of admission; may be nil.
	Check func(a *Action) error
	// Create runs an action and returns the answer: an object in the hub of Kind, or a
	// *meta.Status. It may do I/O. It is called only after admission has let the request pass.
	Create func(ctx context.Context, a *Action) (meta.Typed, error)
	// Returned says that the answer of Create is the object that the client sent, with its result
	// filled in. Its managedFields then record who owns its fields.
	Returned bool
	// Connect returns the handler of a connection to the object that c names. Kind is the kind of
	// the options, which come in the query.
	Connect func(ctx context.Context, c *Connection) (http.Handler, error)
}

// TreeTable is a Table whose cells are read from the JSON tree of an object in one version (custom
// resources).
type TreeTable struct {
	Columns []meta.TableColumnDefinition
	// Cells returns one value for each column. It must not change object, and must accept nil: that
	// is the row of a bookmark.
	Cells func(object map[string]any, now time.Time) []any
}

// ProjectionPurpose is why a door shows an object as another kind.
type ProjectionPurpose uint8

const (
	ToRead   ProjectionPurpose = iota // a client reads it
	ToChange                          // an update, patch or apply starts from it
	AsResult                          // it is the result of a change, for the client, or the old object for admission
)

// ProjectionOf shows and changes objects as another kind, such as Scale.
type ProjectionOf[T meta.Object] struct {
	// Show returns obj as the subresource's Kind, in its hub. The Store sets the metadata. An error
	// is the answer.
	Show func(obj T, to ProjectionPurpose) (meta.Object, error)
	// Apply sets in obj what the client wrote in shown.
	Apply func(obj T, shown meta.Object) error
	// Validate returns the errors of the object that the client sent; may be nil.
	Validate func(shown meta.Object) field.ErrorList
	// Replicas is the field of objects that spec.replicas of a Scale sets, such as "spec.replicas".
	// A manager that owns one owns the other.
	Replicas string
	// ReplicasIn is Replicas by version, for kinds whose versions differ; "" for a version that has
	// no such field.
	ReplicasIn map[string]string
	// Table shows the result of Show as a row of a Table; may be nil.
	Table *Table
}
