// Package typeinfo compiles the struct tags of API types, once, into descriptors.
//
// A descriptor is the single source of everything that Kubernetes generates code for: JSON field
// checking, protobuf encoding, deep copy, declarative defaults and checks, conversion between
// versions, OpenAPI, strategic-merge keys and server-side-apply typing.
//
// Tags of a field (all but json optional):
//
//	json:"name,omitempty"   JSON name; json:",inline" on an embedded struct lifts its fields
//	pb:"3"                  protobuf field number; fields without one are not in the message
//	default:"TCP"           value set where the field is empty (zero, or a nil pointer)
//	enum:"TCP,UDP"          allowed values, for OpenAPI and for check:"enum"
//	itemEnum:"A,B"          the same for list elements
//	check:"required,min=1"  declarative checks, comma separated: required, optional, listed, enum, min=, max=,
//	                        minLength=, maxLength=, minItems=, maxItems=, immutable, format=<name>, pattern=<regexp>
//	                        (last, may hold commas)
//	list:"map,key=a,key=b"  list type: atomic, set or map with its keys; elements of a set and keys in a list of type map
//	                        must not repeat (Kubernetes judges its own types, io.k8s.*, by hand)
//	map:"atomic"            map type (atomic, granular)
//	struct:"atomic"         struct type of the field (atomic, granular); on a blank field (_ struct{}) it is that of
//	                        the declaring struct, wherever it is used
//	patch:"merge,key=name"  strategic-merge strategies (merge, replace, retainKeys) and merge key
//	rule:"self != 'x'"      an expression that a value has to fulfil, in the language and with the words of x-kubernetes-validations
//	                        (scheme/cel/rules); message, messageExpression, reason, fieldPath and optionalOldSelf:"true" are tags
//	                        beside it. On a blank field, of which there may be several, it is about the declaring struct
//	union:"member"          one of the fields of which at most one is set; union:"discriminator" on the field that says
//	                        which, if there is one
//
// A field is required in OpenAPI if it has no omitempty, unless check says otherwise: optional, or
// listed, which is required there and left to other rules here.
//
// Checks and rules hold for every write that is stored by the tags of the hub, and for a write in
// another version by the tags of that version's Go type as well: what a client writes in v1alpha1
// is judged by v1alpha1, after admission, beside the hub. Whoever writes in a version without such
// tags is judged by the hub alone, and pays nothing. Kubernetes judges its declarative validation
// in the version of the request, too.
//
// Every exported field needs a json tag: a name that follows from Go's spelling alone is a mistake
// in an API.
//
// A type that has a JSON form of its own (json.Marshaler on it or on its pointer) is Custom; a
// struct that embeds a tagged struct never is, because it would inherit the method by accident.
//
// Descriptors are compiled once for each Go type, are immutable, and are shared by all goroutines.
// Nothing here panics on a bad tag: Register reports all mistakes of all reachable types at once,
// and Of answers nil.
//
// Not here: the wire formats (scheme/codec), schemas of custom resources (scheme/schema), versions
// (scheme).
//
// Read: typeinfo.go (what a descriptor says), compile.go and tags.go (how it is made), names.go and
// docs.go (OpenAPI names and descriptions), then what is derived: copy.go, equal.go, defaults.go,
// check.go, unique.go. What works on memory does so by pointer.go.
package typeinfo

import "reflect"

// Kind is the shape of a value in the API.
type Kind uint8

// The kinds. Custom types have their own JSON form (they implement json.Marshaler) and a Format.
const (
	Struct Kind = iota + 1
	List        // Go slice, other than []byte
	Map         // Go map with string keys
	String      // also named string types
	Bool
	Int32
	Int64
	Float64
	Bytes  // []byte, base64 in JSON
	Any    // interface{}: any JSON value
	Custom // Time, MicroTime, Duration, Quantity, IntOrString, RawExtension, FieldsV1 and the like
)

