package patch

import (
	"strings"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
)

// order.go orders merged lists. mergeObject (strategic.go) calls mergeOrdered for lists whose order
// the patch gives by $setElementOrder; mergeList calls partition and order for the others.
//
// For example, let the server have [a, b, c], and the patch add d with the order [d, b]. The
// elements that the patch names come in its order: d, b. The others keep the order of the server:
// a, c. Then the two are interleaved: a stays before b, because it was before b on the server. The
// result is [d, a, b, c].

// ordering is the input of order.
type ordering struct {
	patch  list   // the order that the patch asks for
	server list   // the list before the merge
	key    string // the merge key of objects
	kind   string // the shape of the elements (see shapeOf)
	m      *meter.Meter
}

// mergeOrdered merges the lists for which the patch gives an order by $setElementOrder, and removes
// both the orders and these lists from the patch.
func mergeOrdered(into, patch object, s shape) error {
	for _, key := range jsontext.Keys(patch) {
		if !strings.HasPrefix(key, elementOrder) {
			continue
		}
		want := patch[key]
		delete(patch, key)
		wanted, ok := want.(list)
		if !ok {
			return wrongShape(listShape, want)
		}
		prefix, name, ok := strings.Cut(key, "/")
		if !ok || prefix != elementOrder {
			return errElementOrder
		}
		if err := mergeOrderedList(into, patch, name, wanted, s); err != nil {
			return err
		}
	}
	return nil
}

// mergeOrderedList merges the list called name and orders the result like wanted. It returns the
// errors of Kubernetes in Kubernetes' order.
func mergeOrderedList(into, patch object, name string, wanted list, s shape) error {
	old, hasOld, err := listAt(into, name, s.m)
	if err != nil {
		return err
	}
	changes, hasChanges, err := listAt(patch, name, s.m)
	if err != nil {
		return err
	}
	sub, f, err := s.listField(name)
	if err != nil {
		return err
	}
	if err := s.m.Step(len(old) + len(changes) + len(wanted)); err != nil {
		return err
	}
	if err := checkOrder(changes, wanted, f.PatchKey, s.m); err != nil {
		return err
	}
	var merged list
	switch {
	case !hasOld && !hasChanges:
		return nil
	case !hasChanges:
		merged = old
	case !hasOld:
		kept, _ := withoutDirectives(changes)
		merged = kept.(list)
	case f.PatchMerge:
		if merged, err = mergeList(old, changes, listRules{element: sub, key: f.PatchKey}); err != nil {
			return err
		}
	default:
		merged = changes
	}
	patched, others, err := partition(merged, wanted, f.PatchKey, s.m)
	if err != nil {
		return err
	}
	kind, err := elementShape(old, changes)
	if err != nil {
		return err
	}
	ordered, err := order(patched, others, &ordering{wanted, old, f.PatchKey, kind, s.m})
	if err != nil {
		return err
	}
	into[name] = ordered
	delete(patch, name)
	return nil
}

// listAt returns the list at a key of an object, and whether the object has the key. A value of
// another shape is an error.
func listAt(o object, key string, m *meter.Meter) (list, bool, error) {
	v, ok := lookup(o, key, m)
	if !ok {
		return nil, false, nil
	}
	l, isList := v.(list)
	if !isList {
		return nil, false, wrongShape(listShape, v)
	}
	return l, true, nil
}

// checkOrder refuses a patch whose own elements are in another order than its $setElementOrder, or
// are missing from it. Elements with a directive may be anywhere.
func checkOrder(patch, wanted list, key string, m *meter.Meter) error {
	if len(wanted) == 0 || len(patch) == 0 {
		return nil
	}
	elements := patch
	if key != "" {
		var err error
		if elements, _, err = splitDeletions(patch, m); err != nil {
			return err
		}
	}
	p, w := 0, 0
	for p < len(elements) && w < len(wanted) {
		if element, ok := elements[p].(object); ok {
			if _, ok := element[directive]; ok {
				p++
				continue
			}
		}
		equal, err := sameElement(elements[p], wanted[w], key, m)
		if err != nil {
			return err
		}
		if equal {
			p++
		}
		w++
	}
	if p < len(elements) && w >= len(wanted) {
		return unmergeable("The order in patch list:\n" + text(patch) +
			"\n doesn't match $setElementOrder list:\n" + text(wanted) + "\n")
	}
	return nil
}

