package apply

import (
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/schema"
)

// FieldsOf returns the fields that a tree has.
func FieldsOf(m *meter.Meter, tree any, s *schema.Schema) (*Set, error) {
	c := collector{newWalker(m)}
	defer c.done()
	fields, _ := c.value(partOf(tree), rootShape(s))
	return fields, c.err()
}

// collector finds the fields of a tree.
type collector struct{ *walker }

// value returns the fields in a value, and whether it is one itself, wherever it is.
func (c *collector) value(p part, sh shape) (in *Set, self bool) {
	if c.ends() {
		return nil, false
	}
	class := p.class()
	sh = c.given(sh, class)
	switch {
	case sh.object != impossible:
		if sh.object == atomic || class != objectClass {
			return nil, sh.object == atomic
		}
		return c.object(p, sh), false
	case sh.scalar != noScalar:
		return nil, true
	case sh.list != impossible:
		if sh.list == atomic || class != listClass {
			return nil, sh.list == atomic
		}
		return c.list(p, sh), false
	}
	c.failShape()
	return nil, false
}

// object returns the fields in an object. A part is one by itself if it is null, empty or the entry of a map.
func (c *collector) object(p part, sh shape) *Set {
	entries := c.entries(p, c.depth())
	defer c.freeEntries(entries)
	found := &c.builders[0]
	start := found.begin()
	for _, each := range entries {
		part, declared := sh.field(each.name)
		e := Field(each.name)
		c.enter(e)
		in, self := c.value(each.part, part)
		c.leave()
		class := each.class()
		self = self || !declared || class == nullClass || class == objectClass && each.isEmpty()
		found.push(node{e, self, in})
	}
	return found.end(c.meter, start, lastNode)
}

// list returns the fields in a granular list. Every element is one by itself; of several that are identified alike nothing
// else is known. That goes for those that nothing identifies, too: Remove leaves such where it takes the keys of an element.
func (c *collector) list(p part, sh shape) *Set {
	items := c.items(p, c.depth())
	defer c.freeItems(items)
	found := &c.builders[0]
	start := found.begin()
	for _, each := range items {
		e, problem := c.element(sh, each)
		if problem != "" {
			e = Element{}
		}
		c.enter(e)
		in, _ := c.value(each, sh.items())
		c.leave()
		found.push(node{e, true, in})
	}
	return found.end(c.meter, start, func(a, _ node) node { return node{element: a.element, member: true} })
}
