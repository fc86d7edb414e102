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

// Request is what a strategy may know of the request that it serves.
type Request struct {
	Now       time.Time // of the present try of a write, not of the request; UTC, whole seconds
	User      *request.User
	Namespace string
	Name      string // of the path; "" for a create
	DryRun    bool
	Context   context.Context // of the request: who works for long looks at it

	warn func(text string) // nil: nobody listens
}

// Warn tells the client something about what Prepare makes of its object. It is told even if the
// write fails; what can be seen in the finished object is for Warnings.
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

// StrategyOf is what a kind decides about its objects. The functions are pure: no I/O and no clock
// but Request.Now. Objects are of the hub version, whose type T is; old is the object before an
// update, nil on create. Every function may be nil, meaning nothing special.
//
// ObjectMeta is handled and validated by the Store, and so is what the declaration says of
// generation and status; strategies see to the rest.
type StrategyOf[T meta.Object] struct {
	// ValidateName says what is wrong with a name, or with a generateName if prefix is set. nil:
	// DNS-1123 subdomain.
	ValidateName func(name string, prefix bool) []string

	// Metadata are the checks of ObjectMeta beside those that all kinds have in common.
	Metadata MetaChecks

	// Prepare drops what a client may not set, sets what the server owns, and keeps from old what
	// may not change and no door owns. What doors own is as in old already, and a status that is
	// not the client's to bring is empty on create. A new object has its name and UID.
	Prepare func(r *Request, obj, old T)

	// Validate says what is wrong with a new object, or with a change.
	Validate func(obj, old T) field.ErrorList

	// ValidateIn stands in the place of Validate where the rules depend on the group version that
	// the client writes in (Events).
	ValidateIn func(gv meta.GroupVersion, obj, old T) field.ErrorList

	// Judge stands in the place of Validate where the rules take long, only warn of some things, or
	// depend on what is known to be wrong with the metadata (found).
	Judge func(r *Request, found field.ErrorList, obj, old T) field.ErrorList

	// Warnings are texts for the client, also when the write succeeds.
	Warnings func(obj, old T) []string

	// Canonicalize brings a valid object into its normal form, right before it is stored.
	Canonicalize func(obj T)

	// AllowCreateOnUpdate lets PUT create what does not exist.
	AllowCreateOnUpdate bool
	// AllowUnconditionalUpdate lets PUT leave out resourceVersion.
	AllowUnconditionalUpdate bool

	// Graceful decides whether a deletion gives the object time. It may set
	// opts.GracePeriodSeconds, and must leave it set if it returns true. nil: deletions are
	// immediate.
	Graceful func(obj T, opts *meta.DeleteOptions) bool

	// Held reports whether something beside metadata.finalizers keeps a deleted object (namespaces:
	// spec.finalizers).
	Held func(obj T) bool
	// Terminate is for objects that are emptied before they go: it is told that the deletion of one
	// has begun, and shows it in the object. The first deletion only begins, even if nothing holds
	// the object.
	Terminate func(obj T)

	// Permanent says why the object of a name cannot be deleted, "" if it can. Deletions of
	// collections do not ask.
	Permanent func(name string) string
	// OrphanByDefault leaves dependents alone if the client says nothing (Jobs,
	// ReplicationControllers).
	OrphanByDefault bool
	// OrphanWarning is what a client that says nothing is told; may be "".
	OrphanWarning string
	// NoGarbageCollection keeps the garbage collector's finalizers off the kind (Events).
	NoGarbageCollection bool
}

// MetaChecks are checks of ObjectMeta that only some kinds make. Most repeat those that all kinds
// have in common: the code for a kind in kube-apiserver makes its own, and a client is told of
// each.
type MetaChecks uint8

const (
	// MetaRepeat repeats the checks of the new metadata on an update.
	MetaRepeat MetaChecks = 1 << iota
	// MetaCompare compares old and new metadata a second time on an update.
	MetaCompare
	// MetaFinalizers lets no finalizers without a domain be but Kubernetes's own. On an update each
	// of the other two says so.
	MetaFinalizers

	// MetaCommon: no more than all kinds.
	MetaCommon MetaChecks = 0
	MetaChange            = MetaCompare | MetaFinalizers
	MetaObject            = MetaRepeat | MetaFinalizers
	MetaWhole             = MetaChange | MetaObject
)

func (c MetaChecks) has(check MetaChecks) bool { return c&check != 0 }

// ofDoor are the checks that a door to such a resource makes.
func (c MetaChecks) ofDoor() MetaChecks {
	if c == MetaObject {
		return c
	}
	return c &^ MetaRepeat
}

// ReserveOf is the step of a write that may do I/O and completes the object: it takes what the
// object needs from outside (addresses, ports) and shows it in obj, before the object is prepared
// and validated. What only counts, and changes nothing in the object, is an admission.Reserver,
// which comes after all validators. obj has its namespace and name. old is nil on create, when obj
// has its UID, too; obj is nil when old goes, through whichever door. It is called for each try of
// a write, with the state that the try starts from; a deletion that only begins is none, and
// neither is a write to a part of the object, such as its status. An error ends the write, and says
// that nothing is taken.
//
// settle, if it is not nil, follows the law of admission.Settle: it is called once for each try. An
// update that changes nothing is stored. After a dry run (r.DryRun) nothing is, and a reservation
// that others could see must not be made.
type ReserveOf[T meta.Object] func(ctx context.Context, r *Request, obj, old T) (settle admission.Settle, err error)

