package apply

import (
	"slices"

	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/schema"
)

// This file finds what differs between two trees, as structured-merge-diff's Compare does.
// Door.Update and Door.Apply learn from it which fields a write changes, and so who gains and who
// loses them.

// Changes are the fields in which one tree differs from another: Added are only in the second tree,
// Removed only in the first, Modified have different values in the two.
type Changes struct{ Added, Modified, Removed *Set }

// Compare returns the changes that lead from one tree to the other. Values that are the same text
// in both trees are not looked into, so an error in such a value is not found. The error is that of
// m, or lists what does not fit the schema.
func Compare(m *meter.Meter, from, to any, s *schema.Schema) (Changes, error) {
	c := comparer{newWalker(m)}
	defer c.done()
	_, in := c.compare(partOf(from), partOf(to), rootShape(s))
	return Changes{in[added], in[modified], in[removed]}, c.err()
}

// change is one of the three sets of Changes.
type change uint8

const (
	added change = iota
	modified
	removed
	changes // is how many there are
)

// happened says, for each sort of change, whether it happened to a value itself, as one field.
type happened [changes]bool

// within holds, for each sort of change, the set of the fields below a value to which it happened.
type within [changes]*Set

// comparer walks two trees at once and collects changes in one builder for each sort of change.
type comparer struct{ *walker }

// compare returns the changes to a value and to the fields in it. At most one of from and to may be
// missing. If the two values are of different classes, they are compared twice, by the shape that
// fits each of them, and the results are united.
func (c *comparer) compare(from, to part, sh shape) (self happened, in within) {
	if c.ends() || from.isTextOf(to) {
		return self, in
	}
	shFrom, shTo := c.given(sh, from.class()), c.given(sh, to.class())
	leaf := false
	switch { // null and a missing value fit every type
	case !to.there:
		self, in, leaf = c.values(from, to, shFrom)
	case !from.there || shFrom == shTo:
		self, in, leaf = c.values(from, to, shTo)
	default:
		was, inWas, _ := c.values(from, to, shFrom)
		self, in, leaf = c.values(from, to, shTo)
		for i := range changes {
			self[i] = self[i] || was[i]
			in[i] = inWas[i].Union(c.meter, in[i])
		}
	}
	if !leaf {
		self[added] = self[added] || !from.there
		self[removed] = self[removed] || !to.there
	}
	return self, in
}

// values compares two values by one shape. leaf reports that they were compared as wholes, so that
// self says already whether the value was added or removed.
func (c *comparer) values(from, to part, sh shape) (self happened, in within, leaf bool) {
	switch {
	case sh.object != impossible:
		from, to := from.as(objectClass), to.as(objectClass)
		if sh.object == granular && !(from.isEmpty() && to.isEmpty()) {
			return self, c.objects(from, to, sh), false
		}
	case sh.scalar != noScalar:
		if !c.scalars(from, to, sh.scalar) {
			return self, in, false
		}
	case sh.list != impossible:
		from, to := from.as(listClass), to.as(listClass)
		if sh.list == granular && !(from.isEmpty() && to.isEmpty()) {
			return self, c.lists(from, to, sh), false
		}
	default:
		c.failShape()
		return self, in, false
	}
	return c.wholes(from, to), in, true
}

// wholes compares two values that are owned as one field each.
func (c *comparer) wholes(from, to part) (self happened) {
	switch {
	case !from.there:
		self[added] = true
	case !to.there:
		self[removed] = true
	default:
		self[modified] = !c.equal(from, to, c.depth())
	}
	return self
}

// as returns p if it is of class c, and otherwise the missing part.
func (p part) as(c class) part {
	if p.class() == c {
		return p
	}
	return part{}
}

// objects compares the fields of two granular objects. One of the objects may be missing.
func (c *comparer) objects(from, to part, sh shape) within {
	as, bs := c.entries(from, c.depth()), c.entries(to, c.depth())
	defer func() { c.freeEntries(bs); c.freeEntries(as) }()
	start := c.begin()
	join(as, bs, func(name string, a, b part) {
		if a.isTextOf(b) { // as most are
			return
		}
		part, _ := sh.field(name)
		c.descend(Field(name), a, b, part)
	})
	return c.end(start)
}

// descend compares the values of one element on both sides and pushes the changes to the builders.
func (c *comparer) descend(e Element, from, to part, sh shape) {
	c.enter(e)
	self, in := c.compare(from, to, sh)
	c.leave()
	for i := range changes {
		if self[i] || in[i] != nil {
			c.builders[i].push(node{e, self[i], in[i]})
		}
	}
}

// begin opens a set in each builder, and end closes these sets.
func (c *comparer) begin() (start [changes]int) {
	for i := range changes {
		start[i] = c.builders[i].begin()
	}
	return start
}

func (c *comparer) end(start [changes]int) (in within) {
	for i := range changes {
		in[i] = c.builders[i].end(c.meter, start[i], lastNode)
	}
	return in
}

// lists compares the elements of two granular lists, one of which may be missing. If several
// elements have the same identity, the comparison does not look into them: it only says whether the
// whole group is as it was.
func (c *comparer) lists(from, to part, sh shape) within {
	as, bs := c.items(from, c.depth()), c.items(to, c.depth())
	defer func() { c.freeItems(bs); c.freeItems(as) }()
	start := c.begin()
	c.groups(c.identify(sh, as), c.identify(sh, bs),
		func(e Element, a, b []identified) { c.group(e, a, b, sh.items()) })
	return c.end(start)
}

// group compares the elements of both lists that have one identity.
func (c *comparer) group(e Element, from, to []identified, sh shape) {
	if len(from) <= 1 && len(to) <= 1 {
		c.descend(e, partOrMissing(from), partOrMissing(to), sh)
		return
	}
	what := modified
	switch {
	case len(to) <= 1: // one element has replaced several
		what = removed
		from = nil
	case len(from) <= 1:
		what = added
		to = nil
	case slices.EqualFunc(from, to, func(a, b identified) bool { return c.equal(a.part, b.part, c.depth()+1) }):
		return
	}
	if what != modified && len(from)+len(to) > 0 {
		c.descend(e, partOrMissing(from), partOrMissing(to), sh)
	}
	c.builders[what].push(node{element: e, member: true})
}
