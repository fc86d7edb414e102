package apply

import (
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/alias"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
)

// This file reads trees whose values may be lazy, that is jsontext.Raw text. A part is a value in
// either form; a reader lists the entries of objects and the elements of lists on stacks of its
// own, so that a walk allocates little. walker embeds the reader.

// part is a value of a tree, in lazy or decoded form. The zero part stands for a missing value,
// which is not the same as null.
type part struct {
	raw   jsontext.Raw // the text of the value; "" if the value is decoded
	tree  any          // the value as the tree holds it; nil if raw was cut from a larger text
	there bool
}

// partOf returns the part of a value in a tree.
func partOf(tree any) part {
	if raw, ok := tree.(jsontext.Raw); ok && !raw.IsNull() {
		return part{raw: raw, tree: tree, there: true}
	} else if ok {
		tree = nil
	}
	return part{tree: tree, there: true}
}

// rawPart returns the part of a value that was cut from the text of an object or a list.
func rawPart(raw jsontext.Raw) part {
	if raw.IsNull() {
		return null
	}
	return part{raw: raw, there: true}
}

// value returns the part as a tree. The value of a missing part is nil.
func (p part) value() any {
	if p.raw != "" && p.tree == nil {
		return p.raw
	}
	return p.tree
}

// isTextOf reports whether two parts are the same text, and so surely equal. Different texts may
// still be equal values.
func (p part) isTextOf(other part) bool { return p.raw != "" && p.raw == other.raw }

// class is the JSON type of a part; absent if the part is missing.
type class uint8

const (
	absent class = iota
	nullClass
	boolClass
	numberClass
	stringClass
	listClass
	objectClass
)

func (c class) isScalar() bool { return c == boolClass || c == numberClass || c == stringClass }

// class returns the class of p. It looks at no more than the first byte of text.
func (p part) class() class {
	if p.raw != "" {
		switch p.raw[0] {
		case '{':
			return objectClass
		case '[':
			return listClass
		case '"':
			return stringClass
		case 't', 'f':
			return boolClass
		}
		return numberClass
	}
	switch p.tree.(type) {
	case map[string]any:
		return objectClass
	case []any:
		return listClass
	case string:
		return stringClass
	case bool:
		return boolClass
	case int64, float64:
		return numberClass
	}
	if p.there {
		return nullClass
	}
	return absent
}

// isEmpty reports whether there is nothing in a value: it is neither an object nor a list, or it is
// an empty one.
func (p part) isEmpty() bool {
	if p.raw != "" {
		c := p.class()
		return c != objectClass && c != listClass || len(strings.TrimLeft(string(p.raw[1:]), " \n\t\r")) <= 1
	}
	switch v := p.tree.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return true
}

// entry is a field of an object.
type entry struct {
	name string
	part
}

// maxLazy is the depth up to which values are read level by level. Each level scans the text of the
// levels below it once more, so deeper values are decoded in whole to keep the work linear.
const maxLazy = 32

// open returns a value that lies at the given depth. If it lies deeper than maxLazy, it is decoded;
// its numbers stay text.
func (p part) open(m *meter.Meter, depth int) part {
	if c := p.class(); p.raw == "" || depth < maxLazy || c != objectClass && c != listClass {
		return p
	}
	return p.decoded(m, depth)
}

// decoded returns an object or a list, given as text, as a tree in which numbers stay text; null if
// m has ended.
func (p part) decoded(m *meter.Meter, depth int) part {
	s := jsontext.NewScanner(alias.Bytes(string(p.raw)), true, m)
	s.Literal, s.Depth = true, depth
	tree, err := s.Document()
	if err != nil { // text in a tree is never malformed, so m has ended
		return null
	}
	return partOf(tree)
}

// whole returns a value that lies at the given depth as a tree that is nowhere lazy; nil once m has
// ended.
func (p part) whole(m *meter.Meter, depth int) any {
	if m.Step(stepsPerCompare+len(p.raw)) != nil {
		return nil
	}
	switch class := p.class(); {
	case p.raw == "":
	case class == objectClass || class == listClass:
		p = p.decoded(m, depth)
	case class == stringClass:
		return p.text()
	case class == boolClass:
		return p.raw == "true"
	default:
		return p.raw.Number()
	}
	switch v := p.tree.(type) {
	case map[string]any:
		object := make(map[string]any, len(v))
		for k, e := range v {
			object[k] = partOf(e).whole(m, depth+1)
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = partOf(e).whole(m, depth+1)
		}
		return list
	}
	return p.tree
}

// text returns the string that a part of stringClass holds.
func (p part) text() string {
	text, ok := p.tree.(string)
	if !ok {
		text, _ = p.raw.Str()
	}
	return text
}

// null is the part of a JSON null.
var null = part{there: true}

// reader lists what is in objects and lists. The slices that it returns lie on its stacks: the
// caller gives them back with freeEntries and freeItems, in reverse order, and does not use them
// afterwards. The zero reader is ready to use.
//
// Once its Meter has ended, a reader finds every object and list empty.
type reader struct {
	meter      *meter.Meter
	entryStack []entry
	partStack  []part
	members    []jsontext.Member // room for what jsontext returns
	elements   []jsontext.Raw
}

