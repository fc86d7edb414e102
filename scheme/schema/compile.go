package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// FromType compiles a Go type and all that it reaches.
func FromType(t *typeinfo.Type) *Schema { return new(Compiler).Type(t) }

// Compiler compiles types that share models: each struct type becomes one model however often it is used. The zero
// Compiler is ready to use.
type Compiler struct {
	models map[*typeinfo.Type]*Schema
}

// Type returns the schema of a type. For structs, and for types with a JSON form of their own, it is the model.
func (c *Compiler) Type(t *typeinfo.Type) *Schema {
	s := c.value(t)
	return s.Target()
}

// value returns a new schema for a place that holds a t.
func (c *Compiler) value(t *typeinfo.Type) *Schema {
	switch t.Kind {
	case typeinfo.Struct, typeinfo.Custom:
		if t.Name != "" {
			return &Schema{Model: c.model(t)}
		}
		s := &Schema{}
		c.fill(s, t)
		return s
	case typeinfo.List:
		return &Schema{Type: Array, Items: c.element(t)}
	case typeinfo.Map:
		return &Schema{Type: Object, AdditionalProperties: c.element(t)}
	case typeinfo.String:
		return &Schema{Type: String}
	case typeinfo.Bool:
		return &Schema{Type: Boolean}
	case typeinfo.Int32:
		return &Schema{Type: Integer, Format: "int32"}
	case typeinfo.Int64:
		return &Schema{Type: Integer, Format: "int64"}
	case typeinfo.Float64:
		return &Schema{Type: Number, Format: "double"}
	case typeinfo.Bytes:
		return &Schema{Type: String, Format: "byte"}
	default:
		return &Schema{}
	}
}

// element returns the schema of what a list or map holds. Like a field that is always written, an element that is no
// pointer has its zero value for a default.
func (c *Compiler) element(t *typeinfo.Type) *Schema {
	s := c.value(t.Elem)
	if !t.ElemPointer {
		s.Default = zero(t.Elem)
	}
	return s
}

// model returns the model of a named type, compiling it on first use.
func (c *Compiler) model(t *typeinfo.Type) *Schema {
	if s, ok := c.models[t]; ok {
		return s
	}
	if c.models == nil {
		c.models = map[*typeinfo.Type]*Schema{}
	}
	s := &Schema{Name: t.Name, Description: typeinfo.Doc(t.Go)}
	c.models[t] = s // before its fields, which may use it
	c.fill(s, t)
	return s
}

// fill describes the contents of a struct or custom type.
func (c *Compiler) fill(s *Schema, t *typeinfo.Type) {
	if typ, format, ok := t.Model(); ok {
		s.Type, s.Format = typ, format
		s.OneOf = alternatives(t)
		return
	}
	if t.Kind == typeinfo.Custom && len(t.Fields) == 0 {
		return // any value
	}
	s.Type = Object
	if t.Atomic {
		s.MapType = "atomic"
	}
	if len(t.Fields) == 0 {
		return
	}
	s.Properties = make(map[string]*Schema, len(t.Fields))
	for _, f := range t.Fields {
		s.Properties[f.Name] = c.field(f)
		if f.Required {
			s.Required = append(s.Required, f.Name)
		}
	}
}

// alternatives are the types that a custom type accepts beside the one that it is written with.
func alternatives(t *typeinfo.Type) []string {
	switch t.Name {
	case "io.k8s.apimachinery.pkg.util.intstr.IntOrString":
		return []string{Integer, String}
	case "io.k8s.apimachinery.pkg.api.resource.Quantity":
		return []string{String, Number}
	}
	return nil
}

func (c *Compiler) field(f *typeinfo.Field) *Schema {
	s := c.value(f.Type)
	s.Description = typeinfo.FieldDoc(f.Owner, f.GoName)
	s.Default = defaultOf(f)
	s.Enum = literals(f.Enum)
	if inner := s.Items; inner != nil {
		inner.Enum = literals(f.ItemEnum)
	}
	if inner := s.AdditionalProperties; inner != nil {
		inner.Enum = literals(f.ItemEnum)
	}
	s.ListType, s.ListKeys, s.MapType = f.ListType, f.ListKeys, f.MapType
	switch {
	case f.Atomic && !f.Type.Atomic:
		s.MapType = "atomic"
	case !f.Atomic && f.Type.Atomic:
		s.MapType = "granular"
	}
	s.PatchStrategy, s.PatchMergeKey = strategy(f), f.PatchKey
	return s
}

func strategy(f *typeinfo.Field) string {
	var parts []string
	if f.PatchMerge {
		parts = append(parts, "merge")
	}
	if f.PatchReplace {
		parts = append(parts, "replace")
	}
	if f.PatchRetainKeys {
		parts = append(parts, "retainKeys")
	}
	return strings.Join(parts, ",")
}

// defaultOf returns the declared default of a field, or the zero value if the field is always written: a struct that
// is no pointer is, whatever its tag says, and so is a scalar without omitempty.
func defaultOf(f *typeinfo.Field) json.RawMessage {
	switch {
	case f.HasDefault && f.Type.Kind == typeinfo.String:
		return quote(f.Default)
	case f.HasDefault && json.Valid([]byte(f.Default)):
		return json.RawMessage(f.Default)
	case f.HasDefault:
		return quote(f.Default)
	case f.Pointer, f.OmitEmpty && f.Type.Kind != typeinfo.Struct:
		return nil
	}
	return zero(f.Type)
}

// zero returns the zero value of a type that has one which is neither null nor of a form of its own.
func zero(t *typeinfo.Type) json.RawMessage {
	switch t.Kind {
	case typeinfo.Struct:
		return json.RawMessage("{}")
	case typeinfo.String:
		return json.RawMessage(`""`)
	case typeinfo.Bool:
		return json.RawMessage("false")
	case typeinfo.Int32, typeinfo.Int64, typeinfo.Float64:
		return json.RawMessage("0")
	}
	return nil
}

// literals quotes strings; enumerations are of strings.
func literals(values []string) []json.RawMessage {
	if len(values) == 0 {
		return nil
	}
	out := make([]json.RawMessage, len(values))
	for i, v := range slices.Sorted(slices.Values(values)) {
		out[i] = quote(v)
	}
	return out
}

func quote(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil { // cannot be: strings always encode
		return nil
	}
	return b
}