// GuardOf says why a user who may write an object may not write this one, as an answer; nil if they
// may. It sees the object as admission has changed it, before it is prepared or checked, and may do
// I/O. old is nil on create. Writes of the server itself are not guarded.
type GuardOf[T meta.Object] func(ctx context.Context, r *Request, obj, old T) error

// FieldValue reads one selectable field from an encoded object.
type FieldValue struct {
	// Label is the name in a field selector, such as "spec.nodeName".
	Label string
	// Path is where the value stands, such as "spec.nodeName".
	Path string
	// Else is where the value stands if it is empty at Path; may be "".
	Else string
	// Default is the value of an object that lacks the field: "" for strings, "false" for booleans.
	Default string
	// Version is the one in which the field is declared; "" for all.
	Version string
	// Groups says that many clients watch the objects with one value of the field each (the pods of
	// a node): a change wakes only those whose value the object has or had. They go by what the
	// declaration finds in objects, so a resource that is declared anew must have the same such
	// fields.
	Groups bool
}

// TableOf says how a kind is printed by clients that ask for as=Table.
type TableOf[T meta.Object] struct {
	Columns []meta.TableColumnDefinition
	// Cells returns one value for each column: string, int64, bool or float64. now is for ages. A
	// bookmark is the row of an empty object, without what defaults and checks make sure of.
	Cells func(obj T, now time.Time) []any
	// Conditions may be nil. It returns the row's conditions, such as Completed.
	Conditions func(obj T) []meta.TableRowCondition
}

// ResourceOf declares a resource of a built-in or library user's kind.
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
	// StoredAsJSON says that objects are stored as JSON, whatever the configuration says.
	StoredAsJSON bool

	// Complete fills in what an object that an older server stored may lack and defaults cannot
	// say, after the object was completed with defaults and converted to the hub. It is pure and
	// idempotent, and called for what is loaded, never for what is written here. nil: defaults say
	// everything.
	Complete func(obj T)
	// CompleteNeeds say what Complete has to find in an object in the storage version so that it
	// changes nothing, as the needs of scheme.AddDefaulting do. Without them each object that is
	// loaded is decoded. A mistake in them is an error of New; of a lazy kind, which New does not
	// look into, it is a panic when the first object is loaded.
	CompleteNeeds []string

	Strategy StrategyOf[T]
	// Generation are the fields, such as "spec", whose changes metadata.generation counts, from 1
	// on, through whichever door. nil: it is not counted.
	Generation []string
	// Reset are fields, such as "spec", that nobody can own by writing to the resource itself, as
	// that does not change them. nil: the status, if the kind has one.
	Reset []string
	// ResetIn are the fields of versions that have others than Reset, which then does not count.
	// Whoever writes in one version meets owners of the others without it.
	ResetIn map[string][]string
	// Status declares the status of the kind; nil: it has none.
	Status *StatusOf[T]
	// Reserve is nil for nearly all kinds.
	Reserve ReserveOf[T]
	// Guard is nil for nearly all kinds.
	Guard GuardOf[T]
	// Subresources are further doors to a part of the object, and what else can be done with it:
	// scale, binding.
	Subresources []SubresourceOf[T]

	// Fields are the selectable fields beside metadata.name and metadata.namespace.
	Fields []FieldValue
	Table  *TableOf[T] // nil: name and age
	// Tables are the tables of versions that are shown in another way than Table says.
	Tables map[string]*TreeTable

	// TTL is how long an object is kept; nil or 0: until deleted.
	TTL func(obj T) time.Duration
	// ReturnsDeleted makes a deletion answer with the object instead of a Status.
	ReturnsDeleted bool
	// Verbs leaves out verbs that the kind does not serve. nil: all of create, delete,
	// deletecollection, get, list, patch, update, watch. There is no patch without update.
	Verbs []string
	// Served are the versions in which clients are served. nil: all that the kind has.
	Served []string
	// NoCreate, if set, is why nothing can be created at the moment. What would create is not shown
	// in discovery.
	NoCreate string
	// Custom serves the resource as custom resources are, and as those of kinds without a Go type
	// always are: items of lists carry apiVersion and kind.
	Custom bool
	// Since is the revision of the store at which the resource began to be; 0 means always. Who
	// watches from before is told that it is too old. It counts when the resource is installed, not
	// when it is declared anew.
	Since storage.Revision

	// Deprecated are the versions that clients should turn away from. Whoever asks for the resource
	// in one of them is warned.
	Deprecated []Deprecation

	// fits reports whether the functions can take an object; nil: any.
	fits func(obj meta.Object) bool
}

