package schema

import (
	"slices"
	"strconv"
	"sync"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// prune.go removes unknown fields from trees. The kind of a custom resource calls Prune after
// decoding a request, and reports the fields that it removed by the field validation of the
// request.

// maxUnknown bounds the number of unknown fields that are reported, as strict decoding does.
const maxUnknown = 100

// Prune removes the fields of a tree that s does not describe, in place. It returns their names as
// strict decoding words them: `unknown field "spec.list[0].foo"`. The names are sorted, with fields
// of metadata last, and at most 100; the removal is complete. Prune also removes, without naming
// them, fields and entries that are null where s neither allows null nor has a default. It removes
// no elements of lists.
//
// Where s preserves unknown fields, the fields that it describes are pruned all the same. In a
// resource, at the root or embedded, apiVersion and kind stay, and metadata is pruned by the schema
// of ObjectMeta.
//
// Once m has ended, the rest of the tree stays as it is: the caller must ask m.
func (s *Schema) Prune(m *meter.Meter, tree any) (unknown []string) { return s.prune(m, tree, false) }

// prune is Prune, but if nulls is true, nulls stay. Defaults are pruned so.
func (s *Schema) prune(m *meter.Meter, tree any, nulls bool) (unknown []string) {
	p := pruner{meter: m, nulls: nulls}
	p.value(s, tree, false)
	slices.Sort(p.found)
	slices.Sort(p.inMeta)
	return slices.Compact(append(p.found, p.inMeta...))
}

// PreserveAll makes Prune keep all unknown fields and nulls of values that s describes, at any
// depth (preserveUnknownFields of a CustomResourceDefinition). Validation does not change. It
// changes s, so it must be called before s is shared.
func (s *Schema) PreserveAll() {
	s.keepsAll = true
	for _, p := range s.Properties {
		p.PreserveAll()
	}
	for _, p := range []*Schema{s.AdditionalProperties, s.Items} {
		if p != nil {
			p.PreserveAll()
		}
	}
}

// pruner walks one tree.
type pruner struct {
	meter  *meter.Meter
	nulls  bool // whether nulls stay
	way    way
	meta   int      // the number of metadata objects that the way has entered
	found  []string // unknown fields outside of metadata
	inMeta []string // unknown fields in metadata
}

// value prunes a value that s describes; a nil s describes no fields. keep says that unknown fields
// of the value stay because the list around it preserves them.
func (p *pruner) value(s *Schema, v any, keep bool) {
	if len(p.way) > jsontext.MaxDepth || p.meter.Step(stepsPerValue) != nil {
		return
	}
	if s != nil {
		s = s.Target()
		keep = keep || s.KeepsUnknown()
	}
	switch v := v.(type) {
	case map[string]any:
		p.object(s, v, keep)
	case []any:
		p.list(s, v, keep)
	}
}

// object prunes the fields of an object.
func (p *pruner) object(s *Schema, v map[string]any, keep bool) {
	for name, held := range v {
		if p.meter.Step(stepsPerValue) != nil {
			return
		}
		below := s.Child(name)
		switch {
		case below != nil && below.dropsNull(held) && !p.nulls:
			delete(v, name)
		case s != nil && s.isResource() && p.head(name, held):
		case below == nil && keep:
		case below == nil:
			p.report(name)
			delete(v, name)
		case holdsMore(held):
			if _, ok := s.Properties[name]; ok {
				p.way.field(name)
			} else {
				p.way.key(name)
			}
			p.value(below, held, false)
			p.way.back()
		}
	}
}

// list prunes the elements of a list. An element inherits keep from its list, because
// preserve-unknown-fields of a list is about the objects in it.
func (p *pruner) list(s *Schema, v []any, keep bool) {
	var items *Schema
	if s != nil {
		items = s.Items
	}
	if items == nil && keep || p.meter.Step(len(v)) != nil {
		return
	}
	for i, held := range v {
		if holdsMore(held) {
			p.way.index(i)
			p.value(items, held, keep)
			p.way.back()
		}
	}
}

// head prunes apiVersion, kind or metadata of a resource, and returns false for other fields.
func (p *pruner) head(name string, v any) bool {
	switch name {
	case "apiVersion", "kind":
		return true
	case "metadata":
		p.way.field(name)
		p.meta++
		p.value(objectMeta(), v, false)
		p.meta--
		p.way.back()
		return true
	}
	return false
}

// dropsNull reports whether v is a null that Prune removes.
func (s *Schema) dropsNull(v any) bool { return s.forbidsNull(v) && s.Default == nil && !s.keepsAll }

// holdsMore reports whether a value can have fields below it.
func holdsMore(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return false
}

// report records an unknown field of the current object.
func (p *pruner) report(name string) {
	if len(p.found)+len(p.inMeta) >= maxUnknown {
		return
	}
	p.way.field(name)
	defer p.way.back()
	const unknown = "unknown field "
	if p.meta > 0 {
		p.inMeta = append(p.inMeta, unknown+strconv.Quote(p.way.toMeta()))
	} else {
		p.found = append(p.found, unknown+strconv.Quote(p.way.String()))
	}
}

// objectMeta is the schema of the metadata of every object.
var objectMeta = sync.OnceValue(func() *Schema { return FromType(typeinfo.For[meta.ObjectMeta]()) })
