package apply

import (
	"fmt"

	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/schema"
)

// This file checks whether a tree can be merged by a schema at all. Door.Apply checks the
// configuration and the live object with it, write.convert checks what a conversion returned, and
// updates of custom resources check the fields that their door resets.

// Check returns an error that lists why tree cannot be merged by schema s: fields that s does not
// declare, values of a wrong type, elements of lists that lack what identifies them, and, unless
// repeats is true, elements that repeat the identity of another. It returns nil if there is nothing
// to report, and the error of m if m has ended. The texts of the problems are those of
// structured-merge-diff.
func Check(m *meter.Meter, tree any, s *schema.Schema, repeats bool) error {
	c := checker{newWalker(m), repeats}
	defer c.done()
	c.check(partOf(tree), rootShape(s))
	return c.err()
}

// checkReset is Check, with repeats allowed, of the fields that the door resets. Nothing else
// checks these fields, because the registry replaces them before validation. Through a subresource
// that is nearly the whole object, so all of it is checked.
func (w *write) checkReset(tree any) error {
	if w.Subresource != "" {
		return Check(&w.meter, tree, w.before.schema, true)
	}
	reset := w.ResetFields[w.before.version]
	if reset.Empty() {
		return nil
	}
	c := checker{newWalker(&w.meter), true}
	defer c.done()
	root := rootShape(w.before.schema)
	entries := c.entries(partOf(tree), c.depth())
	defer c.freeEntries(entries)
	for _, each := range entries {
		if at := Field(each.name); reset.Has(Path{at}) {
			part, _ := root.field(each.name)
			c.enter(at)
			c.check(each.part, part)
			c.leave()
		}
	}
	return c.err()
}

// checker walks one tree and notes what is wrong with it.
type checker struct {
	*walker
	repeats bool // whether elements of a list may have the same identity
}

// check checks a value and all values in it. It notes one problem for a value of the wrong type.
func (c *checker) check(p part, sh shape) {
	if sh.free() || c.problems.full() || c.ends() {
		return
	}
	class := p.class()
	sh = sh.given(class)
	switch {
	case sh.object != impossible:
		if class != nullClass && class != objectClass {
			c.fail("expected map, got %v", c.shown(p))
			return
		}
		c.object(p, sh)
	case sh.scalar != noScalar:
		if problem := c.misfit(p, sh.scalar); problem != "" {
			c.fail("%s", problem)
		}
	case sh.list != impossible:
		if class != nullClass && class != listClass {
			c.fail("expected list, got %v", c.shown(p))
			return
		}
		c.list(p, sh)
	default:
		c.failShape()
	}
}

// object checks the fields of an object. It stops at the first field that the schema does not
// allow.
func (c *checker) object(p part, sh shape) {
	entries := c.entries(p, c.depth())
	defer c.freeEntries(entries)
	for _, each := range entries {
		part, declared := sh.field(each.name)
		c.enter(Field(each.name))
		if !declared && !part.known() {
			c.fail("field not declared in schema")
			c.leave()
			return
		}
		c.check(each.part, part)
		c.leave()
	}
}

// list checks the elements of a list.
func (c *checker) list(p part, sh shape) {
	items := c.items(p, c.depth())
	defer c.freeItems(items)
	if sh.list == atomic {
		for i, each := range items {
			c.enter(Element{sort: index, at: i})
			c.check(each, sh.items())
			c.leave()
		}
		return
	}
	c.granular(items, sh)
}

// granular checks the elements of a granular list. It stops at the first element that nothing
// identifies, and reports that element last, as structured-merge-diff does.
func (c *checker) granular(items []part, sh shape) {
	found := make([]identified, 0, len(items))
	problem := ""
	for _, each := range items {
		if c.ends() {
			return
		}
		var e Element
		if e, problem = c.element(sh, each); problem != "" {
			break
		}
		found = append(found, identified{e, each})
	}
	var again []bool
	if !c.repeats {
		again = c.repeated(found)
	}
	for i, each := range found {
		if again != nil && again[i] {
			c.fail("duplicate entries for key %v", each.element)
		}
		c.enter(each.element)
		c.check(each.part, sh.items())
		c.leave()
	}
	if problem != "" {
		c.fail("element %v: %v", len(found), problem)
	}
}

// misfit says why a value is not the scalar that the schema asks for; "" if it is. null and a
// missing value fit every scalar.
func (w *walker) misfit(p part, s scalar) string {
	class := p.class()
	switch {
	case class == absent || class == nullClass:
	case s == numberScalar && class != numberClass:
		return fmt.Sprintf("expected numeric (int or float), got %T", w.whole(p))
	case s == stringScalar && class != stringClass:
		return fmt.Sprintf("expected string, got &value.valueUnstructured{Value:%#v}", w.whole(p))
	case s == boolScalar && class != boolClass:
		return "expected boolean, got " + w.shown(p)
	case !class.isScalar():
		return "expected any scalar, got " + w.shown(p)
	}
	return ""
}

// shown formats a value as structured-merge-diff's messages show it; whole returns the value as a
// tree that is not lazy.
func (w *walker) shown(p part) string { return fmt.Sprintf("&{%v}", w.whole(p)) }
func (w *walker) whole(p part) any    { return p.whole(w.meter, w.depth()) }
