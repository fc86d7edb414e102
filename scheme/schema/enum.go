package schema

import (
	"hash/maphash"
	"slices"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
)

// enum reports a value that is none of the allowed ones. The message names the allowed values, up
// to field.MaxText bytes.
func (c *checker) enum(s *Schema, v any) {
	if s.Enum == nil || c.isAllowed(s, v) {
		return
	}
	var names []string
	for length := 0; len(names) < len(s.Enum) && length <= field.MaxText; {
		allowed := s.Enum[len(names)]
		name, ok := allowed.(string)
		if !ok {
			name = text(allowed)
		}
		names, length = append(names, name), length+len(name)+len(`"", `)
	}
	c.report(field.NotSupported(c.at(), v, names))
}

// isAllowed reports whether v is one of the allowed values, in the sense of isOneOf. In a long
// enumeration it looks v up in an index instead of comparing it with each.
func (c *checker) isAllowed(s *Schema, v any) bool {
	some := s.Enum
	if s.enums != nil {
		var found bool
		if some, found = s.enums.among(v); found {
			return true
		}
	}
	_ = c.meter.Step(stepsPerValue * len(some))
	return slices.ContainsFunc(some, func(allowed any) bool { return isOneOf(s, allowed, v) })
}

// isOneOf reports whether v equals allowed, one value of an enumeration. For trees without a Go
// type it converts v to the type of allowed first, as kube-apiserver does: 1.5 is the integer 1,
// and the integer 65 is the string "A". Null equals nothing there.
func isOneOf(s *Schema, allowed, v any) bool {
	if s.Go != nil {
		return jsontext.Equal(allowed, v)
	}
	switch allowed := allowed.(type) {
	case nil:
		return false
	case int64:
		if f, ok := v.(float64); ok {
			return int64(f) == allowed
		}
	case string:
		if n, ok := v.(int64); ok {
			return string(rune(n)) == allowed
		}
	}
	return jsontext.Equal(allowed, v)
}

// fewEnums is the length up to which the values of an enumeration are compared one after the other.
const fewEnums = 16

// enums is an index of a long enumeration in a schema without a Go type.
type enums struct {
	scalars   map[any]struct{}
	seed      maphash.Seed     // of hash
	compounds map[uint64][]any // objects and lists by hash
}

// newEnums returns the index of an enumeration, nil if it has at most fewEnums values.
func newEnums(all []any) *enums {
	if len(all) <= fewEnums {
		return nil
	}
	e := &enums{scalars: make(map[any]struct{}, len(all)), seed: maphash.MakeSeed(), compounds: map[uint64][]any{}}
	for _, v := range all {
		switch v.(type) {
		case nil:
		case map[string]any, []any:
			h := e.hash(v)
			e.compounds[h] = append(e.compounds[h], v)
		default:
			e.scalars[v] = struct{}{}
		}
	}
	return e
}

// among looks v up. It returns true if v is allowed, with the conversions of isOneOf. If v is an
// object or a list, it returns the candidates of the same hash instead, which the caller compares.
func (e *enums) among(v any) ([]any, bool) {
	has := func(v any) bool {
		_, ok := e.scalars[v]
		return ok
	}
	switch v := v.(type) {
	case map[string]any, []any:
		if len(e.compounds) == 0 {
			return nil, false
		}
		return e.compounds[e.hash(v)], false
	case int64:
		return nil, has(v) || has(float64(v)) || has(string(rune(v)))
	case float64:
		return nil, has(v) || has(int64(v))
	}
	return nil, v != nil && has(v)
}

// hash returns a hash that is equal for equal trees. A number is hashed by its value as a float, so
// that 1 and 1.0 are equal, and the hashes of an object's fields are added, so that their order
// does not matter.
func (e *enums) hash(v any) uint64 {
	const prime = 0x9e3779b97f4a7c15
	h := uint64(0)
	switch v := v.(type) {
	case map[string]any:
		for name, held := range v {
			h += (maphash.String(e.seed, name) ^ e.hash(held)*prime) * prime
		}
		return h + 1
	case []any:
		for _, held := range v {
			h = (h ^ e.hash(held)) * prime
		}
		return h + 2
	case int64:
		return maphash.Comparable(e.seed, float64(v))
	case float64:
		return maphash.Comparable(e.seed, v)
	}
	return maphash.Comparable(e.seed, v)
}
