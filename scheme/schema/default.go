package schema

import (
	"errors"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
)

// maxGrowth bounds the defaults that SetDefaults adds to one tree, in bytes, about as long as they
// are in JSON. Without a bound, a list of a million elements {} could grow to any size.
const maxGrowth = 16 << 20

// ErrTooLarge is returned for trees that defaults would make larger than any object may be.
var ErrTooLarge = errors.New("the defaults of the object are too large")

// SetDefaults sets the defaults of s in a tree, in place: in each object of the tree, and in each
// default that it has set. A null counts as missing where s does not allow null: the default
// replaces it, and without a default it stays. Default values are copied.
//
// Where s is the schema of a Go type, an empty value counts as missing, too.
//
// The error is ErrTooLarge, or that of m if m has ended. After an error the tree has some of its
// defaults.
func (s *Schema) SetDefaults(m *meter.Meter, tree any) error {
	d := defaulter{meter: m, left: maxGrowth}
	d.value(s, tree)
	if d.left < 0 {
		return ErrTooLarge
	}
	return m.Err()
}

// defaulter walks one tree. It ends at jsontext.MaxDepth, because defaults make a tree deeper.
type defaulter struct {
	meter *meter.Meter
	left  int // bytes of maxGrowth that are left; negative if there were too few
	depth int // of the current value
}

// value sets the defaults within a value. The default of the value itself was set by its parent.
func (d *defaulter) value(s *Schema, v any) {
	if s == nil || d.left < 0 || d.depth > jsontext.MaxDepth || d.meter.Step(stepsPerValue) != nil {
		return
	}
	d.depth++
	s = s.Target()
	switch v := v.(type) {
	case map[string]any:
		d.object(s, v)
	case []any:
		d.list(s, v)
	}
	d.depth--
}

// object sets the defaults in an object: first within the fields and entries that it has, then of
// the fields that are missing.
func (d *defaulter) object(s *Schema, v map[string]any) {
	for name, held := range v {
		p, exists := s.Properties[name]
		if !exists {
			p = s.AdditionalProperties
		}
		switch {
		case p == nil, exists && p.Default != nil && p.wantsDefault(held): // the second loop sets the field's default
		case p.Default != nil && p.forbidsNull(held):
			v[name] = d.make(p)
		default:
			d.value(p, held)
		}
	}
	for name, p := range s.mayDefault() {
		if p.Default == nil {
			continue
		}
		if held, ok := v[name]; !ok || p.wantsDefault(held) {
			d.left -= len(name)
			v[name] = d.make(p)
		}
	}
}

// mayDefault returns properties that include all those with a default; if Parse made s, they are
// just those. A walk over all properties would be too much work: a client may declare thousands of
// them, and send an object with many values that have none. The work for properties with a default
// is bounded, because each is either in the object or takes some of maxGrowth.
func (s *Schema) mayDefault() map[string]*Schema {
	if s.defaulted != nil {
		return s.defaulted
	}
	return s.Properties
}

// list sets the defaults in the elements of a list. The default of an element replaces a null.
func (d *defaulter) list(s *Schema, v []any) {
	if s.Items == nil || d.meter.Step(len(v)) != nil {
		return
	}
	for i, held := range v {
		if s.Items.forbidsNull(held) && s.Items.Default != nil {
			v[i] = d.make(s.Items)
		} else {
			d.value(s.Items, held)
		}
	}
}

// make returns a copy of the default of a schema, with the defaults within it set.
func (d *defaulter) make(s *Schema) any {
	made := d.copy(s.Default)
	d.value(s, made)
	return made
}

// forbidsNull reports whether v is null and s does not allow null. A schema that says nothing about
// its values allows it.
func (s *Schema) forbidsNull(v any) bool {
	return v == nil && !s.Nullable && !s.isAnything()
}

// wantsDefault reports whether the default of a field replaces v, its value.
func (s *Schema) wantsDefault(v any) bool {
	return s.forbidsNull(v) || s.Go != nil && s.isZero(v)
}

// copy returns a copy of a default and subtracts its length in JSON from left: 4 bytes a value, and
// the bytes of keys and strings. It returns nil once left is negative.
func (d *defaulter) copy(v any) any {
	if d.left -= 4; d.left < 0 {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		made := make(map[string]any, len(v))
		for k, held := range v {
			d.left -= len(k)
			made[k] = d.copy(held)
		}
		return made
	case []any:
		made := make([]any, len(v))
		for i := range v {
			made[i] = d.copy(v[i])
		}
		return made
	case string:
		d.left -= len(v)
	}
	return v
}
