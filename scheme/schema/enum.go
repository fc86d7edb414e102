package schema

import (
	"hash/maphash"
	"slices"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
)

// enum judges whether a value is one of those that are allowed.
func (c *checker) enum(s *Schema, v any) {
	if s.Enum == nil || c.isAllowed(s, v) {
		return
	}
	var names []string
	for length := 0; len(names) < len(s.Enum) && length <= field.MaxText; { // what is beyond that is not shown
		allowed := s.Enum[len(names)]
		name, ok := allowed.(string)
		if !ok {
			name = text(allowed)
		}
		names, length = append(names, name), length+len(name)+len(`"", `)
	}
	c.report(field.NotSupported(c.at(), v, names))
}

// isAllowed reports whether a value is one of an enumeration, as isOneOf has it for each of its
// values.
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

// isOneOf reports whether v is a value that an enumeration allows. Like kube-apiserver it takes v
// for the type of that value, and never finds null.
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

// fewEnums is how many values of an enumeration are compared one by one.
const fewEnums = 16

// enums are the values of a long enumeration without a Go type, so that one can be found without
// comparing all.
type enums struct {
	scalars   map[any]struct{}
	seed      maphash.Seed
	compounds map[uint64][]any // objects and lists by their hashes
}

// newEnums returns nil for an enumeration that is short.
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

// among reports whether v is found, or else returns the values that are still to be compared with
// it.
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

// hash is the same for trees that are equal: numbers count by value, and the fields of an object in
// any order.
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
