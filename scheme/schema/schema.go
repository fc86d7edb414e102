// Package schema describes the values of API types: as a Schema, made from a Go type or from the
// schema in a CustomResourceDefinition. It prunes, defaults and validates objects in the form of
// trees by their Schema.
//
// Words: a schema is a graph. A model is a named schema, such as that of Pod. A field of that type
// has a schema of its own, which points at the model, so that types may contain themselves. What
// belongs to the field and not to the type (description, default, limits, list type) is in the
// field's schema. A tree is JSON decoded by package jsontext: map[string]any, []any and scalars.
// The way is the path from the root of a tree to the current value.
//
// The walks over trees are the same for all kinds:
//
//   - Prune removes fields that the schema does not describe.
//   - SetDefaults sets missing fields that have a default.
//   - Validate, ValidateResources and ValidateLists report errors in the words of kube-apiserver.
//   - PrunedAndDefaulted reports whether Prune and SetDefaults would leave a tree as it is.
//   - OldElements finds the old element that corresponds to an element of a list.
//
// For Go types there are faster walks over Go values: strict decoding in scheme/codec, and
// DefaultAction and Validate in scheme/typeinfo. A fuzz test compares the two.
//
// Laws:
//
//   - A finished schema is immutable, and many goroutines may use it. A Compiler belongs to one
//     goroutine.
//   - Trees come from clients. No size, shape or type of a value makes a walk panic; a walk ends at
//     jsontext.MaxDepth, the depth that decoding allows, and reports and adds a bounded amount.
//   - Work is counted by a Meter. Once the Meter has ended, walks return early, and the caller must
//     ask the Meter.
//
// Callers: registry/extensions parses the schemas of custom resources, and its kinds call the walks
// for each object. scheme/openapi publishes schemas, scheme/apply learns from them who can own
// which fields, and scheme/cel takes the types of expressions from them.
//
// Not here: the JSON of OpenAPI (scheme/openapi), the tags of Go types (scheme/typeinfo),
// evaluating Rules (scheme/cel/rules).
//
// Reading order: schema.go, then how a schema is made: compile.go (of a Go type), parse.go and
// keywords.go (of JSON); then what is done with it: tree.go, prune.go, default.go,
// prunedanddefaulted.go, validate.go with limits.go, enum.go, junctors.go, formats.go and
// govalue.go; oldelements.go (old values), listmap.go and resource.go (the checks beside Validate),
// checkdefault.go.
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

// Schema describes a value. The zero Schema allows any value. FromType, a Compiler and Parse make
// schemas; one that is put together by hand works with all exported functions, too.
type Schema struct {
	// Name is the name of a model, such as "io.k8s.api.core.v1.Pod". Other schemas have none.
	Name string
	// Model is set if the value is of a named type. Then Type, Format, Properties, Items and
	// AdditionalProperties are empty here; Target returns the schema that has them.
	Model *Schema
	// Go is set in the schemas of Go types and of their fields and elements.
	Go *GoValue

	Description string
	Docs        *Docs // nil for none

	Type     string   // empty for any value
	Types    []string // all accepted types if there are several, else nil; Type is the one that is written
	Format   string   // of OpenAPI; an unknown format allows every value
	Nullable bool
	Default  any    // a tree, nil if there is none; never changed, only copied
	Enum     []any  // trees, nil if any value is allowed
	enums    *enums // the index of a long Enum that Parse read, else nil

	Properties           map[string]*Schema // of an object with known fields
	Required             []string           // in order of declaration
	AdditionalProperties *Schema            // of a map
	Items                *Schema            // of a list
	Forbidden            bool               // no value is allowed: additionalProperties: false

	Limits *Limits // nil for none

	// Resource marks the schema of a kind. Its values have apiVersion, kind and metadata, even if
	// Properties does not.
	Resource bool
	// Unpublished marks the schema of a kind that OpenAPI documents show as a plain object.
	Unpublished bool
	// EmbeddedResource marks a value that is an object of any kind.
	EmbeddedResource bool
	PreserveUnknown  bool // fields that are not described are kept
	IntOrString      bool
	keepsAll         bool // see PreserveAll
	// resources says that values of s may have embedded resources. lists says that values of s may
	// have sets or lists of type map. Only Parse sets the two: Go types have no embedded resources,
	// and Validate checks their lists.
	resources, lists bool
	// defaulted are the Properties that have a Default. It is nil unless Parse has made the schema.
	defaulted map[string]*Schema

	ListType string   // atomic, set, map or empty
	ListKeys []string // of a list of type map
	MapType  string   // atomic, granular or empty; also of structs

	PatchStrategy string // of strategic merge patches: merge, replace, retainKeys, joined with commas
	PatchMergeKey string

	Union *Union // of a struct, nil for none

	// Kinds are the kinds whose schema this model is.
	Kinds []meta.GroupVersionKind
}

