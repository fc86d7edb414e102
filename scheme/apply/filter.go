package apply

import (
	"slices"
	"strings"
)

// Filter takes fields out of a set: those that nobody can own through a door, because it resets them.
type Filter func(*Set) *Set

// Except keeps all but the fields at the given paths, such as "status" or "metadata.deletionTimestamp", and what is in them.
func Except(paths ...string) Filter {
	out := &Set{}
	for _, path := range paths {
		var p Path
		for name := range strings.SplitSeq(path, ".") {
			p = append(p, Field(name))
		}
		out.insert(p)
	}
	return func(s *Set) *Set { return s.SubtractAll(out) }
}

// Only keeps the fields at the given paths and what is in them, and those on the way there. A step "*" is any:
// "spec.containers.*.resources".
func Only(paths ...string) Filter {
	keep := &pattern{}
	for _, path := range paths {
		keep.add(path)
	}
	return keep.of
}

// pattern says which fields Only keeps.
type pattern struct {
	all   bool
	steps []step // the one to any part, "*", comes first: where it is there is no other
}

// step is a part that a pattern goes to, and what is kept there.
type step struct {
	name string
	then *pattern
}

// add lets another path in.
func (p *pattern) add(path string) {
	for name := range strings.SplitSeq(path, ".") {
		i := slices.IndexFunc(p.steps, func(s step) bool { return s.name == name })
		if i < 0 && name == "*" {
			i = 0
			p.steps = slices.Insert(p.steps, 0, step{name, &pattern{}})
		} else if i < 0 {
			i = len(p.steps)
			p.steps = append(p.steps, step{name, &pattern{}})
		}
		p = p.steps[i].then
	}
	p.all = true
}

// of returns what of a set the pattern keeps.
func (p *pattern) of(s *Set) *Set {
	if s == nil || p.all {
		return s
	}
	out := &Set{}
	for _, n := range s.nodes {
		i := slices.IndexFunc(p.steps, func(s step) bool {
			return s.name == "*" || n.element.sort == field && n.element.name == s.name
		})
		if i >= 0 {
			out.add(node{n.element, n.member, p.steps[i].then.of(n.sub)})
		}
	}
	return out
}
