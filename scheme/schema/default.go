package schema

import (
	"errors"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
)

// maxGrowth bounds what SetDefaults adds to one tree, in bytes of about what it takes as JSON: an
// element as short as {} can stand for defaults of any size.
const maxGrowth = 16 << 20

// ErrTooLarge is returned for trees that defaults would make larger than any object may be.
var ErrTooLarge = errors.New("the defaults of the object are too large")

// SetDefaults sets the defaults of s in a tree, in place: in each object that is there, and in what
// a default has brought. A null where none is allowed counts as missing, and takes the default; if
// there is none, it stays. Default values are copied.
//
// In what is described by a Go type, a value that is empty counts as missing, too.
//
// The error is ErrTooLarge or that of m, once it has ended; then the tree has part of its defaults.
func (s *Schema) SetDefaults(m *meter.Meter, tree any) error {
	d := defaulter{meter: m, left: maxGrowth}
	d.value(s, tree)
	if d.left < 0 {
		return ErrTooLarge
	}
	return m.Err()
}

type defaulter struct {
	meter *meter.Meter
	left  int // of maxGrowth
	depth int
}

// value sets the defaults in a value.
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

func (d *defaulter) object(s *Schema, v map[string]any) {
	for name, held := range v {
		p, known := s.Properties[name]
		if !known {
			p = s.AdditionalProperties
		}
		switch {
		case p == nil, known && p.Default != nil && p.wantsDefault(held): // fields have theirs below
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

// mayDefault returns the properties among which are all that have a default. A client may declare
// thousands of properties, and send an object with many values that lack them; each property with a
// default costs the object a value, or some of maxGrowth.
func (s *Schema) mayDefault() map[string]*Schema {
	if s.defaulted != nil {
		return s.defaulted
	}
	return s.Properties
}

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

// make returns the default of a schema, with the defaults in it.
func (d *defaulter) make(s *Schema) any {
	made := d.copy(s.Default)
	d.value(s, made)
	return made
}

// forbidsNull reports whether v is a null that s does not allow. Where any value is allowed, null
// is.
func (s *Schema) forbidsNull(v any) bool {
	return v == nil && !s.Nullable && !s.isAnything()
}

// wantsDefault reports whether v, the value of a field, gives way to its default.
func (s *Schema) wantsDefault(v any) bool {
	return s.forbidsNull(v) || s.Go != nil && s.isZero(v)
}

// copy returns a copy of a default and counts it.
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
