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

// maxUnknown bounds the unknown fields that are reported, as strict decoding does.
const maxUnknown = 100

// Prune removes from a tree, in place, the fields that s does not know, and reports them as strict
// decoding does: `unknown field "spec.list[0].foo"`. The report is in order, fields in metadata
// last, and leaves out what goes beyond 100 fields; the removal is complete. Fields and entries
// that are null, where s neither allows that nor has a default, go without a report: they say no
// more than if they were missing. Elements of lists keep their place.
//
// Where unknown fields are preserved, what is described below them is pruned still. In a resource,
// at the top or embedded, apiVersion and kind stay, and metadata is pruned by what all objects have
// there.
//
// Once m has ended the rest stays as it is: the caller has to ask m.
func (s *Schema) Prune(m *meter.Meter, tree any) (unknown []string) { return s.prune(m, tree, false) }

// prune is Prune. Defaults keep their nulls.
func (s *Schema) prune(m *meter.Meter, tree any, nulls bool) (unknown []string) {
	p := pruner{meter: m, nulls: nulls}
	p.value(s, tree, false)
	slices.Sort(p.found)
	slices.Sort(p.inMeta)
	return slices.Compact(append(p.found, p.inMeta...))
}

// PreserveAll has Prune keep all fields, and all that is null, wherever they are, of values that s
// describes. What s says of them stays what it was. It changes s, which is to be new.
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

type pruner struct {
	meter  *meter.Meter
	nulls  bool // stay where they are
	way    way
	meta   int // how many metadata objects the way has entered
	found  []string
	inMeta []string // those in metadata
}

// value prunes a value of schema s. nil stands for a schema that knows no field; keep says that
// unknown fields of the value are preserved for the sake of the list around it.
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

// head prunes a field that each resource has, and reports whether name is one.
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

// dropsNull reports whether v is a null that stands for nothing.
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
