// Package schema is the structural form of API types: what an object looks like, said once for
// types that are declared in Go and for those that a client declares, and what follows from that
// for objects as trees.
//
// A schema is a graph. A model is a named schema, such as that of a Pod; a place that uses it
// points at it, so that types may contain themselves. What belongs to the place (its description,
// its default, its limits, how its list merges) stands in the place's own schema.
//
// A tree is what package jsontext makes of JSON. Over a tree and a schema there is, once for all
// kinds:
//
//   - Prune, which removes what the schema does not know;
//   - SetDefaults, which fills in what is missing;
//   - Validate, ValidateResources and ValidateLists, which say what is wrong and where, in the
//     words of kube-apiserver;
//   - Key and Index, which find elements of lists by what identifies them.
//
// For Go types, the walkers over Go values (strict decoding in scheme/codec; DefaultAction and
// Validate in scheme/typeinfo) do the same faster; a fuzz test holds the two against each other.
//
// A finished schema is immutable and may be used by many goroutines. A Compiler may not. Trees come
// from clients, as deep as decoding lets them be (10,000 levels, where walks end, too): no size,
// shape or value of another type is a reason to panic, and what is reported about a tree and added
// to it is bounded.
//
// Not here: the JSON of OpenAPI (scheme/openapi), the tags of Go types (scheme/typeinfo),
// evaluating Rules.
//
// Reading order: schema.go, then how a schema is made: compile.go (of a Go type), parse.go and
// keywords.go (of JSON); then what is done with it: tree.go, prune.go, default.go, listmap.go,
// validate.go with limits.go, junctors.go, resource.go, govalue.go and formats.go.
package schema

import (
	"regexp"

	"github.com/coracle-project/coracle/scheme/meta"
)

// The types of a schema.
const (
	Object  = "object"
	Array   = "array"
	String  = "string"
	Integer = "integer"
	Number  = "number"
	Boolean = "boolean"
)

// Schema describes a value. The zero Schema allows any. Schemas are made by FromType, by a Compiler
// and by Parse; what is put together by hand is good for all that is exported here.
type Schema struct {
	// Name is the name of a model, such as "io.k8s.api.core.v1.Pod". Other schemas have none.
	Name string
	// Model is set where the value is that of a model. Then Type, Format and what describes the
	// contents are empty here; Target reaches them.
	Model *Schema
	// Go is set in the schemas of Go types and of their parts.
	Go *GoValue

	Description string
	Docs        *Docs // nil for none

	Type     string   // empty for any value
	Types    []string // the accepted types where there are several; Type is then the one that is written
	Format   string   // of OpenAPI; unknown ones say nothing about the value
	Nullable bool
	Default  any    // a tree, nil if there is none; never changed, only copied
	Enum     []any  // trees, nil if any value is allowed
	enums    *enums // what Parse makes of a long Enum, nil otherwise

	Properties           map[string]*Schema // of an object with known fields
	Required             []string           // in order of declaration
	AdditionalProperties *Schema            // of a map
	Items                *Schema            // of a list
	Forbidden            bool               // no value is allowed; of the entries of a map that has none

	Limits *Limits // nil for none

	// Resource marks the schema of a kind, whose values have apiVersion, kind and metadata without
	// saying so.
	Resource bool
	// Unpublished marks the schema of a kind of which documents of OpenAPI say no more than that
	// its values are objects.
	Unpublished bool
	// EmbeddedResource marks a value that is an object of some kind.
	EmbeddedResource bool
	PreserveUnknown  bool // fields that are not described are kept
	IntOrString      bool
	keepsAll         bool // see PreserveAll
	// resources and lists say that there may be embedded resources, or lists whose elements have to
	// be told apart, in values of s. They are what Parse has seen: Go types have no such resources,
	// and Validate judges their lists.
	resources, lists bool
	// defaulted are the Properties that have a Default. It is nil in a schema that Parse has not
	// made.
	defaulted map[string]*Schema

	ListType string   // atomic, set, map or empty
	ListKeys []string // of a list of type map
	MapType  string   // atomic, granular or empty; also of structs

	PatchStrategy string // of strategic merge patches: merge, replace, retainKeys, joined with commas
	PatchMergeKey string

	Union *Union // of a struct, nil for none

	// Kinds are the kinds that a model is the schema of.
	Kinds []meta.GroupVersionKind
}

// Limits are what a value has to fulfil beyond its type. They say nothing about its structure:
// Prune and SetDefaults do not look at them. Pointers are nil where there is no limit.
type Limits struct {
	Minimum, Maximum                   *float64
	ExclusiveMinimum, ExclusiveMaximum bool
	MultipleOf                         *float64
	MinLength, MaxLength               *int64 // characters
	Pattern                            *regexp.Regexp
	MinItems, MaxItems                 *int64
	UniqueItems                        bool
	MinProperties, MaxProperties       *int64

	NamedFormat string // a format that check:"format=..." of a Go field names
	Immutable   bool   // the value cannot change

	AllOf, AnyOf, OneOf []*Schema
	Not                 *Schema

	Rules []Rule // carried, and evaluated by scheme/cel/rules
}

// Union says that of some fields of a struct at most one is set.
type Union struct {
	Discriminator string            // the field that says which one is; may be empty
	Members       map[string]string // fields, and what the discriminator is called for each
}

// GoValue says how the Go value that a schema describes treats emptiness. A Go value cannot tell
// empty from absent: an empty one takes the default, and if it may be left out no limit is for it.
//
// OpenAPI does not publish the limits of such schemas, as Kubernetes does not.
type GoValue struct {
	Pointer   bool // to the value: only null is empty
	OmitEmpty bool
	Required  bool // empty is wrong, whatever Required of the parent says to readers of OpenAPI
	Enum      bool // the enumeration is more than advice
	Custom    bool // the type has a JSON form of its own
	Unique    bool // elements of the set, or keys in the list of type map, must not repeat
}

// Docs is what only readers of a schema want to know, beside its description.
type Docs struct {
	Title               string
	Example             any // a tree, nil if there is none
	External            bool
	URL, URLDescription string // of further documentation, if External
	// Selectable are the fields that field selectors may name, such as "spec.size"; of models only.
	Selectable []string
}

// Rule is an expression that a value has to fulfil (x-kubernetes-validations). Empty fields say
// nothing.
type Rule struct {
	Rule              string
	Message           string
	MessageExpression string
	Reason            string
	FieldPath         string
	OptionalOldSelf   *bool
}

// Target returns the schema that describes the contents: the model if there is one, else s itself.
func (s *Schema) Target() *Schema {
	if s.Model != nil {
		return s.Model
	}
	return s
}

// Child returns the schema of a field or map entry called name, nil if s does not know it. s is a
// Target, or nil.
func (s *Schema) Child(name string) *Schema {
	if s == nil {
		return nil
	}
	if p, ok := s.Properties[name]; ok {
		return p
	}
	return s.AdditionalProperties
}

// KeepsUnknown reports whether fields that are not described are kept: by what s says, or as they
// are wherever s stands.
func (s *Schema) KeepsUnknown() bool { return s.PreserveUnknown || s.keepsAll }

// isResource reports whether values have apiVersion, kind and metadata besides what is described.
func (s *Schema) isResource() bool { return s.Resource || s.EmbeddedResource }