// Deprecation says that a resource in a version is on its way out.
type Deprecation struct {
	Version string // "": all versions
	Since   string // the release that began to warn: "1.33"
	Removed string // the release that no longer serves it; "": none is known
	// Instead is what to use; zero: there is nothing.
	Instead meta.GroupVersionKind
	// Warning is what clients are told, if the rest does not say it.
	Warning string
}

// StatusOf is the status of a kind: the field of that name, what is observed of the object, and the
// door of that name to it, which is its only way in. The functions are those of the door, as in
// StrategyOf; there is always an old object.
type StatusOf[T meta.Object] struct {
	// OnCreate lets clients bring the status of new objects along, as kubelets do; else it is empty
	// when Prepare sees it.
	OnCreate bool

	Prepare  func(r *Request, obj, old T)
	Validate func(obj, old T) field.ErrorList
	Warnings func(obj, old T) []string
	Metadata MetaChecks // as in SubresourceOf
	// Reset are fields that nobody can own by writing to the status. nil: spec.
	Reset []string
}

// SubresourceOf is something beside the object itself that its path leads to. There are three
// sorts:
//   - a door, through which a part of the object can be read and changed: status. It has neither
//     Project, Create nor Connect;
//   - a door that shows a kind of its own: scale, which has Project;
//   - an action: Create, which takes and answers an object of Kind that is not stored (binding,
//     eviction, token), or Connect, which hands on the connection (exec, log, proxy).
type SubresourceOf[T meta.Object] struct {
	// Name is the last segment of the path: "status".
	Name string
	// Kind is what is read and written here, with its version; zero: the resource's own. It is
	// registered in the scheme.
	Kind meta.GroupVersionKind
	// Owns are the fields that nobody but this door may set, such as "status": the resource itself
	// and other doors keep them on an update, and this door keeps all others but metadata. They are
	// fields of the hub.
	Owns []string
	// Versions are those of the resource that have it; nil: all. Of doors with one name, each
	// version has at most one.
	Versions []string
	// Verbs are those served. nil: get, patch, update for a door; create for Create; get for
	// Connect.
	Verbs []string

	// Prepare, Validate, Judge and Warnings are those of a door, as in StrategyOf; there is always
	// an old object. What the resource says of updates without resourceVersion holds for its doors,
	// but those with Project. A door with Project has none of them: what it changes is changed by
	// the rules of the resource.
	Prepare  func(r *Request, obj, old T)
	Validate func(obj, old T) field.ErrorList
	Judge    func(r *Request, found field.ErrorList, obj, old T) field.ErrorList
	Warnings func(obj, old T) []string
	// Reset are fields that nobody can own by writing through a door.
	Reset []string
	// Metadata are the checks of ObjectMeta that a door makes. MetaCommon: those of the resource
	// without MetaRepeat (but MetaObject as it is) if the door has a Validate, else none of its
	// own.
	Metadata MetaChecks

	Project *ProjectionOf[T]
	// Also are further versions of Kind that an action takes.
	Also []string
	// Complete fills in what the client may leave out of an action, by what the server knows, and
	// refuses what that rules out. It comes before Check, may do I/O, and may be nil.
	Complete func(ctx context.Context, a *Action) error
	// Check says what is wrong with what the client sent, before admission approves of it; may be
	// nil.
	Check func(a *Action) error
	// Create does what the client asks for and returns what it is told: an object of the hub of
	// Kind, or a *meta.Status. It may do I/O, and is called once admission has let the request
	// pass.
	Create func(ctx context.Context, a *Action) (meta.Typed, error)
	// Returned: the answer of Create is the object that the client sent, completed, and says like a
	// new one who owns its fields.
	Returned bool
	// Connect returns the handler of a request to the object at namespace and name. Kind is that of
	// its options, which come in the query.
	Connect func(ctx context.Context, c *Connection) (http.Handler, error)
}

// TreeTable is a Table of the objects of one version, as the JSON that clients would get.
type TreeTable struct {
	Columns []meta.TableColumnDefinition
	// Cells returns one value for each column. It changes nothing. A bookmark is the row of an
	// object without anything.
	Cells func(object map[string]any, now time.Time) []any
}

// Occasion is what an object is shown as another kind for.
type Occasion uint8

const (
	ToRead   Occasion = iota // a client asks for it
	ToChange                 // a change starts from it
	AsResult                 // of a change, to the client and to admission
)

// ProjectionOf shows objects as another kind, such as a Scale.
type ProjectionOf[T meta.Object] struct {
	// Show returns what the client sees of obj, in the hub of the subresource's Kind. The Store
	// fills in its metadata. Errors are answers.
	Show func(obj T, to Occasion) (meta.Object, error)
	// Apply changes obj as the client changed what it was shown.
	Apply func(obj T, shown meta.Object) error
	// Validate says what is wrong with what the client sent; may be nil.
	Validate func(shown meta.Object) field.ErrorList
	// Replicas is where objects have what is spec.replicas of a Scale: whoever owns that owns this.
	Replicas string
	// ReplicasIn are the places by version, where they are not the same in all; "" in one without.
	ReplicasIn map[string]string
	// Table shows in a row what Show returns; may be nil.
	Table *Table
}
