package rules

import "github.com/coracle-project/coracle/scheme/schema"

// oldElements returns the elements of the old list by which elements find their old values. It is
// not computed if no rule below n names oldSelf.
func (w *walk) oldElements(n *node, old any) schema.OldElements {
	if !n.oldSelf {
		return schema.OldElements{}
	}
	was, _ := old.([]any)
	return n.schema.OldElements(was)
}

// A position is a value on the path of a walk. It exists to answer one question: has the update
// changed this value? Only a broken rule asks (ratcheting, KEP-4008). The answer is then computed
// from the top down, and each position keeps its part.
type position struct {
	above  *position
	schema *schema.Schema
	name   string // of a field or of an entry of a map
	isItem bool   // it is an element of a list
	value  any

	looked bool // look has run, so hasOld and before are set
	// The old value was found, and is before.
	hasOld bool
	before any

	// same says whether value equals before; it is valid if compared is set.
	compared, same bool
	list           schema.OldElements // the old list by its keys; valid if indexed is set
	indexed        bool
}

// field returns the position of a field or entry of p, nil if wanted is false.
func (p *position) field(n *node, name string, v any, wanted bool) *position {
	if !wanted {
		return nil
	}
	return &position{above: p, schema: n.schema, name: name, value: v}
}

// element returns the position of a list element of p, nil if wanted is false.
func (p *position) element(n *node, v any, wanted bool) *position {
	if !wanted {
		return nil
	}
	return &position{above: p, schema: n.schema, isItem: true, value: v}
}

// ratchets reports whether a broken rule was broken before the update, too: the value has not
// changed or, if its old value is unknown, the nearest enclosing value with a known old value has
// not. apiVersion and kind of an object never ratchet, because each request states them anew.
func (p *position) ratchets() bool {
	if p == nil {
		return false
	}
	if p.above != nil && p.above.above == nil && (p.name == "apiVersion" || p.name == "kind") && !p.isItem {
		return false
	}
	for ; p != nil; p = p.above {
		if p.look(); p.hasOld {
			return p.unchanged()
		}
	}
	return false
}

// look finds the old value of p, if it has not been looked for.
func (p *position) look() {
	if p.looked || p.above == nil {
		return
	}
	p.looked = true
	if p.above.look(); !p.above.hasOld {
		return
	}
	switch was := p.above.before.(type) {
	case map[string]any:
		if !p.isItem {
			p.before, p.hasOld = was[p.name]
		}
	case []any:
		if p.isItem {
			p.before = p.above.former(was).Element(p.value)
			p.hasOld = p.before != nil
		}
	}
}

// former returns the old list, was, with an index of its elements.
func (p *position) former(was []any) *schema.OldElements {
	if !p.indexed {
		p.list, p.indexed = p.schema.OldElements(was), true
	}
	return &p.list
}

// unchanged reports whether the value equals its old value.
func (p *position) unchanged() bool {
	if !p.compared {
		p.same, p.compared = p.schema.Unchanged(p.value, p.before), true
	}
	return p.same
}
