// Package typeinfo compiles the struct tags of API types, once, into descriptors, and does with Go
// values what follows from the descriptors alone: copy, compare, default and check them.
//
// Words: a descriptor is a Type with its Fields. Everything for which Kubernetes generates code is
// derived from descriptors: strict JSON decoding, protobuf, deep copy, declarative defaults and
// validation, conversion between versions, OpenAPI, the merge keys of strategic merge patch and the
// list types of server-side apply.
//
// Tags of a field (all but json optional):
//
//	json:"name,omitempty"   JSON name; json:",inline" on an embedded struct lifts its fields
//	pb:"3"                  protobuf field number; fields without one are not in the message
//	default:"TCP"           value set where the field is empty (zero, or a nil pointer)
//	enum:"TCP,UDP"          allowed values, for OpenAPI and for check:"enum"
//	itemEnum:"A,B"          the same for list elements
//	check:"required,min=1"  declarative checks, comma separated: required, optional, listed,
//	                        enum, min=, max=, minLength=, maxLength=, minItems=, maxItems=,
//	                        immutable, format=<name>, pattern=<regexp> (last, may hold commas)
//	list:"map,key=a,key=b"  list type: atomic, set or map with its keys; elements of a set and
//	                        keys in a list of type map must not repeat (the kinds of Kubernetes,
//	                        io.k8s.*, have hand-written rules for that instead)
//	map:"atomic"            map type (atomic, granular)
//	struct:"atomic"         struct type of the field (atomic, granular); on a blank field
//	                        (_ struct{}) that of the declaring struct, wherever it is used
//	patch:"merge,key=name"  strategic-merge strategies (merge, replace, retainKeys), merge key
//	rule:"self != 'x'"      a CEL expression that a value must fulfil, as in
//	                        x-kubernetes-validations (scheme/cel/rules); its message,
//	                        messageExpression, reason, fieldPath and optionalOldSelf:"true" are
//	                        tags beside it. On a blank field it is about the declaring struct,
//	                        which may have several
//	union:"member"          one of the fields of which at most one is set;
//	                        union:"discriminator" marks the field that names it, if any
//
// Laws:
//   - Descriptors are compiled once for each Go type, and are immutable.
//   - A bad tag never panics: Register reports all mistakes of all reachable types at once, and Of
//     returns nil.
//   - Every exported field needs a json tag: in an API, a name must not follow from Go's spelling.
//   - A field is required in OpenAPI if it has no omitempty. check:"optional" makes it optional;
//     check:"listed" makes it required in OpenAPI, but not for Validate.
//   - A type with a JSON form of its own (json.Marshaler on it or on its pointer) is Custom. A
//     struct that embeds a tagged struct is not: it would inherit the method by accident.
//
// Callers: the packages scheme, scheme/codec, scheme/schema and scheme/openapi compile their
// conversions, plans and schemas from descriptors. Package scheme also offers Copy, Equal and
// Validate under names of its own, by which the registry calls them for each write.
//
// The registry applies checks and rules of the hub's tags to every write that is stored. A write in
// another version is checked by the tags of that version's Go type as well, after admission, as
// Kubernetes' declarative validation is. A version without such tags costs nothing.
//
// All functions may be called by many goroutines at once. Values that they are given belong to the
// caller, who must not change them meanwhile.
//
// Not here: the wire formats (scheme/codec), schemas of custom resources (scheme/schema), versions
// (scheme).
//
// Read: typeinfo.go (what a descriptor says), compile.go and tags.go (how it is made), names.go and
// docs.go (OpenAPI names and descriptions), pointer.go (how memory is reached), then what is
// derived: visit.go, copy.go, keep.go, equal.go, defaults.go with needs.go, empty.go, check.go,
// unique.go.
package typeinfo

import "reflect"

// Kind is the shape of a value in the API.
type Kind uint8

// The kinds. A Custom type has its own JSON form: it implements json.Marshaler.
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
	Custom // a type with its own encoding, such as Time, Quantity, IntOrString, RawExtension or FieldsV1
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
	// only marks the capability, and is the sample for InterfaceAt. A Custom struct without it has
	// Members.
	Proto ProtoMessage

	byName map[string]*Field
}

// ProtoMessage marks the custom types that read and write their own protobuf message, without tag
// or length.
type ProtoMessage interface {
	// AppendProto appends the message of the value to a buffer and returns the longer buffer.
	AppendProto([]byte) []byte
	// ParseProto sets the value to that of a message.
	ParseProto([]byte) error
}

// Choice is a Custom type whose JSON form is that of one of its parts, or null: for example, a
// schema or a list of schemas. Codecs read and write the part themselves. If the type did so in
// MarshalJSON and UnmarshalJSON, a value at depth n would be scanned n times.
type Choice interface {
	// Choose clears the value and chooses a part by the first byte of the JSON. It returns a
	// pointer to decode the JSON into, nil if the JSON is to be skipped, or an error if no part has
	// JSON that begins so.
	Choose(first byte) (any, error)
	// Chosen returns a pointer to the part that is to be written, nil for null.
	Chosen() any
}

// Field describes one field of a struct.
type Field struct {
	Name   string // in JSON; empty for an inline member
	GoName string
	// Index is the path for reflect.Value.FieldByIndex, from the Type that lists the field.
	Index []int
	// Offset is the same path in bytes from the beginning of the struct. One number is enough,
	// because inlined structs are never pointers.
	Offset  uintptr
	Type    *Type
	Pointer bool // the Go field is a pointer to Type
	Inline  bool // an embedded struct whose fields are lifted in JSON (only in Members)
	// Owner is the Go struct type that declares the field; JSON type errors name it.
	Owner reflect.Type

	OmitEmpty bool  // omitempty or omitzero
	Required  bool  // in OpenAPI; Validate goes by Checks
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

	Discriminator bool // names the Member that is set
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

// Rule is a CEL expression that a value must fulfil, with the fields that an entry of
// x-kubernetes-validations has. Empty fields are absent.
type Rule struct {
	Rule, Message, MessageExpression, Reason, FieldPath string
	OptionalOldSelf                                     bool
}

// Field returns the JSON field called name, matched case-sensitively, or nil.
func (t *Type) Field(name string) *Field { return t.byName[name] }
