// Package schema is the structural form of API types: what an object looks like, said once for types that are
// declared in Go and for those that a client declares.
//
// A schema is a graph. A model is a named schema, such as that of a Pod; a place that uses it points at it, so that
// types may contain themselves. What belongs to the place (its description, its default, how its list merges) stands
// in the place's own schema.
//
// A finished schema is immutable and may be used by many goroutines. A Compiler may not.
//
// Not here: the JSON of OpenAPI (scheme/openapi), the tags of Go types (scheme/typeinfo).
//
// Reading order: schema.go, compile.go.
package schema

import (
	"encoding/json"

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

// Schema describes a value. The zero Schema allows any.
type Schema struct {
	// Name is the name of a model, such as "io.k8s.api.core.v1.Pod". Other schemas have none.
	Name string
	// Model is set where the value is that of a model. Then Type, Format and what describes the contents are empty
	// here; Target reaches them.
	Model *Schema

	Description string
	Type        string   // empty for any value
	OneOf       []string // the accepted types where there are several; Type is then the one that is written
	Format      string
	Nullable    bool
	Default     json.RawMessage   // nil if there is none
	Enum        []json.RawMessage // nil if any value is allowed

	Properties           map[string]*Schema // of an object with known fields
	Required             []string           // in order of declaration
	AdditionalProperties *Schema            // of a map
	Items                *Schema            // of a list

	ListType string   // atomic, set, map or empty
	ListKeys []string // of a list of type map
	MapType  string   // atomic, granular or empty; also of structs

	PatchStrategy string // of strategic merge patches: merge, replace, retainKeys, joined with commas
	PatchMergeKey string

	// Kinds are the kinds that a model is the schema of.
	Kinds []meta.GroupVersionKind
}

// Target returns the schema that describes the contents: the model if there is one, else s itself.
func (s *Schema) Target() *Schema {
	if s.Model != nil {
		return s.Model
	}
	return s
}
