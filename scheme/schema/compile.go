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

// FromType compiles a Go type and all that it reaches.
func FromType(t *typeinfo.Type) *Schema { return new(Compiler).Type(t) }

// Compiler compiles types that share models: each struct type becomes one model however often it is
// used. The zero Compiler is ready to use.
type Compiler struct {
	models map[*typeinfo.Type]*Schema
}

// Type returns the schema of a type. For structs, and for types with a JSON form of their own, it
// is the model.
func (c *Compiler) Type(t *typeinfo.Type) *Schema {
	s := c.value(t)
	return s.Target()
}

// value returns a new schema for a place that holds a t.
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

// element returns the schema of what a list or map holds. Like a field that is always written, an
// element that is no pointer has its zero value for a default; any other stays where it is as null.
func (c *Compiler) element(t *typeinfo.Type) *Schema {
	s := c.value(t.Elem)
	s.Go.Pointer = t.ElemPointer
	if !t.ElemPointer {
		s.Default = zero(t.Elem)
	}
	s.Nullable = s.Default == nil
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
	s := &Schema{Name: t.Name, Description: typeinfo.Doc(t.Go), Go: &GoValue{Custom: t.Kind == typeinfo.Custom}}
	c.models[t] = s // before its fields, which may use it
	c.fill(s, t)
	return s
}

// fill describes the contents of a struct or custom type.
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

// join makes a field part of the union of its struct if it is of one. The discriminator has the
// names that members have in Go.
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

// check adds one declared check, whose argument typeinfo has read before.
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

// rules adds declared rules.
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

// defaultOf returns the declared default of a field, or the zero value if the field is always
// written: a struct that is no pointer is, whatever its tag says, and so is a scalar without
// omitempty.
func defaultOf(f *typeinfo.Field) any {
	switch {
	case f.HasDefault:
		return parseDefault(f)
	case f.Pointer, f.OmitEmpty && f.Type.Kind != typeinfo.Struct:
		return nil
	}
	return zero(f.Type)
}

// parseDefault returns the value that a default tag spells. Strings, numbers and booleans stand as
// they are; anything else is JSON, or the text of a custom type. Typeinfo has read it before.
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

// zero returns the zero value of a type that has one which is neither null nor of a form of its
// own.
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

// literals returns an enumeration, which is of strings, in order.
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
