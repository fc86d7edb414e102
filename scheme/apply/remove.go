package apply

import (
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/schema"
)

// Remove returns tree without the fields of a set. An object or a list of which nothing is left
// becomes null. Once m has ended the result is of no use, so the caller has to check m.
func Remove(m *meter.Meter, tree any, fields *Set, s *schema.Schema) any {
	p := pruner{walker: newWalker(m)}
	defer p.done()
	out, _ := p.prune(partOf(tree), fields, rootShape(s))
	return out.value()
}

// Extract returns the part of tree that lies in a set of fields. Once m has ended the result is of
// no use, so the caller has to check m.
func Extract(m *meter.Meter, tree any, fields *Set, s *schema.Schema) any {
	p := pruner{walker: newWalker(m), extract: true}
	defer p.done()
	out, _ := p.prune(partOf(tree), fields, rootShape(s))
	return out.value()
}

// pruner removes the fields of a set from a tree; if extract is set, it removes all others.
type pruner struct {
	*walker
	extract  bool
	outStack []entry // results of the open objects and lists; elements of lists have no name
}

// prune returns the rest of a value, and whether it differs from the value. As in
// structured-merge-diff (typed/remove.go), a walk that arrives at an atomic or empty object or list
// returns null, or the whole value if it extracts.
func (p *pruner) prune(v part, fields *Set, sh shape) (_ part, changed bool) {
	if p.ends() {
		return v, false
	}
	class := v.class()
	switch sh = p.given(sh, class); {
	case sh.object != impossible:
		if class == objectClass && !v.isEmpty() && sh.object == granular {
			return p.object(v, fields, sh)
		}
	case sh.scalar != noScalar:
		return v, false
	case sh.list != impossible:
		if class == listClass && !v.isEmpty() && sh.list == granular {
			return p.list(v, fields, sh)
		}
	}
	if p.extract && (class == objectClass && sh.object != impossible || class == listClass && sh.list != impossible) {
		return v, false
	}
	return null, class != nullClass
}

// object prunes a granular object that is not empty.
func (p *pruner) object(v part, fields *Set, sh shape) (_ part, changed bool) {
	entries := p.entries(v, p.depth())
	start := len(p.outStack)
	defer func() {
		p.outStack = p.outStack[:start]
		p.freeEntries(entries)
	}()
	for _, each := range entries {
		if p.ends() {
			break
		}
		e := Field(each.name)
		member, in := fields.in(p.meter, e)
		switch {
		case member && !p.extract, in.Empty() && !member && p.extract:
			changed = true
			continue
		case member:
			// A quirk of structured-merge-diff: doMap goes on below an extracted field with the set
			// of the field's siblings.
			in = fields
		case in.Empty():
			p.outStack = append(p.outStack, each)
			continue
		}
		part, _ := sh.field(each.name)
		p.enter(e)
		left, pruned := p.prune(each.part, in, part)
		p.leave()
		p.outStack = append(p.outStack, entry{each.name, left})
		changed = changed || pruned
	}
	outs := p.outStack[start:]
	switch {
	case !changed:
		return v, false
	case len(outs) == 0:
		return null, true
	}
	object := make(map[string]any, len(outs))
	for _, out := range outs {
		object[out.name] = out.value()
	}
	return partOf(object), true
}

// list prunes a granular list that is not empty.
func (p *pruner) list(v part, fields *Set, sh shape) (_ part, changed bool) {
	items := p.items(v, p.depth())
	start := len(p.outStack)
	defer func() {
		p.outStack = p.outStack[:start]
		p.freeItems(items)
	}()
	for _, each := range items {
		if p.ends() {
			break
		}
		var member bool
		var in *Set
		e, problem := p.element(sh, each)
		if problem == "" { // an element that nothing identifies is in no set
			member, in = fields.in(p.meter, e)
		}
		if member && !p.extract || !member && in.Empty() && p.extract {
			changed = true
			continue
		}
		if !in.Empty() {
			p.enter(e)
			left, pruned := p.prune(each, in, sh.items())
			p.leave()
			each, changed = left, changed || pruned
		}
		p.outStack = append(p.outStack, entry{part: each})
	}
	outs := p.outStack[start:]
	switch {
	case !changed:
		return v, false
	case len(outs) == 0:
		return null, true
	}
	list := make([]any, len(outs))
	for i, out := range outs {
		list[i] = out.value()
	}
	return partOf(list), true
}
