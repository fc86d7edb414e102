package schema

import (
	"slices"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meter"
)

// item returns the schema of the contents of elements, nil if there is none.
func (s *Schema) item() *Schema {
	if s.Items == nil {
		return nil
	}
	return s.Items.Target()
}

// ValidateLists judges whether what tells the elements of a list apart repeats: those of a set, or
// the keys in a list of type map. Of an update, whose old tree is not nil, that is no error if it
// was so before, in any list. Once m has ended the rest is not judged.
func (s *Schema) ValidateLists(m *meter.Meter, path *field.Path, tree, old any) field.ErrorList {
	errs := distinctLists.all(m, path, s, tree)
	if len(errs) > 0 && old != nil && len(distinctLists.all(m, path, s, old)) > 0 {
		return nil
	}
	return errs
}

var distinctLists = concern{func(s *Schema) bool { return s.lists }, (*checker).listType}

// listType judges a list in which elements have to be told apart.
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

// elementPath returns the path of an element of the list at hand.
func (c *checker) elementPath(i int) *field.Path {
	c.way.index(i)
	defer c.way.back()
	return c.bracketed()
}

// unique reports the elements of a list that repeat others, as repeated finds them. A list in which
// some did before may go on with it.
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

// repeated returns the indexes of the elements that are the second of their kind: that have the
// same keys or, without any, are the same. As in kube-apiserver, 1 and 1.0 are not, except inside
// of objects and lists.
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

// fewElements is how many are compared with each other rather than collected.
const fewElements = 16

// areDistinct reports whether elements are told apart by scalars, which takes no memory to find
// out.
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

// identity returns what tells an element from others of its list: a scalar or the text of what is
// none.
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

// What identifies an element that is no scalar: that it has no key, or its text.
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

// pick returns the keys of an element, or without any the element itself.
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