// Type describes one Go type. It is immutable and shared; there is one Type for each Go type. A
// pointer type has no Type of its own: Field.Pointer or Type.ElemPointer says so.
type Type struct {
	Go   reflect.Type // never a pointer type
	Kind Kind
	// Name is the OpenAPI model name of a struct or custom type, such as "io.k8s.api.core.v1.Pod".
	Name string

	// Fields are the fields of a Struct as JSON sees them: inlined structs are flattened into their
	// parent, in declaration order.
	Fields []*Field
	// Members are the fields of a Struct as Go and protobuf see them: an inlined struct is one
	// member.
	Members []*Field

	// Atomic says that server-side apply treats the struct as one value (struct:"atomic" on a blank
	// field).
	Atomic bool
	// Rules are expressions that a Struct has to fulfil (rule on blank fields).
	Rules []Rule

	Elem        *Type        // of a List or Map; else nil
	ElemPointer bool         // the elements are pointers
	Key         reflect.Type // of a Map, a string type; else nil

	// Proto is not nil if the type reads and writes its own protobuf message, as most Custom types
	// and the lists that are wrapped in a message do. The value is a pointer to a zero value; it
	// only marks the capability, and is the sample for Aim. A Custom struct without it has Members.
	Proto ProtoMessage

	byName map[string]*Field
}

// ProtoMessage marks the custom types that read and write their own protobuf message, without tag
// or length.
type ProtoMessage interface {
	AppendProto([]byte) []byte
	ParseProto([]byte) error
}

// Choice is a Custom type whose JSON form is that of one of its parts, or null: a schema or a list
// of schemas. Codecs read and write that part themselves, because a type that does it by
// MarshalJSON and UnmarshalJSON goes through all that is nested in it once more for each level.
type Choice interface {
	// Choose clears the value and makes room in it for JSON that begins with first. It returns a
	// pointer to what that is to be decoded into, nil if it is to be skipped, or why it cannot be
	// read.
	Choose(first byte) (any, error)
	// Chosen returns a pointer to what is written, nil for null.
	Chosen() any
}

// Field describes one field of a struct.
type Field struct {
	Name   string // in JSON; empty for an inline member
	GoName string
	// Index is the path for reflect.Value.FieldByIndex from the Type that lists the field.
	Index []int
	// Offset is that path as a byte offset: inlined structs are never pointers.
	Offset  uintptr
	Type    *Type
	Pointer bool // the Go field is a pointer to Type
	Inline  bool // an embedded struct whose fields are lifted in JSON (only in Members)
	// Owner is the Go struct type that declares the field; JSON type errors name it.
	Owner reflect.Type

	OmitEmpty bool // omitempty or omitzero
	Required  bool
	Number    int32 // protobuf field number, 0 if none
	// Default is the default as the tag spells it; HasDefault tells an empty one from none.
	Default    string
	HasDefault bool
	Enum       []string
	ItemEnum   []string
	Checks     []Check
	Rules      []Rule // at most one

	ListType string // "", atomic, set, map
	ListKeys []string
	Unique   bool   // no two elements of the set, or keys in the list of type map, may be the same
	MapType  string // "", atomic, granular
	Atomic   bool   // struct:"atomic" here or on the type

	Discriminator bool // says which Member is set
	Member        bool // one of a union

	PatchMerge      bool
	PatchReplace    bool
	PatchRetainKeys bool
	PatchKey        string // merge key
}

// Check is one declarative check: a name such as "min" and its argument.
type Check struct {
	Name string
	Arg  string
}

// Rule is an expression that a value has to fulfil, as x-kubernetes-validations of a schema has
// them. Empty fields say nothing.
type Rule struct {
	Rule, Message, MessageExpression, Reason, FieldPath string
	OptionalOldSelf                                     bool
}

// Field returns the JSON field called name, matched case-sensitively, or nil.
func (t *Type) Field(name string) *Field { return t.byName[name] }
