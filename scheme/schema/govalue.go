package schema

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// govalue.go checks trees whose schema comes from a Go type. It finds what typeinfo.Validate finds
// in the Go value that the tree decodes to; a fuzz test compares the two. In Go, a field that is no
// pointer cannot be absent, so an absent field counts as its zero value here.

// goValue checks a value of a Go type.
func (c *checker) goValue(s *Schema, v any, old before) {
	t := s.Target()
	empty := s.isAbsent(v)
	limits := cmp.Or(s.Limits, &noLimits)
	if limits.Immutable && old.exists && !(empty && s.isAbsent(old.value)) && !s.same(v, old.value) {
		c.report(field.Invalid(c.at(), v, "field is immutable"))
	}
	switch {
	case empty && s.Go.Required:
		c.report(field.Required(c.at(), ""))
		return
	case v == nil && s.Go.Pointer:
		return
	case v == nil:
		v = t.goZero()
	}
	if s.Go.Pointer && old.value == nil {
		old = before{} // the old pointer was nil, so the parts have no old values
	}
	if !(empty && s.Go.OmitEmpty) {
		if c.goLimits(limits, t, v); s.Go.Enum {
			c.enum(s, v)
		}
	}
	switch v := v.(type) {
	case []any:
		if s.Go.Unique {
			c.unique(s, v, old, s.goRepeated)
		}
		c.elements(s, t, v, old)
	case map[string]any:
		c.goFields(t, v, old)
	}
}

// goLimits applies the limits that check tags can declare.
func (c *checker) goLimits(l *Limits, t *Schema, v any) {
	switch v := v.(type) {
	case string:
		c.goString(l, t, v)
	case int64, float64:
		c.numberLimits(t, l, v)
	case []any:
		c.listLimits(l, v)
	case map[string]any:
		c.objectLimits(l, v)
	}
}

// goFields checks all fields of a struct, absent ones too because they may be required, and the
// entries of a map.
func (c *checker) goFields(t *Schema, v map[string]any, old before) {
	previous, _ := old.value.(map[string]any)
	each(t.Properties, c.ordered, func(name string, p *Schema) {
		was := previous[name]
		c.way.field(name)
		c.value(p, v[name], before{value: was, exists: old.exists})
		c.way.back()
	})
	if t.AdditionalProperties == nil {
		return
	}
	each(v, c.ordered, func(key string, held any) {
		was, exists := previous[key]
		c.way.entry(key)
		c.value(t.AdditionalProperties, held, before{value: was, exists: exists})
		c.way.back()
	})
}

// isAbsent reports whether v counts as absent: null for a pointer, else an empty value.
func (s *Schema) isAbsent(v any) bool {
	if s.Go.Pointer {
		return v == nil
	}
	return s.isEmpty(v)
}

// isZero reports whether v, a value that s describes, is the zero value of its Go type.
func (s *Schema) isZero(v any) bool {
	if v == nil {
		return true
	}
	t := s.Target()
	if s.Go == nil || s.Go.Pointer || t.Type == "" || t.PreserveUnknown {
		return false
	}
	switch v := v.(type) {
	case string:
		return v == "" && !s.Go.Custom && t.Format != "byte"
	case bool:
		return !v
	case int64:
		return v == 0 && (!s.Go.Custom || t.IntOrString)
	case float64:
		return v == 0
	case map[string]any:
		if t.AdditionalProperties != nil {
			return false
		}
		for k, held := range v {
			if p := t.Properties[k]; p != nil && !p.isZero(held) {
				return false
			}
		}
		return true
	}
	return false
}

// isEmpty reports whether v is the zero value of its Go type, or a list, map or []byte without
// elements.
func (s *Schema) isEmpty(v any) bool {
	if s.isZero(v) {
		return true
	}
	switch t := s.Target(); v := v.(type) {
	case map[string]any:
		return t.AdditionalProperties != nil && len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == "" && t.Format == "byte"
	}
	return false
}

// goZero returns the tree that stands for an absent value that is no pointer. It is nil for types
// whose values are not checked further.
func (s *Schema) goZero() any {
	switch s.Type {
	case Array:
		return []any(nil)
	case Object:
		return map[string]any(nil)
	case String:
		return ""
	case Integer, Number:
		return int64(0)
	case Boolean:
		return false
	}
	return nil
}

// goRepeated returns the indexes of the duplicates in a list of Go values, as repeated does for
// other lists. An absent key counts as its default or zero value.
func (s *Schema) goRepeated(list []any) []int {
	var found []int
	times := make(map[string]int, len(list))
	for i, v := range list {
		if v == nil && s.ListType == "set" {
			v = s.item().goZero()
		}
		if key, ok := s.goKey(v); ok {
			if times[key]++; times[key] == 2 {
				found = append(found, i)
			}
		}
	}
	return found
}

// goKey returns the identity of an element as JSON with sorted names, which is equal for equal
// elements: in a list of type map its keys, such as {"name":"a","port":80}, in a set the element
// itself. An absent key counts with its default. ok is false for an element of other lists, and for
// an element of a list of type map that is no object or lacks a key that has no default.
func (s *Schema) goKey(element any) (key string, ok bool) {
	switch s.ListType {
	case "set":
		return text(element), true
	case "map":
		keys, complete := s.goKeys(element)
		return text(keys), complete
	}
	return "", false
}

// goKeys returns the keys of an element of a list of type map with their values. complete is false
// if a key is missing and has no default, or is no scalar.
func (s *Schema) goKeys(element any) (keys map[string]any, complete bool) {
	fields, ok := element.(map[string]any)
	if !ok {
		return nil, false
	}
	complete = true
	keys = make(map[string]any, len(s.ListKeys))
	for _, name := range s.ListKeys {
		value, ok := fields[name]
		ok = ok && isScalar(value)
		if p := s.item().Child(name); p != nil && (!ok && fields[name] == nil || p.wantsDefault(value)) {
			// A Go value without a default is the zero value, for which null stands here.
			value, ok = p.Default, p.Default != nil || p.Go != nil
		}
		if ok {
			keys[name] = value
		} else {
			complete = false
		}
	}
	return keys, complete
}

// same reports whether two values that s describes are equal as Go values: an absent field equals a
// field with its zero value.
func (s *Schema) same(a, b any) bool {
	if s == nil {
		return jsontext.Equal(a, b)
	}
	if s.Go != nil && !s.Go.Pointer && s.isZero(a) && s.isZero(b) {
		return true
	}
	t := s.Target()
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || t.Properties == nil {
			return ok && maps.EqualFunc(a, b, t.AdditionalProperties.same)
		}
		for name, p := range t.Properties {
			if !p.same(a[name], b[name]) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, t.Items.same)
	}
	return jsontext.Equal(a, b)
}

// goString applies the limits of a string. For a []byte, lengths count the bytes that the base64
// text encodes.
func (c *checker) goString(l *Limits, t *Schema, v string) {
	if t.Format == "byte" {
		if data, err := base64.StdEncoding.DecodeString(v); err == nil {
			c.lengthLimits(l, v, len(data))
		}
		return
	}
	c.lengthLimits(l, v, utf8.RuneCountInString(v))
	c.pattern(l, v)
	if wrong := typeinfo.Format(l.NamedFormat); wrong != nil {
		for _, detail := range wrong(v) {
			c.report(field.Invalid(c.at(), v, detail))
		}
	}
}
