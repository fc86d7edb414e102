package apply

import (
	"iter"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/meter"
)

// This file has Set and its algebra. Everything else in the package makes sets or computes with
// them. Sets are trees of sorted nodes, so each operation is one merge of two sorted lists per
// level.

// Set is a set of fields. A field's membership says nothing about fields below it. A nil Set is
// empty. A finished Set is immutable, and may share parts with other sets.
type Set struct {
	nodes []node // sorted by element
}

// node is an element that is in a Set, or that has members of the Set below it.
type node struct {
	element Element
	member  bool
	sub     *Set // members below the element; nil if there are none
}

// SetOf returns the set of the fields at paths.
func SetOf(paths ...Path) *Set {
	s := &Set{}
	for _, p := range paths {
		s.insert(p)
	}
	return s
}

// Fields returns the set of fields whose names are given as dotted paths: "status",
// "metadata.labels". It cannot name elements of lists.
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

// find returns the index of element e among the nodes, or the index where it would be, and whether
// it is there.
func (s *Set) find(m *meter.Meter, e Element) (int, bool) {
	return slices.BinarySearchFunc(s.nodes, e, func(n node, e Element) int { return n.element.compare(m, e) })
}

// insert adds a field to an unfinished set. The empty path, which is the whole object, adds
// nothing.
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

// at returns the node of element e in an unfinished set, and adds the node if there is none. The
// pointer is valid until the next call. The caller has to make the node a member or put members
// below it.
func (s *Set) at(e Element) *node {
	// Most callers add elements in order.
	if last := len(s.nodes) - 1; last < 0 || s.nodes[last].element.compare(nil, e) < 0 {
		s.nodes = append(s.nodes, node{element: e})
		return &s.nodes[last+1]
	}
	i, ok := s.find(nil, e)
	if !ok {
		s.nodes = slices.Insert(s.nodes, i, node{element: e})
	}
	return &s.nodes[i]
}

// Empty reports whether the set has no fields.
func (s *Set) Empty() bool { return s == nil || len(s.nodes) == 0 }

// Has reports whether the field at path p is in the set.
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

// in reports whether element e is a member of the set, and returns the set of the members below it.
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

// All yields the paths of the fields: first those of one object or list, then those below each of
// its elements. A path is valid until the next one is yielded.
func (s *Set) All() iter.Seq[Path] {
	return func(yield func(Path) bool) { s.each(nil, yield) }
}

// each yields the paths of the fields below at. It reports false if yield has returned false.
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

// Union returns the set of fields that are in s or in other.
func (s *Set) Union(m *meter.Meter, other *Set) *Set {
	switch {
	case s.Empty():
		return other
	case other.Empty():
		return s
	}
	out := &Set{nodes: make([]node, 0, max(len(s.nodes), len(other.nodes)))}
	zip(m, s, other, func(a, b node) {
		e := b.element // equal numbers may be spelt differently, and b's spelling wins
		if !b.there() || a.sub != nil {
			e = a.element
		}
		out.add(node{e, a.member || b.member, a.sub.Union(m, b.sub)})
	})
	return out
}

// Intersect returns the set of fields that are in both sets. Its elements are those of s.
func (s *Set) Intersect(m *meter.Meter, other *Set) *Set {
	if s.Empty() || other.Empty() {
		return nil
	}
	out := &Set{}
	match(m, s, other, func(a, b node) { out.add(node{a.element, a.member && b.member, a.sub.Intersect(m, b.sub)}) })
	return out
}

// Subtract returns the set of fields that are in s and not in other. Subtracting a field does not
// subtract the fields below it.
func (s *Set) Subtract(m *meter.Meter, other *Set) *Set {
	if s.Empty() || other.Empty() {
		return s
	}
	out := &Set{nodes: make([]node, 0, len(s.nodes))}
	match(m, s, other, func(a, b node) { out.add(node{a.element, a.member && !b.member, a.sub.Subtract(m, b.sub)}) })
	return out
}

// SubtractAll returns s without the fields of other and without all fields below them.
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

// there reports whether the node is in use: zip and match pass the zero node for a missing one.
func (n *node) there() bool { return n.member || n.sub != nil }

// add appends a node to an unfinished set, unless the node is neither a member nor has members
// below it.
func (s *Set) add(n node) {
	if n.sub.Empty() {
		n.sub = nil
	}
	if n.there() {
		s.nodes = append(s.nodes, n)
	}
}

// match calls f for each node of s, in order, with the node of other that has the same element, or
// the zero node. It skips runs of nodes that only other has by binary search, because most managers
// own few of an object's fields.
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

// zip calls f for each element of either set, in order, with the nodes of both; the zero node
// stands for a missing one.
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
