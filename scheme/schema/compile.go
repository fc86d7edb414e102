package schema

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// compile.go makes schemas from the descriptors of Go types (package typeinfo). OpenAPI,
// server-side apply and the tree walks of this package use them.

// FromType returns the schema of a Go type. It compiles the type and all types that it reaches.
func FromType(t *typeinfo.Type) *Schema { return new(Compiler).Type(t) }

// Compiler compiles several types to schemas that share models: each named struct type becomes one
// model, which all its users point at. The zero Compiler is ready to use. It belongs to one
// goroutine.
type Compiler struct {
	models map[*typeinfo.Type]*Schema // of named types, complete or in the making
}

// Type returns the schema of a type. For named structs, and named types with a JSON form of their
// own, it is the model.
func (c *Compiler) Type(t *typeinfo.Type) *Schema {
	s := c.value(t)
	return s.Target()
}

// value returns a new schema for one use of type t: a field, an element or the root. Callers add
// what belongs to the use, such as a default.
func (c *Compiler) value(t *typeinfo.Type) *Schema {
	s := &Schema{Go: &GoValue{Custom: t.Kind == typeinfo.Custom}}
	switch t.Kind {
	case typeinfo.Struct, typeinfo.Custom:
		if t.Name != "" {
			s.Model = c.model(t)
		} else {
			c.fill(s, t)
		}
	case typeinfo.List:
		s.Type, s.Items = Array, c.element(t)
	case typeinfo.Map:
		s.Type, s.AdditionalProperties = Object, c.element(t)
	case typeinfo.String:
		s.Type = String
	case typeinfo.Bool:
		s.Type = Boolean
	case typeinfo.Int32:
		s.Type, s.Format = Integer, "int32"
	case typeinfo.Int64:
		s.Type, s.Format = Integer, "int64"
	case typeinfo.Float64:
		s.Type, s.Format = Number, "double"
	case typeinfo.Bytes:
		s.Type, s.Format = String, "byte"
	default:
		s.PreserveUnknown = true
	}
	return s
}

// element returns the schema of the elements of a list or map. An element that is no pointer cannot
// be null in Go, so its default is the zero value, as Kubernetes publishes it. Null elements of
// other types stay null.
func (c *Compiler) element(t *typeinfo.Type) *Schema {
	s := c.value(t.Elem)
	s.Go.Pointer = t.ElemPointer
	if !t.ElemPointer {
		s.Default = zero(t.Elem)
	}
	s.Nullable = s.Default == nil
	return s
}

// model returns the model of a named type. It compiles the model at first use.
func (c *Compiler) model(t *typeinfo.Type) *Schema {
	if s, ok := c.models[t]; ok {
		return s
	}
	if c.models == nil {
		c.models = map[*typeinfo.Type]*Schema{}
	}
	s := &Schema{Name: t.Name, Description: typeinfo.Doc(t.Go), Go: &GoValue{Custom: t.Kind == typeinfo.Custom}}
	c.models[t] = s // before its fields are compiled, because they may refer to t
	c.fill(s, t)
	return s
}

// fill completes s with the contents of a struct or custom type.
func (c *Compiler) fill(s *Schema, t *typeinfo.Type) {
	if typ, format, ok := t.Model(); ok {
		s.Type, s.Format = typ, format
		s.Types = alternatives(t)
		s.IntOrString = slices.Equal(s.Types, []string{Integer, String})
		s.PreserveUnknown = typ == Object
		return
	}
	if t.Kind == typeinfo.Custom && len(t.Fields) == 0 {
		s.PreserveUnknown = true // any value
		return
	}
	s.Type = Object
	if t.Atomic {
		s.MapType = "atomic"
	}
	s.rules(t.Rules)
	if len(t.Fields) == 0 {
		return
	}
	s.Properties = make(map[string]*Schema, len(t.Fields))
	for _, f := range t.Fields {
		s.Properties[f.Name] = c.field(f)
		s.join(f)
		if f.Required {
			s.Required = append(s.Required, f.Name)
		}
	}
}

// join adds a field to the union of its struct if its tags say so. The values of the discriminator
// are the Go names of the members.
func (s *Schema) join(f *typeinfo.Field) {
	if !f.Discriminator && !f.Member {
		return
	}
	if s.Union == nil {
		s.Union = &Union{Members: map[string]string{}}
	}
	if f.Discriminator {
		s.Union.Discriminator = f.Name
	} else {
		s.Union.Members[f.Name] = f.GoName
	}
}

// alternatives returns all JSON types that a custom type accepts, nil if it is only the one that
// OpenAPI publishes. A Quantity is written as a string and may be read from a number.
func alternatives(t *typeinfo.Type) []string {
	switch t.Name {
	case "io.k8s.apimachinery.pkg.util.intstr.IntOrString":
		return []string{Integer, String}
	case "io.k8s.apimachinery.pkg.api.resource.Quantity":
		return []string{String, Number}
	}
	return nil
}

