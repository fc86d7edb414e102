package rules

import "github.com/coracle-project/coracle/scheme/schema"

// formerList returns what a list was. That is not worked out if nobody below asks.
func (w *walk) formerList(n *node, old any) schema.Former {
	if !n.oldSelf {
		return schema.Former{}
	}
	was, _ := old.([]any)
	return n.schema.Former(was)
}

// A place is a value on the way of a walk, for the question whether an update changed it. That is asked only of what breaks a rule, and
// then found out from the top down, once.
type place struct {
	above  *place
	schema *schema.Schema
	name   string // of a field or entry
	isItem bool   // of a list
	value  any

	looked bool // whether what follows has been found out
	known  bool // what the value was
	before any

	compared, same bool
	list           schema.Former // what the list was
	indexed        bool
}

// field returns the place of a field or entry, nil if nobody will ask.
func (p *place) field(n *node, name string, v any, wanted bool) *place {
	if !wanted {
		return nil
	}
	return &place{above: p, schema: n.schema, name: name, value: v}
}

// element returns the place of an element, nil if nobody will ask.
func (p *place) element(n *node, v any, wanted bool) *place {
	if !wanted {
		return nil
	}
	return &place{above: p, schema: n.schema, isItem: true, value: v}
}

// ratchets reports whether what is wrong with the value was so before: neither it has changed or, where that cannot be told of it,
// what it stands in. apiVersion and kind of an object may be new to it with each request.
func (p *place) ratchets() bool {
	if p == nil {
		return false
	}
	if p.above != nil && p.above.above == nil && (p.name == "apiVersion" || p.name == "kind") && !p.isItem {
		return false
	}
	for ; p != nil; p = p.above {
		if p.look(); p.known {
			return p.unchanged()
		}
	}
	return false
}

// look finds out what the value was.
func (p *place) look() {
	if p.looked || p.above == nil {
		return
	}
	p.looked = true
	if p.above.look(); !p.above.known {
		return
	}
	switch was := p.above.before.(type) {
	case map[string]any:
		if !p.isItem {
			p.before, p.known = was[p.name]
		}
	case []any:
		if p.isItem {
			p.before = p.above.former(was).Element(p.value)
			p.known = p.before != nil
		}
	}
}

// former returns the list that the value was.
func (p *place) former(was []any) *schema.Former {
	if !p.indexed {
		p.list, p.indexed = p.schema.Former(was), true
	}
	return &p.list
}

// unchanged reports whether the value is what it was.
func (p *place) unchanged() bool {
	if !p.compared {
		p.same, p.compared = p.schema.Unchanged(p.value, p.before), true
	}
	return p.same
}
