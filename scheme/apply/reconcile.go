package apply

import (
	"slices"

	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/schema"
)

// Reconcile adapts a set to schema s, which may have changed since the set was made: fields in a
// value that has become atomic are replaced by the whole value. It returns fields itself if there
// is nothing to change.
func Reconcile(m *meter.Meter, fields *Set, s *schema.Schema) (*Set, error) {
	root := rootShape(s)
	if root.isWhole() { // nobody owns the object as a whole
		return fields, nil
	}
	return fields.reconcile(m, root), m.Err()
}

// reconcile returns the set of fields below a value of shape sh, adapted to that shape.
func (s *Set) reconcile(m *meter.Meter, sh shape) *Set {
	if s == nil {
		return nil
	}
	var out *Set // nil until a node has changed
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

// part returns the shape of the part at element e of a value of shape sh. The value is not known,
// so a shape that allows an object counts as one.
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

// isWhole reports whether the shape is atomic, so that its value has no fields of its own. A loose
// object is never whole.
func (sh shape) isWhole() bool {
	switch {
	case sh.object != impossible:
		return sh.object == atomic && !sh.isLoose()
	case sh.scalar != noScalar:
		return false
	}
	return sh.list == atomic
}

// isLoose reports whether the schema declares no fields of an object and allows any entries in it.
func (sh shape) isLoose() bool {
	switch {
	case sh.schema == nil:
		return sh.parts == deduced
	case len(sh.schema.Properties) > 0 || hasHead(sh.schema):
		return false
	case sh.schema.AdditionalProperties == nil:
		return sh.parts == deduced
	}
	return sh.schema.AdditionalProperties.Model == nil && sh.entries().scalar == anyScalar
}

// withNamed returns the set with more members: each declared field that has members of the set
// below it becomes a member, too. Entries of maps do not. structured-merge-diff calls this
// EnsureNamedFieldsAreMembers.
func (s *Set) withNamed(m *meter.Meter, of *schema.Schema) *Set { return s.named(m, rootShape(of)) }

// named is withNamed for the fields below a value of shape sh.
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