// field returns the schema of a field: that of its type, with what the tags say of this use.
func (c *Compiler) field(f *typeinfo.Field) *Schema {
	s := c.value(f.Type)
	s.Description = typeinfo.FieldDoc(f.Owner, f.GoName)
	s.Default = defaultOf(f)
	s.Enum = literals(f.Enum)
	inner := cmp.Or(s.Items, s.AdditionalProperties)
	if inner != nil {
		inner.Enum = literals(f.ItemEnum)
	}
	s.Go.Pointer, s.Go.OmitEmpty, s.Go.Unique = f.Pointer, f.OmitEmpty, f.Unique
	for _, check := range f.Checks {
		s.check(check, f.Type.Kind)
		if check.Name == "enum" && inner != nil {
			inner.Go.Enum = true
		}
	}
	s.rules(f.Rules)
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

// check adds one declared check to Go or Limits. Its argument parses: typeinfo has refused others.
func (s *Schema) check(check typeinfo.Check, kind typeinfo.Kind) {
	limit, _ := strconv.ParseFloat(check.Arg, 64)
	count := int64(limit)
	switch check.Name {
	case "optional":
		return
	case "required":
		s.Go.Required = true
		return
	case "enum":
		s.Go.Enum = s.Enum != nil
		return
	}
	if s.Limits == nil {
		s.Limits = &Limits{}
	}
	l := s.Limits
	switch check.Name {
	case "immutable":
		l.Immutable = true
	case "min":
		l.Minimum = &limit
	case "max":
		l.Maximum = &limit
	case "minLength":
		l.MinLength = &count
	case "maxLength":
		l.MaxLength = &count
	case "minItems":
		if l.MinItems = &count; kind == typeinfo.Map {
			l.MinProperties, l.MinItems = &count, nil
		}
	case "maxItems":
		if l.MaxItems = &count; kind == typeinfo.Map {
			l.MaxProperties, l.MaxItems = &count, nil
		}
	case "format":
		l.NamedFormat = check.Arg
	case "pattern":
		l.Pattern = regexp.MustCompile(check.Arg)
	}
}

// rules adds the rules in tags to Limits.
func (s *Schema) rules(rules []typeinfo.Rule) {
	if len(rules) > 0 && s.Limits == nil {
		s.Limits = &Limits{}
	}
	for _, r := range rules {
		rule := Rule{Rule: r.Rule, Message: r.Message, MessageExpression: r.MessageExpression, Reason: r.Reason,
			FieldPath: r.FieldPath}
		if r.OptionalOldSelf {
			rule.OptionalOldSelf = new(true)
		}
		s.Limits.Rules = append(s.Limits.Rules, rule)
	}
}

// strategy returns the patch strategy of a field as x-kubernetes-patch-strategy has it, such as
// "merge,retainKeys".
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

// defaultOf returns the declared default of a field, or the zero value if Go always writes the
// field. It always writes a struct that is no pointer, even with omitempty, and a scalar without
// omitempty. Kubernetes publishes such defaults, too: "default": {}.
func defaultOf(f *typeinfo.Field) any {
	switch {
	case f.HasDefault:
		return parseDefault(f)
	case f.Pointer, f.OmitEmpty && f.Type.Kind != typeinfo.Struct:
		return nil
	}
	return zero(f.Type)
}

// parseDefault returns the value of a default tag as a tree. Strings, numbers and booleans are
// written without quotes; anything else is JSON, or the text of a custom type. It cannot fail,
// because typeinfo has refused defaults that do not parse.
func parseDefault(f *typeinfo.Field) any {
	switch f.Type.Kind {
	case typeinfo.String:
		return f.Default
	case typeinfo.Bool:
		b, _ := strconv.ParseBool(f.Default)
		return b
	case typeinfo.Int32, typeinfo.Int64:
		n, _ := strconv.ParseInt(f.Default, 10, 64)
		return n
	}
	if v, err := jsontext.Decode([]byte(f.Default), nil); err == nil {
		return v
	}
	return f.Default
}

// zero returns the zero value of a struct or scalar type as a tree. It is nil for other types,
// whose zero value is null or is written in a form of their own.
func zero(t *typeinfo.Type) any {
	switch t.Kind {
	case typeinfo.Struct:
		return map[string]any{}
	case typeinfo.String:
		return ""
	case typeinfo.Bool:
		return false
	case typeinfo.Int32, typeinfo.Int64, typeinfo.Float64:
		return int64(0)
	}
	return nil
}

// literals returns the values of an enumeration in order, nil if there are none.
func literals(values []string) []any {
	if len(values) == 0 {
		return nil
	}
	out := make([]any, len(values))
	for i, v := range slices.Sorted(slices.Values(values)) {
		out[i] = v
	}
	return out
}