// sameElement compares two elements by merge key, which both must have, or by value if key is
// empty.
func sameElement(a, b any, key string, m *meter.Meter) (bool, error) {
	if key == "" {
		return same(a, b), nil
	}
	var elements [2]object
	for i, v := range []any{a, b} {
		var ok bool
		if elements[i], ok = v.(object); !ok {
			return false, wrongShape(objectShape, v)
		}
	}
	var values [2]any
	for i, element := range elements {
		var ok bool
		if values[i], ok = lookup(element, key, m); !ok {
			return false, noMergeKey(element, key)
		}
	}
	return same(values[0], values[1]), nil
}

// partition splits a list into the elements that are also in by, compared by merge key or value,
// and the rest. Both keep their order.
func partition(l, by list, key string, m *meter.Meter) (named, rest list, err error) {
	named, rest = make(list, 0, len(l)), make(list, 0, len(l))
	if key == "" {
		x := indexOf(by, itself)
		for _, v := range l {
			if x.of(v) >= 0 {
				named = append(named, v)
			} else {
				rest = append(rest, v)
			}
		}
		return named, rest, nil
	}
	x := keyedBy(by, key, m)
	for _, v := range l {
		element, ok := v.(object)
		if !ok {
			return nil, nil, wrongShape(objectShape, v)
		}
		value, ok := lookup(element, key, m)
		if !ok {
			return nil, nil, noMergeKey(element, key)
		}
		switch i, err := x.find(value); {
		case err != nil:
			return nil, nil, err
		case i >= 0:
			named = append(named, v)
		default:
			rest = append(rest, v)
		}
	}
	return named, rest, nil
}

// order sorts the patched elements like the patch and the others like the server, and interleaves
// the two lists. In the result, one of the others comes before a patched element if it came before
// it on the server.
func order(patched, others list, o *ordering) (list, error) {
	patched, err := o.sort(patched, o.patch)
	if err != nil {
		return nil, err
	}
	if others, err = o.sort(others, o.server); err != nil {
		return nil, err
	}
	if len(patched) == 0 || len(others) == 0 {
		return append(patched, others...), nil
	}
	server := indexOf(o.server, o.value)
	all := make(list, 0, len(patched)+len(others))
	for len(patched) > 0 && len(others) > 0 {
		other, own := server.of(o.value(others[0])), server.of(o.value(patched[0]))
		if other >= 0 && other < own {
			all, others = append(all, others[0]), others[1:]
		} else {
			all, patched = append(all, patched[0]), patched[1:]
		}
	}
	return append(append(all, patched...), others...), nil
}

// sort orders a list like another list; elements with $patch: delete go to the end.
func (o *ordering) sort(l, like list) (list, error) {
	var deletions list
	if o.kind == objectShape {
		for _, lists := range []list{l, like} {
			for _, v := range lists {
				element, ok := v.(object)
				if !ok {
					return nil, wrongShape(objectShape, v)
				}
				if _, ok := element[o.key]; !ok {
					return nil, noMergeKey(element, o.key)
				}
			}
		}
		var err error
		if l, deletions, err = splitDeletions(l, o.m); err != nil {
			return nil, err
		}
	}
	if err := o.m.Step(sortSteps(len(l))); err != nil {
		return nil, err
	}
	if len(l) > 1 {
		x := indexOf(like, o.value)
		rank(l, func(v any) int { return x.of(o.value(v)) })
	}
	return append(l, deletions...), nil
}

// value returns the part of an element by which it is compared: the value of an object's merge key,
// nil if it has none, or a scalar itself.
func (o *ordering) value(v any) any {
	if o.kind != objectShape {
		return v
	}
	element, ok := v.(object)
	if !ok {
		return nil
	}
	value, _ := lookup(element, o.key, o.m)
	return value
}

// splitDeletions separates elements with $patch: delete from the others. All must be objects.
func splitDeletions(l list, m *meter.Meter) (rest, deletions list, err error) {
	for _, v := range l {
		element, ok := v.(object)
		if !ok {
			return nil, nil, wrongShape(objectShape, v)
		}
		if d, ok := lookup(element, directive, m); ok && d == "delete" {
			deletions = append(deletions, v)
		} else {
			rest = append(rest, v)
		}
	}
	return rest, deletions, nil
}
