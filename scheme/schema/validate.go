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
		c.value(s, tree, before{old, old != nil})
	} else if c.value(s, tree, before{}); len(c.errs) > 0 && old != nil {
		// Most updates are right by themselves, and need not be compared.
		c = checker{path: path}
		c.value(s, tree, before{old, true})
	}
	errs := append(c.errs, c.always...)
	slices.SortStableFunc(errs, func(a, b *field.Error) int {
		return cmp.Or(strings.Compare(a.Field, b.Field), strings.Compare(string(a.Type), string(b.Type)), strings.Compare(a.Detail, b.Detail))
	})
	return errs
}

// before is the value that an update replaces, if there is one.
type before struct {
	value any
	known bool
}

// checker walks one tree.
type checker struct {
	path *field.Path // of the tree
	way  way         // in the tree
	errs field.ErrorList
	// always are errors that hold even if the value did not change.
	always field.ErrorList
	// checks counts what was checked, to tell which of several schemas comes closest.
	checks int
}

func (c *checker) full() bool { return len(c.errs)+len(c.always) > field.MaxErrors }

// at returns the path of the value at hand.
func (c *checker) at() *field.Path {
	if len(c.way) == 0 {
		return c.path
	}
	return c.path.Child(c.way.String())
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
	if len(c.errs) > errs && old.known && jsontext.Equal(old.value, v) {
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
		c.numberLimits(limits, v)
	case []any:
		c.elements(s, t, v, old)
		c.listLimits(limits, v)
		c.listType(s, v, old)
	}
	c.enum(s, v)
	if v, ok := v.(map[string]any); ok && c.objectLimits(limits, v) {
		c.fields(t, v, old)
	}
}

var noLimits Limits

// fields judges the fields and entries of an object.
func (c *checker) fields(t *Schema, v map[string]any, old before) {
	c.checks++
	previous, _ := old.value.(map[string]any)
	for name, held := range v {
		if below := t.Child(name); below != nil {
			was, known := previous[name]
			c.way.field(name)
			c.value(below, held, before{was, known})
			c.way.back()
		}
	}
	for _, name := range t.Required {
		if _, ok := v[name]; !ok && !(t.Resource && isHead(name)) {
			c.way.field(name)
			c.report(field.Required(c.at(), ""))
			c.way.back()
		}
	}
	if t.EmbeddedResource {
		c.resource(v)
	}
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
		c.value(t.Items, held, previous.element(i, held))
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
	f.list, _ = old.value.([]any)
	if s.ListType == "map" && len(f.list) > 0 {
		f.index = s.Index(f.list)
	}
	return f
}

// element returns what the i-th element, v, was.
func (f *former) element(i int, v any) before {
	switch {
	case f.index != nil:
		if key, ok := f.schema.Key(v); ok {
			if at, ok := f.index[key]; ok {
				return before{f.list[at], true}
			}
		}
	case f.schema.ListType == "" && f.schema.Go == nil && i < len(f.list):
		return before{f.list[i], true}
	}
	return before{}
}
