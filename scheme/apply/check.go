package apply

import (
	"fmt"

	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/schema"
)

// Check says what keeps a tree from being merged by a schema: fields that it does not know, values of the wrong type, elements
// of lists without what identifies them, and unless repeats is set also such that repeat others.
func Check(m *meter.Meter, tree any, s *schema.Schema, repeats bool) error {
	c := checker{newWalker(m), repeats}
	defer c.done()
	c.check(partOf(tree), rootShape(s))
	return c.err()
}

// checkReset is Check, with repeats, of what the door resets, and nobody judges therefore: through a subresource nearly all.
func (w *write) checkReset(tree any) error {
	if w.Subresource != "" {
		return Check(&w.meter, tree, w.before.schema, true)
	}
	reset := w.Reset[w.before.version]
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

// checker looks for what is wrong with a tree.
type checker struct {
	*walker
	repeats bool // are right
}

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

// object checks the fields of an object, up to one that is not known.
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

// list checks the elements of a list. What comes behind one that nothing identifies is not looked at.
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

// granular checks the elements of a list that are identified, up to one that is not.
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

// misfit says why a value is not what a schema says of scalars, "" if it is.
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

// shown returns the value at hand as messages have it, and whole as a tree that is not lazy.
func (w *walker) shown(p part) string { return fmt.Sprintf("&{%v}", w.whole(p)) }
func (w *walker) whole(p part) any    { return p.whole(w.meter, w.depth()) }
