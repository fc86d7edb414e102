package apply

import (
	"fmt"
	"slices"
	"strings"
)

// This file finds the identity of the elements of granular lists, and matches the elements of two
// lists by it. All walkers use it: the collector, the comparer, the merger, the pruner and the
// checker.

// identified is an element of a granular list, with the Element that identifies it.
type identified struct {
	element Element
	part    part
}

// identify returns the elements of a granular list with their identities. Elements that nothing
// identifies are left out and noted as problems.
func (w *walker) identify(list shape, items []part) []identified {
	found := make([]identified, 0, len(items))
	for i, item := range items {
		if w.ends() {
			break
		}
		e, problem := w.element(list, item)
		if problem != "" {
			w.fail("element %v: %v", i, problem)
			continue
		}
		found = append(found, identified{e, item})
	}
	return found
}

// element returns what identifies an element of a granular list, or a text that says why nothing
// does. The texts are those of structured-merge-diff.
func (w *walker) element(list shape, item part) (e Element, problem string) {
	if list.key(0) != "" {
		return w.keyed(list, item)
	}
	switch item.class() {
	case objectClass:
		return e, "associative list without keys has an element that's a map type"
	case listClass:
		return e, "not supported: associative list with lists as elements"
	case nullClass:
		return e, "associative list without keys has an element that's an explicit null"
	}
	return Value(item.whole(w.meter, w.depth()+1)), ""
}

// keyed returns what identifies an element of a list of type map: its keys, sorted by name. Like
// element, it returns a problem if nothing identifies the element. If the element lacks a key, the
// default that the schema has for the key counts. A key without a value and without a default is
// left out of the identity. If that leaves no key, it is a problem.
func (w *walker) keyed(list shape, item part) (e Element, problem string) {
	switch item.class() {
	case nullClass:
		return e, "associative list with keys may not have a null element"
	case objectClass:
	default:
		return e, "associative list with keys may not have non-map elements"
	}
	if item.raw != "" && w.meter.Step(len(item.raw)) == nil {
		w.members, _ = item.raw.Members(w.depth()+1, w.members[:0])
	}
	of := make([]key, 0, 2)
	for i := 0; list.key(i) != ""; i++ {
		if w.meter.Step(stepsPerCompare+len(w.members)) != nil {
			break
		}
		name := list.key(i)
		if v := w.member(item, name); v.there {
			of = append(of, key{name, v.whole(w.meter, w.depth()+2)})
			continue
		}
		items := list.items()
		if items.object == impossible {
			return e, "couldn't find default value for " + name + ": associative list may not have non-map types"
		}
		if p := items.property(name); p != nil && p.Default != nil {
			of = append(of, key{name, p.Default})
		}
	}
	if len(of) == 0 {
		return e, fmt.Sprintf("associative list with keys has an element that omits all key fields %q "+
			"(and doesn't have default values for any key fields)", list.keys())
	}
	if len(of) > 1 {
		slices.SortFunc(of, func(a, b key) int { return strings.Compare(a.name, b.name) })
	}
	return Element{sort: keyed, of: of}, ""
}

// member returns a field of an object. If the object is text, w.members holds its members already;
// the last of several with one name counts.
func (w *walker) member(object part, name string) part {
	if object.raw == "" {
		if v, ok := object.tree.(map[string]any)[name]; ok {
			return partOf(v)
		}
		return part{}
	}
	for _, m := range slices.Backward(w.members) {
		if m.Key == name {
			return rawPart(m.Value)
		}
	}
	return part{}
}

// groups calls f once for each identity in either list, in order, with the elements of both lists
// that have this identity. It sorts both lists in place; the sort is stable.
func (w *walker) groups(as, bs []identified, f func(e Element, as, bs []identified)) {
	w.sort(as)
	w.sort(bs)
	for len(as) > 0 || len(bs) > 0 {
		c := 0
		switch {
		case len(as) == 0:
			c = 1
		case len(bs) == 0:
			c = -1
		default:
			c = as[0].element.compare(w.meter, bs[0].element)
		}
		var e Element
		i, j := 0, 0
		if c >= 0 {
			e, j = bs[0].element, w.countAlike(bs)
		}
		if c <= 0 {
			e, i = as[0].element, w.countAlike(as)
		}
		f(e, as[:i], bs[:j])
		as, bs = as[i:], bs[j:]
	}
}

// sort sorts elements by identity, stably.
func (w *walker) sort(list []identified) {
	slices.SortStableFunc(list, func(a, b identified) int { return a.element.compare(w.meter, b.element) })
}

// countAlike returns how many elements at the beginning of a sorted list have the same identity.
// The list is not empty.
func (w *walker) countAlike(list []identified) int {
	n := 1
	for n < len(list) && list[n].element.compare(w.meter, list[0].element) == 0 {
		n++
	}
	return n
}

// repeated reports for each element whether an element before it has the same identity; nil if no
// element repeats.
func (w *walker) repeated(list []identified) []bool {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return list[i].element.compare(w.meter, list[j].element) })
	var again []bool
	for k := 1; k < len(order); k++ {
		if list[order[k-1]].element.compare(w.meter, list[order[k]].element) == 0 {
			if again == nil {
				again = make([]bool, len(list))
			}
			again[order[k]] = true
		}
	}
	return again
}

// partOrMissing returns the first element of a list of at most one, or the missing part.
func partOrMissing(list []identified) part {
	if len(list) == 0 {
		return part{}
	}
	return list[0].part
}
