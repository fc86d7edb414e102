package apply

import (
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/schema"
)

// FieldsOf returns the set of all fields that tree has by schema s. The error is that of m, or
// lists the values that s does not allow.
func FieldsOf(m *meter.Meter, tree any, s *schema.Schema) (*Set, error) {
	c := collector{newWalker(m)}
	defer c.done()
	fields, _ := c.value(partOf(tree), rootShape(s))
	return fields, c.err()
}

// collector walks one tree and collects its fields.
type collector struct{ *walker }

// value returns the set of fields below a value, and whether the value itself is a field because it
// is a scalar or atomic.
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

// object returns the set of fields in an object. An entry of a map is always a field itself; a
// declared field is one if it is null, an empty object, or if value says so.
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

// list returns the set of fields in a granular list. Every element is a field itself. If several
// elements have one identity, their contents are left out. Elements that nothing identifies are
// treated as if they had one identity: Remove leaves such elements behind when it removes the keys
// of an element.
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
