package apply

import (
	"iter"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/meter"
)

// Set is a set of fields. That it has a field says nothing about what is in the field. A nil Set is empty. A finished Set is
// immutable, and may share parts with others.
type Set struct {
	nodes []node // sorted by element
}

// node is a field that is in a Set, or that has fields which are.
type node struct {
	element Element
	member  bool
	sub     *Set // of what is in the field; nil if that is nothing
}

// SetOf returns the set of some fields.
func SetOf(paths ...Path) *Set {
	s := &Set{}
	for _, p := range paths {
		s.insert(p)
	}
	return s
}

// Fields is SetOf of fields of objects: "status", "metadata.labels".
func Fields(paths ...string) *Set {
	s := &Set{}
	for _, path := range paths {
		var p Path
		for name := range strings.SplitSeq(path, ".") {
			p = append(p, Field(name))
		}
		s.insert(p)
	}
	return s
}

// find returns where the element is among the nodes, or would be.
func (s *Set) find(m *meter.Meter, e Element) (int, bool) {
	return slices.BinarySearchFunc(s.nodes, e, func(n node, e Element) int { return n.element.compare(m, e) })
}

// insert adds a field to a set that is not finished. The empty path, the object as a whole, is nobody's.
func (s *Set) insert(p Path) {
	for i, e := range p {
		n := s.at(e)
		if i == len(p)-1 {
			n.member = true
			return
		}
		if n.sub == nil {
			n.sub = &Set{}
		}
		s = n.sub
	}
}

// at returns the node of an element in a set that is not finished, and makes it if there is none. It is good until the next
// call, and has to become a member, or have some.
func (s *Set) at(e Element) *node {
	if last := len(s.nodes) - 1; last < 0 || s.nodes[last].element.compare(nil, e) < 0 { // mostly they come in order
		s.nodes = append(s.nodes, node{element: e})
		return &s.nodes[last+1]
	}
	i, ok := s.find(nil, e)
	if !ok {
		s.nodes = slices.Insert(s.nodes, i, node{element: e})
	}
	return &s.nodes[i]
}

// Empty reports whether there is no field in the set.
func (s *Set) Empty() bool { return s == nil || len(s.nodes) == 0 }

// Has reports whether a field is in the set.
func (s *Set) Has(p Path) bool {
	for i, e := range p {
		if s == nil {
			return false
		}
		j, ok := s.find(nil, e)
		if !ok {
			return false
		}
		if i == len(p)-1 {
			return s.nodes[j].member
		}
		s = s.nodes[j].sub
	}
	return false
}

// in returns whether a part is in the set, and the set of what is in the part.
func (s *Set) in(m *meter.Meter, e Element) (member bool, sub *Set) {
	if s == nil {
		return false, nil
	}
	i, ok := s.find(m, e)
	if !ok {
		return false, nil
	}
	return s.nodes[i].member, s.nodes[i].sub
}

// All yields the fields: those of one object or list first, then what is in each. A path is good until the next.
func (s *Set) All() iter.Seq[Path] {
	return func(yield func(Path) bool) { s.each(nil, yield) }
}

func (s *Set) each(at Path, yield func(Path) bool) bool {
	if s == nil {
		return true
	}
	for _, n := range s.nodes {
		if n.member && !yield(append(at, n.element)) {
			return false
		}
	}
	for _, n := range s.nodes {
		if n.sub != nil && !n.sub.each(append(at, n.element), yield) {
			return false
		}
	}
	return true
}

// Equal reports whether two sets have the same fields.
func (s *Set) Equal(m *meter.Meter, other *Set) bool {
	if s.Empty() || other.Empty() {
		return s.Empty() && other.Empty()
	}
	return slices.EqualFunc(s.nodes, other.nodes, func(a, b node) bool {
		return a.member == b.member && a.element.compare(m, b.element) == 0 && a.sub.Equal(m, b.sub)
	})
}

// Union returns the set of what is in either.
func (s *Set) Union(m *meter.Meter, other *Set) *Set {
	switch {
	case s.Empty():
		return other
	case other.Empty():
		return s
	}
	out := &Set{nodes: make([]node, 0, max(len(s.nodes), len(other.nodes)))}
	zip(m, s, other, func(a, b node) {
		e := b.element // numbers may be spelt differently
		if !b.there() || a.sub != nil {
			e = a.element
		}
		out.add(node{e, a.member || b.member, a.sub.Union(m, b.sub)})
	})
	return out
}

// Intersect returns the set of what is in both. The elements are those of s.
func (s *Set) Intersect(m *meter.Meter, other *Set) *Set {
	if s.Empty() || other.Empty() {
		return nil
	}
	out := &Set{}
	match(m, s, other, func(a, b node) { out.add(node{a.element, a.member && b.member, a.sub.Intersect(m, b.sub)}) })
	return out
}

// Subtract returns the set of what is in s and not in other. What is in a field goes by itself, not with the field.
func (s *Set) Subtract(m *meter.Meter, other *Set) *Set {
	if s.Empty() || other.Empty() {
		return s
	}
	out := &Set{nodes: make([]node, 0, len(s.nodes))}
	match(m, s, other, func(a, b node) { out.add(node{a.element, a.member && !b.member, a.sub.Subtract(m, b.sub)}) })
	return out
}

// SubtractAll is Subtract that takes what is in a field with the field.
func (s *Set) SubtractAll(m *meter.Meter, other *Set) *Set {
	if s.Empty() || other.Empty() {
		return s
	}
	out := &Set{nodes: make([]node, 0, len(s.nodes))}
	match(m, s, other, func(a, b node) {
		if !b.member {
			out.add(node{a.element, a.member, a.sub.SubtractAll(m, b.sub)})
		}
	})
	return out
}

// there reports whether a node is one, and not the lack of one in zip.
func (n *node) there() bool { return n.member || n.sub != nil }

// add appends a node to a set that is not finished, unless there is nothing in it.
func (s *Set) add(n node) {
	if n.sub.Empty() {
		n.sub = nil
	}
	if n.there() {
		s.nodes = append(s.nodes, n)
	}
}

// match calls f for each element of s, in order, with that of other; the zero node stands for one that is missing. What s does
// not have is leapt over: many have few fields of an object that has many.
func match(m *meter.Meter, s, other *Set, f func(a, b node)) {
	rest := *other
	for _, a := range s.nodes {
		c := -1
		if len(rest.nodes) > 0 {
			c = a.element.compare(m, rest.nodes[0].element)
		}
		if c > 0 {
			i, ok := rest.find(m, a.element)
			if rest.nodes = rest.nodes[i:]; ok {
				c = 0
			}
		}
		if c != 0 {
			f(a, node{})
			continue
		}
		f(a, rest.nodes[0])
		rest.nodes = rest.nodes[1:]
	}
}

// zip calls f for each element of either set, in order. The zero node stands for one that is missing.
func zip(m *meter.Meter, s, other *Set, f func(a, b node)) {
	i, j := 0, 0
	for i < len(s.nodes) || j < len(other.nodes) {
		c := 0
		switch {
		case i == len(s.nodes):
			c = 1
		case j == len(other.nodes):
			c = -1
		default:
			c = s.nodes[i].element.compare(m, other.nodes[j].element)
		}
		var a, b node
		if c <= 0 {
			a = s.nodes[i]
			i++
		}
		if c >= 0 {
			b = other.nodes[j]
			j++
		}
		f(a, b)
	}
}
