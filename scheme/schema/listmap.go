package schema

import (
	"slices"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meter"
)

// listmap.go finds duplicates in sets and in lists of type map: for custom resources in
// ValidateLists, for Go types in unique, which govalue.go calls.

// item returns the Target of the schema of the elements, nil if s has no Items.
func (s *Schema) item() *Schema {
	if s.Items == nil {
		return nil
	}
	return s.Items.Target()
}

// ValidateLists reports the duplicates in lists of a tree: equal elements of a set, or equal keys
// in a list of type map. If the old tree of an update has a duplicate in any list, nothing is
// reported, as in kube-apiserver. old is nil for a create. Once m has ended, the rest is not
// checked.
func (s *Schema) ValidateLists(m *meter.Meter, path *field.Path, tree, old any) field.ErrorList {
	errs := distinctLists.all(m, path, s, tree)
	if len(errs) > 0 && old != nil && len(distinctLists.all(m, path, s, old)) > 0 {
		return nil
	}
	return errs
}

// distinctLists is the concern of ValidateLists.
var distinctLists = concern{func(s *Schema) bool { return s.lists }, (*checker).listType}

// listType checks one set or list of type map.
func (c *checker) listType(s *Schema, held any) {
	v, _ := held.([]any)
	switch s.ListType {
	case "set":
	case "map":
		if i := notObject(v); i >= 0 {
			c.report(field.Invalid(c.elementPath(i), v[i], "must be an object for an array of list-type map"))
			return
		}
	default:
		return
	}
	if c.meter.Step(stepsPerValue*len(v)) != nil {
		return
	}
	for _, i := range repeated(v, s.ListKeys) {
		if c.full() {
			return
		}
		c.report(field.Duplicate(c.elementPath(i), pick(v[i], s.ListKeys)))
	}
}

// elementPath returns the path of element i of the current list.
func (c *checker) elementPath(i int) *field.Path {
	c.way.index(i)
	defer c.way.back()
	return c.bracketed()
}

// unique reports the duplicates in a list, which the function repeated finds. It reports nothing if
// the old list had duplicates, so that an object that was stored with them can still be updated.
func (c *checker) unique(s *Schema, v []any, old before, repeated func([]any) []int) {
	twice := repeated(v)
	if len(twice) == 0 {
		return
	}
	if was, ok := old.value.([]any); ok && len(repeated(was)) > 0 {
		return
	}
	for _, i := range twice {
		if c.full() {
			return
		}
		c.report(field.Duplicate(c.elementPath(i), pick(v[i], s.ListKeys)))
	}
}

// notObject returns the index of the first element that is neither object nor null, -1 if there is
// none.
func notObject(list []any) int {
	for i, v := range list {
		if _, ok := v.(map[string]any); !ok && v != nil {
			return i
		}
	}
	return -1
}

// repeated returns the indexes of the duplicates in a list: elements with equal keys, or without
// keys equal elements. An element that occurs three times is listed once, at its second index. As
// in kube-apiserver, 1 and 1.0 differ, but within objects and lists they are equal.
func repeated(list []any, keys []string) []int {
	if len(list) <= fewElements && areDistinct(list, keys) {
		return nil
	}
	var found []int
	times := make(map[any]int, len(list))
	for i, v := range list {
		id := identity(v, keys)
		if times[id]++; times[id] == 2 {
			found = append(found, i)
		}
	}
	return found
}

// fewElements is the length up to which the elements of a list are compared with each other.
const fewElements = 16

// areDistinct reports whether the elements of a short list certainly differ: each is, or has as its
// only key, a scalar unlike all others. It allocates nothing. If it returns false, the list may
// still be without duplicates.
func areDistinct(list []any, keys []string) bool {
	if len(keys) > 1 {
		return len(list) < 2
	}
	var ids [fewElements]any
	for i, v := range list {
		if len(keys) == 1 {
			fields, _ := v.(map[string]any)
			if v = fields[keys[0]]; v == nil {
				return false
			}
		}
		if !isScalar(v) || slices.Contains(ids[:i], v) {
			return false
		}
		ids[i] = v
	}
	return true
}

// identity returns a comparable value that is equal for equal elements: a scalar itself, else its
// JSON as a compound. With keys, the keys are compared and not the element.
func identity(element any, keys []string) any {
	v := element
	switch len(keys) {
	case 0:
	case 1:
		fields, _ := element.(map[string]any)
		var ok bool
		if v, ok = fields[keys[0]]; !ok {
			return missing{}
		}
	default:
		v = pick(element, keys)
	}
	if v == nil || isScalar(v) {
		return v
	}
	return compound(text(v))
}

// The identities of elements that have no key, or that are no scalars. They differ from any string.
type (
	missing  struct{}
	compound string
)

func isScalar(v any) bool {
	switch v.(type) {
	case string, bool, int64, float64:
		return true
	}
	return false
}

// pick returns the keys of an element with their values, or the element itself if keys is empty.
func pick(element any, keys []string) any {
	if len(keys) == 0 {
		return element
	}
	fields, _ := element.(map[string]any)
	picked := make(map[string]any, len(keys))
	for _, name := range keys {
		if v, ok := fields[name]; ok {
			picked[name] = v
		}
	}
	return picked
}