// entries returns the fields of an object, sorted by name; none if p is not an object. depth is how
// deep p lies in its tree.
func (r *reader) entries(p part, depth int) []entry {
	start := len(r.entryStack)
	if r.meter.Step(len(p.raw)) != nil {
		return nil
	}
	if p = p.open(r.meter, depth); p.raw != "" {
		r.members, _ = p.raw.Members(depth, r.members[:0])
		for _, m := range r.members {
			r.entryStack = append(r.entryStack, entry{m.Key, rawPart(m.Value)})
		}
	} else if object, ok := p.tree.(map[string]any); ok {
		for name, v := range object {
			if r.meter.Step(stepsPerCompare) != nil {
				break
			}
			r.entryStack = append(r.entryStack, entry{name, partOf(v)})
		}
		slices.SortFunc(r.entryStack[start:], r.byName) // no name repeats, so nothing has to be stable
	}
	found := r.entryStack[start:]
	for i := 1; i < len(found); i++ {
		if found[i-1].name >= found[i].name {
			kept := r.sorted(found)
			clear(found[len(kept):])
			r.entryStack = r.entryStack[:start+len(kept)]
			break
		}
	}
	return r.entryStack[start:len(r.entryStack):len(r.entryStack)]
}

// sorted sorts the fields of an object in place. Of several fields with one name it keeps the last.
func (r *reader) sorted(entries []entry) []entry {
	slices.SortStableFunc(entries, r.byName)
	n := 0
	for _, next := range entries[1:] {
		if entries[n].name != next.name {
			n++
		}
		entries[n] = next
	}
	return entries[:n+1]
}

// byName orders fields. Once the Meter has ended all names compare as equal, so that sorts in
// progress end soon.
func (r *reader) byName(a, b entry) int {
	if r.meter.Step(stepsPerCompare) != nil {
		return 0
	}
	return strings.Compare(a.name, b.name)
}

// freeEntries gives back the slice that entries returned last. It clears the slice, so that the
// stack does not keep the tree alive.
func (r *reader) freeEntries(e []entry) {
	r.entryStack = r.entryStack[:len(r.entryStack)-len(e)]
	clear(e)
}

// join calls f once for each name in as or bs, in order; the part of a side that lacks the name is
// the zero part. Both are sorted.
func join(as, bs []entry, f func(name string, a, b part)) {
	for len(as) > 0 || len(bs) > 0 {
		switch {
		case len(bs) == 0 || len(as) > 0 && as[0].name < bs[0].name:
			f(as[0].name, as[0].part, part{})
			as = as[1:]
		case len(as) == 0 || bs[0].name < as[0].name:
			f(bs[0].name, part{}, bs[0].part)
			bs = bs[1:]
		default:
			f(as[0].name, as[0].part, bs[0].part)
			as, bs = as[1:], bs[1:]
		}
	}
}

// items returns the elements of a list; none if p is not a list. depth is how deep p lies in its
// tree.
func (r *reader) items(p part, depth int) []part {
	start := len(r.partStack)
	if r.meter.Step(len(p.raw)) != nil {
		return nil
	}
	if p = p.open(r.meter, depth); p.raw != "" {
		r.elements, _ = p.raw.Elements(depth, r.elements[:0])
		for _, e := range r.elements {
			r.partStack = append(r.partStack, rawPart(e))
		}
	} else if list, ok := p.tree.([]any); ok {
		for _, v := range list {
			r.partStack = append(r.partStack, partOf(v))
		}
	}
	return r.partStack[start:len(r.partStack):len(r.partStack)]
}

// freeItems gives back the slice that items returned last, as freeEntries does.
func (r *reader) freeItems(p []part) {
	r.partStack = r.partStack[:len(r.partStack)-len(p)]
	clear(p)
}

// equal reports whether two values, neither of which is missing, are equal. Numbers are compared by
// value. Once the Meter has ended all values are equal.
func (r *reader) equal(a, b part, depth int) bool {
	if r.meter.Step(stepsPerValue) != nil || a.isTextOf(b) {
		return true
	}
	c := a.class()
	if c != b.class() {
		return false
	}
	switch c {
	case objectClass:
		return r.equalObjects(a, b, depth)
	case listClass:
		as, bs := r.items(a, depth), r.items(b, depth)
		defer func() { r.freeItems(bs); r.freeItems(as) }()
		return slices.EqualFunc(as, bs, func(a, b part) bool { return r.equal(a, b, depth+1) })
	case stringClass:
		return a.text() == b.text()
	}
	return jsontext.Equal(a.whole(r.meter, depth), b.whole(r.meter, depth))
}

func (r *reader) equalObjects(a, b part, depth int) bool {
	as, bs := r.entries(a, depth), r.entries(b, depth)
	defer func() { r.freeEntries(bs); r.freeEntries(as) }()
	return slices.EqualFunc(as, bs,
		func(a, b entry) bool { return a.name == b.name && r.equal(a.part, b.part, depth+1) })
}
