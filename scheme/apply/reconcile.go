package apply

import (
	"slices"

	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/schema"
)

// Reconcile returns the set as it has to be by a schema that may have changed since it was made: parts of what is atomic by
// now become the whole of it. It returns fields itself if there is nothing to change.
func Reconcile(m *meter.Meter, fields *Set, s *schema.Schema) (*Set, error) {
	root := rootShape(s)
	if root.isWhole() { // the object as a whole is nobody's
		return fields, nil
	}
	return fields.reconcile(m, root), m.Err()
}

// reconcile returns the set of what is in a place as it has to be.
func (s *Set) reconcile(m *meter.Meter, sh shape) *Set {
	if s == nil {
		return nil
	}
	var out *Set // nil as long as there is nothing to change
	for i, n := range s.nodes {
		if m.Step(stepsPerValue) != nil {
			break
		}
		part := sh.part(n.element)
		if n.sub == nil || !part.known() {
			continue
		}
		if part.isWhole() {
			n.member, n.sub = true, nil
		} else if sub := n.sub.reconcile(m, part); sub != n.sub {
			n.sub = sub
		} else {
			continue
		}
		if out == nil {
			out = &Set{nodes: slices.Clone(s.nodes)}
		}
		out.nodes[i] = n
	}
	if out == nil {
		return s
	}
	return out
}

// part returns the shape of what fields at a place say is in it, whatever is there: an object if that is possible.
func (sh shape) part(e Element) shape {
	switch {
	case sh.object != impossible && sh.isLoose():
	case sh.object != impossible && e.sort == field:
		part, _ := sh.field(e.name)
		return part
	case sh.object != impossible:
		return sh.entries()
	case sh.scalar != noScalar:
	case sh.list != impossible:
		return sh.items()
	}
	return shape{}
}

// isWhole reports whether the value has no fields by itself. Of one that the schema says nothing of it is not known.
func (sh shape) isWhole() bool {
	switch {
	case sh.object != impossible:
		return sh.object == atomic && !sh.isLoose()
	case sh.scalar != noScalar:
		return false
	}
	return sh.list == atomic
}

// isLoose reports whether an object is one of which the schema says no more than that its entries may be anything.
func (sh shape) isLoose() bool {
	switch {
	case sh.of == nil:
		return sh.parts == deduced
	case len(sh.of.Properties) > 0 || hasHead(sh.of):
		return false
	case sh.of.AdditionalProperties == nil:
		return sh.parts == deduced
	}
	return sh.of.AdditionalProperties.Model == nil && sh.entries().scalar == anyScalar
}

// withNamed returns the set with the fields of objects, other than entries of maps, that hold some of it.
func (s *Set) withNamed(m *meter.Meter, of *schema.Schema) *Set { return s.named(m, rootShape(of)) }

func (s *Set) named(m *meter.Meter, sh shape) *Set {
	if s == nil {
		return nil
	}
	out := &Set{nodes: slices.Clone(s.nodes)}
	for i := range out.nodes {
		if m.Step(stepsPerValue) != nil {
			break
		}
		n := &out.nodes[i]
		var in shape
		switch {
		case n.sub == nil:
			continue
		case n.element.sort == field && sh.object != impossible:
			var declared bool
			in, declared = sh.field(n.element.name)
			n.member = n.member || declared
		case n.element.sort == keyed && sh.list != impossible:
			in = sh.items()
		}
		n.sub = n.sub.named(m, in)
	}
	return out
}
