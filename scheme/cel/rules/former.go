package rules

import "github.com/coracle-project/coracle/scheme/schema"

// formerList is a list of type map before an update, in which oldSelf of its elements is looked for.
type formerList struct {
	schema *schema.Schema
	list   []any
	index  map[schema.Key]int
}

// formerList returns what a list was. That is not worked out if nobody below asks.
func (w *walk) formerList(n *node, old any) formerList {
	list, _ := old.([]any)
	if len(list) == 0 || !n.oldSelf {
		return formerList{}
	}
	return listBefore(n.schema, list)
}

// listBefore returns what a list was. Elements are found in lists of type map only.
func listBefore(s *schema.Schema, list []any) formerList {
	if s.ListType != "map" || len(s.ListKeys) == 0 {
		return formerList{}
	}
	return formerList{s, list, s.Index(list)}
}

// element returns what an element was that is v now, nil if that is not known.
func (f *formerList) element(v any) any {
	if f.index == nil {
		return nil
	}
	if key, ok := f.schema.Key(v); ok {
		if i, ok := f.index[key]; ok {
			return f.list[i]
		}
	}
	return nil
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
	list           formerList // of a list of type map
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
			p.before = p.above.former(was).element(p.value)
			p.known = p.before != nil
		}
	}
}

// former returns the list that the value was.
func (p *place) former(was []any) *formerList {
	if !p.indexed {
		p.list, p.indexed = listBefore(p.schema, was), true
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
