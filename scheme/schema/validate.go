package schema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
)

// Validate judges a tree by s, in the words and with the error types of kube-apiserver, and returns what is wrong in
// the order of the paths, until the list is full. Defaults are to be set and unknown fields pruned before. path is that of
// the tree in its object, nil for the object itself; errors of a combination of schemas have no path of their own.
//
// old is the tree before an update, nil if there is none. What an update does not change is not held against it:
// values are compared with the old ones of the same field, key or index, but not in lists that are sets or atomic, nor
// by the schemas of a combination. Old trees of Go types serve only to tell what is immutable.
//
// Of a resource at the top neither apiVersion, kind nor metadata is required or judged, except by what s itself says
// of them; of an embedded one they are.
func (s *Schema) Validate(path *field.Path, tree, old any) field.ErrorList {
	c := checker{path: path}
	if s.Go != nil {
		c.value(s, tree, before{value: old, known: old != nil})
	} else if c.value(s, tree, before{}); len(c.errs) > 0 && old != nil {
		// Most updates are right by themselves, and need not be compared.
		c = checker{path: path}
		c.value(s, tree, before{old, true, s.Target()})
	}
	if s.Go == nil {
		c.form(s, tree, old)
	}
	errs := c.errs
	slices.SortStableFunc(errs, func(a, b *field.Error) int {
		return cmp.Or(strings.Compare(a.Field, b.Field), strings.Compare(string(a.Type), string(b.Type)), strings.Compare(a.Detail, b.Detail))
	})
	return errs
}

// before is the value that an update replaces, if there is one.
type before struct {
	value any
	known bool
	by    *Schema // of value; nil for those of Go types
}

// field returns what a field was of which v is an object that has it now.
func (b before) field(name string) before {
	if b.by == nil {
		return before{}
	}
	below := b.by.Child(name)
	previous, _ := b.value.(map[string]any)
	was, known := previous[name]
	if !known || below == nil || below.isAnything() {
		return before{}
	}
	return before{was, true, below.Target()}
}

// checker walks one tree.
type checker struct {
	path *field.Path // of the tree
	way  way         // in the tree
	errs field.ErrorList
	// checks counts what was checked, to tell which of several schemas comes closest.
	checks int
}

func (c *checker) full() bool { return c.errs.Full() }

// at returns the path of the value at hand.
func (c *checker) at() *field.Path {
	if len(c.way) == 0 {
		return c.path
	}
	return c.path.Child(strings.TrimPrefix(c.way.String(), "."))
}

func (c *checker) report(err *field.Error) { c.errs = append(c.errs, err) }

// value judges a value that stands in a place of schema s.
func (c *checker) value(s *Schema, v any, old before) {
	switch {
	case s == nil || c.full():
		return
	case len(c.way) > jsontext.MaxDepth:
		c.report(field.Invalid(c.path, "", "the object is nested too deeply"))
		return
	case s.Go != nil:
		c.goValue(s, v, old)
		return
	}
	errs := len(c.errs)
	c.judge(s, v, old)
	if len(c.errs) > errs && old.known && old.by.unchanged(v, old.value) {
		c.errs = c.errs[:errs]
	}
}

// judge applies all that a schema of no Go type says.
func (c *checker) judge(s *Schema, v any, old before) {
	t := s.Target()
	c.checkType(s, t, v)
	if v == nil {
		c.enum(s, v)
		return
	}
	limits := cmp.Or(s.Limits, &noLimits)
	if limits.combines() {
		c.junctors(s, v)
	}
	c.checks++
	switch v := v.(type) {
	case string:
		c.stringLimits(limits, v)
		c.format(t, v)
	case int64, float64:
		c.numberRange(t, v)
		c.numberLimits(t, limits, v)
	case []any:
		c.elements(s, t, v, old)
		c.listLimits(limits, v)
	}
	c.enum(s, v)
	if v, ok := v.(map[string]any); ok {
		c.objectLimits(limits, v)
		c.fields(t, v, old)
	}
}

var noLimits Limits

// fields judges the fields and entries of an object.
func (c *checker) fields(t *Schema, v map[string]any, old before) {
	c.checks++
	for name, held := range v {
		below := t.Properties[name]
		if below != nil {
			c.way.field(name)
		} else if below = t.AdditionalProperties; below == nil {
			continue
		} else if c.way.additional(name); below.Forbidden {
			c.forbidden(name)
		}
		was := old.field(name)
		if len(c.way) == 1 && (name == "apiVersion" || name == "kind") {
			was = before{} // they change with the version of the request
		}
		c.value(below, held, was)
		c.way.back()
	}
	for _, name := range t.Required {
		if _, ok := v[name]; !ok && !(t.Resource && isHead(name)) {
			c.way.field(name)
			c.report(field.Required(c.at(), ""))
			c.way.back()
		}
	}
}

// forbidden reports the entry at hand, which must not be there.
func (c *checker) forbidden(name string) {
	detail := c.way.String() + " in body is a forbidden property"
	c.way.back()
	c.report(field.Invalid(c.at(), name, detail))
	c.way.additional(name)
}

// elements judges the elements of a list.
func (c *checker) elements(s, t *Schema, v []any, old before) {
	if t.Items == nil {
		return
	}
	previous := newFormer(s, old)
	for i, held := range v {
		if c.full() {
			return
		}
		c.way.index(i)
		c.value(t.Items, held, previous.element(held))
		c.way.back()
	}
}

// former finds the elements of a list before an update.
type former struct {
	schema *Schema
	list   []any
	index  map[Key]int // of a list of type map
}

func newFormer(s *Schema, old before) former {
	f := former{schema: s}
	if old.by != nil {
		f.schema = old.by
	}
	f.list, _ = old.value.([]any)
	if f.schema.ListType == "map" && len(f.list) > 0 {
		f.index = f.schema.Index(f.list)
	}
	return f
}

// element returns what an element was that is v now. In other lists than those of type map that is not known.
func (f *former) element(v any) before {
	if f.index == nil {
		return before{}
	}
	if key, ok := f.schema.Key(v); ok {
		if at, ok := f.index[key]; ok {
			return before{f.list[at], true, f.schema.item()}
		}
	}
	return before{}
}

// isAnything reports whether s says nothing at all of a value.
func (s *Schema) isAnything() bool {
	return s.Model == nil && s.Type == "" && !s.PreserveUnknown && !s.IntOrString
}

// unchanged reports whether a value that s describes is what it was. As in kube-apiserver, an object with a field that is not
// described never is.
func (s *Schema) unchanged(v, old any) bool {
	switch v := v.(type) {
	case map[string]any:
		was, ok := old.(map[string]any)
		if !ok || len(v) != len(was) {
			return false
		}
		for name, held := range v {
			below := before{was, true, s}.field(name)
			if !below.known || !below.by.unchanged(held, below.value) {
				return false
			}
		}
		return true
	case []any:
		was, ok := old.([]any)
		if !ok || len(v) != len(was) {
			return false
		}
		if s.ListType != "map" {
			return jsontext.Equal(v, old)
		}
		previous := newFormer(s, before{value: old, by: s})
		for _, held := range v {
			if e := previous.element(held); !e.known || !e.by.unchanged(held, e.value) {
				return false
			}
		}
		return true
	}
	return jsontext.Equal(v, old)
}