// Limits are the conditions for a value beyond its type. They do not describe its structure, so
// Prune and SetDefaults do not read them. A nil pointer means no limit.
type Limits struct {
	Minimum, Maximum                   *float64
	ExclusiveMinimum, ExclusiveMaximum bool
	MultipleOf                         *float64
	MinLength, MaxLength               *int64 // characters
	Pattern                            *regexp.Regexp
	MinItems, MaxItems                 *int64
	UniqueItems                        bool
	MinProperties, MaxProperties       *int64

	NamedFormat string // the format in check:"format=..." of a Go field; see typeinfo.Format
	Immutable   bool   // an update cannot change the value

	AllOf, AnyOf, OneOf []*Schema
	Not                 *Schema

	Rules []Rule // evaluated by scheme/cel/rules, and not here
}

// Union says that at most one of several fields of a struct is set.
type Union struct {
	Discriminator string            // the field that names the set member; may be empty
	Members       map[string]string // fields, and the value of the discriminator for each
}

// GoValue says how a Go field, or element, treats empty values. Go cannot tell an empty value from
// an absent one, unless it is a pointer. So an empty value takes the default, and if it has
// omitempty no limit applies to it.
//
// OpenAPI does not publish the limits of such schemas, as Kubernetes does not.
type GoValue struct {
	Pointer   bool // the Go value is a pointer: only null is empty
	OmitEmpty bool
	Required  bool // Validate refuses an empty value; Required of the parent is for OpenAPI only
	Enum      bool // Validate checks the enumeration; otherwise it is for OpenAPI only
	Custom    bool // the type has a JSON form of its own
	Unique    bool // duplicates in the set, or of keys in the list of type map, are errors
}

// Docs has the documentation in a schema beside its description. It does not restrict values.
type Docs struct {
	Title               string
	Example             any // a tree, nil if there is none
	External            bool
	URL, URLDescription string // of further documentation, if External
	// Selectable are the fields that field selectors may name, such as "spec.size". Only models
	// have it.
	Selectable []string
}

// Rule is a CEL expression that a value must fulfil: an entry of x-kubernetes-validations. Empty
// fields are absent.
type Rule struct {
	Rule              string
	Message           string
	MessageExpression string
	Reason            string
	FieldPath         string
	OptionalOldSelf   *bool
}

// Target returns the schema that describes the contents of values: the model if s points at one,
// else s itself.
func (s *Schema) Target() *Schema {
	if s.Model != nil {
		return s.Model
	}
	return s
}

// Child returns the schema of the field or map entry called name, nil if s describes none. s must
// be a Target or nil.
func (s *Schema) Child(name string) *Schema {
	if s == nil {
		return nil
	}
	if p, ok := s.Properties[name]; ok {
		return p
	}
	return s.AdditionalProperties
}

// KeepsUnknown reports whether Prune keeps fields of a value that s does not describe: because of
// x-kubernetes-preserve-unknown-fields, or because of PreserveAll.
func (s *Schema) KeepsUnknown() bool { return s.PreserveUnknown || s.keepsAll }

// isResource reports whether values have apiVersion, kind and metadata, even if Properties does
// not.
func (s *Schema) isResource() bool { return s.Resource || s.EmbeddedResource }
