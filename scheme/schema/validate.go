package schema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
)

// Validate judges the values in a tree by s, in the words, with the error types and in the order of
// kube-apiserver, and returns what is wrong, until the list is full. Where the order is that of a
// map there, it is that of the names here. Defaults are to be set and unknown fields pruned before.
// path is that of the tree in its object, nil for the object itself; errors of a combination of
// schemas have no path of their own. What a schema without a Go type says of embedded resources and
// of lists whose elements are told apart is left to ValidateResources and ValidateLists.
//
// old is the tree before an update, nil if there is none. What an update does not change is not
// held against it: values are compared with the old ones of the same field, or of the same key in a
// list of type map, but not in other lists, nor by the schemas of a combination. Old trees of Go
// types serve only to tell what is immutable.
//
// Of a resource at the top neither apiVersion, kind nor metadata is required or judged, except by
// what s itself says of them.
//
// Once m has ended the rest is not judged: the caller has to ask m.
func (s *Schema) Validate(m *meter.Meter, path *field.Path, tree, old any) field.ErrorList {
	errs := s.mistakes(checker{meter: m, path: path}, tree, old)
	if len(errs) > 1 {
		errs = s.mistakes(checker{meter: m, path: path, ordered: true}, tree, old)
	}
	return errs[:min(len(errs), field.MaxErrors+1)]
}

// mistakes has a checker judge a tree. Most updates are right by themselves, and need not be
// compared.
func (s *Schema) mistakes(c checker, tree, old any) field.ErrorList {
	if s.Go != nil {
		c.value(s, tree, before{value: old, known: old != nil})
	} else if c.value(s, tree, before{}); len(c.errs) > 0 && old != nil {
		c.errs = nil
		c.value(s, tree, before{old, true, s.Target()})
	}
	return c.found()
}

// found returns the errors, each once: several schemas of a combination may have found the same.
func (c *checker) found() field.ErrorList {
	if len(c.errs) < 2 {
		return c.errs
	}
	type mistake struct {
		field, detail string
		typ           field.ErrorType
	}
	seen := map[mistake]bool{}
	return slices.DeleteFunc(c.errs, func(err *field.Error) bool {
		m := mistake{err.Field, err.Detail, err.Type}
		again := seen[m]
		seen[m] = true
		return again
	})
}

// checker walks one tree.
type checker struct {
	meter *meter.Meter

	path *field.Path // of the tree
	way  way         // in the tree
	errs field.ErrorList
	// checks counts what was checked, as kube-apiserver counts it, to tell which of several schemas
	// comes closest.
	checks int
	// literal has a schema taken by its letter: int-or-string says nothing about the type, and a
	// format that nobody knows is one. Kubernetes judges defaults so.
	literal bool
	// ordered has the fields of objects judged in the order of their names, so that errors come in
	// the same order each time. As long as nothing is wrong, that is not worth sorting them.
	ordered bool
}

// full reports that nothing more is to be judged.
func (c *checker) full() bool { return c.errs.Full() || c.meter.Err() != nil }

// done counts a step and reports that nothing more is to be judged.
func (c *checker) done() bool { return c.meter.Step(stepsPerValue) != nil || c.errs.Full() }

// stepsPerValue is about what judging a value takes, in steps of a Meter.
const stepsPerValue = 50

// at returns the path of the value at hand.
func (c *checker) at() *field.Path {
	if len(c.way) == 0 {
		return c.path
	}
	return c.path.Child(strings.TrimPrefix(c.way.String(), "."))
}

// bracketed returns the path of the value at hand with the keys of maps in brackets.
func (c *checker) bracketed() *field.Path {
	at := c.path
	for _, s := range c.way {
		switch {
		case s.index >= 0:
			at = at.Index(s.index)
		case s.entry, s.additional:
			at = at.Key(s.name)
		default:
			at = at.Child(s.name)
		}
	}
	return at
}

func (c *checker) report(err *field.Error) { c.errs = append(c.errs, err) }

// value judges a value that stands in a place of schema s.
func (c *checker) value(s *Schema, v any, old before) {
	switch {
	case s == nil || c.done():
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
	c.checks += 4
	switch v := v.(type) {
	case string:
		c.checks++
		c.stringLimits(limits, v)
		c.format(t, v)
	case int64, float64:
		c.checks += 2
		c.numberRange(t, v)
		c.numberLimits(t, limits, v)
	case []any:
		c.checks += 2
		c.elements(s, t, v, old)
		c.listLimits(limits, v)
	}
	c.enum(s, v)
	if v, ok := v.(map[string]any); ok {
		c.checks++
		c.objectLimits(limits, v)
		c.fields(t, v, old)
	}
}

var noLimits Limits

// fields judges the fields and entries of an object.
func (c *checker) fields(t *Schema, v map[string]any, old before) {
	each(v, c.ordered, func(name string, held any) { c.field(t, name, held, old) })
	for _, name := range t.Required {
		if _, ok := v[name]; !ok && !(t.Resource && isHead(name)) {
			c.way.field(name)
			c.report(field.Required(c.at(), ""))
			c.way.back()
		}
	}
}

// each visits what a map holds, if need be in the order of the names.
func each[V any](m map[string]V, ordered bool, visit func(name string, v V)) {
	if !ordered {
		for name, v := range m {
			visit(name, v)
		}
		return
	}
	for _, name := range jsontext.Keys(m) {
		visit(name, m[name])
	}
}

// concern is what is judged of some objects or lists, wherever in a tree they are, beside what
// Validate says of them.
type concern struct {
	within func(s *Schema) bool                   // whether there may be some in values of s
	judge  func(c *checker, s *Schema, value any) // judges one, but not what is in it
}

// all has all objects or lists of a concern judged, from the outside to the inside, and returns
// what is wrong.
func (o *concern) all(m *meter.Meter, path *field.Path, s *Schema, tree any) field.ErrorList {
	c := checker{meter: m, path: path}
	if c.walk(o, s, tree); len(c.errs) > 1 {
		c = checker{meter: m, path: path, ordered: true}
		c.walk(o, s, tree)
	}
	return c.errs[:min(len(c.errs), field.MaxErrors+1)]
}

// walk goes to where objects or lists of a concern may be.
func (c *checker) walk(o *concern, s *Schema, v any) {
	if s == nil || !o.within(s) || c.done() || len(c.way) > jsontext.MaxDepth {
		return
	}
	o.judge(c, s, v)
	switch v := v.(type) {
	case map[string]any:
		each(v, c.ordered, func(name string, held any) {
			below, ok := s.Properties[name]
			if ok {
				c.way.field(name)
			} else {
				below = s.AdditionalProperties
				c.way.entry(name)
			}
			c.walk(o, below, held)
			c.way.back()
		})
	case []any:
		for i, held := range v {
			c.way.index(i)
			c.walk(o, s.Items, held)
			c.way.back()
		}
	}
}

// field judges a field or entry of an object; old is the object before.
func (c *checker) field(t *Schema, name string, v any, old before) {
	below := t.Properties[name]
	if below != nil {
		c.way.field(name)
	} else if below = t.AdditionalProperties; below == nil {
		return
	} else if below.Forbidden {
		c.forbidden(name)
		return
	} else {
		c.way.additional(name)
	}
	was := old.field(name)
	if len(c.way) == 1 && (name == "apiVersion" || name == "kind") {
		was = before{} // they change with the version of the request
	}
	c.value(below, v, was)
	c.way.back()
}

// forbidden reports an entry of the object at hand that must not be there.
func (c *checker) forbidden(name string) {
	at := c.at()
	c.way.additional(name)
	c.report(field.Invalid(at, name, c.way.String()+" in body is a forbidden property"))
	c.way.back()
}

// elements judges the elements of a list.
func (c *checker) elements(s, t *Schema, v []any, old before) {
	if t.Items == nil {
		return
	}
	was, _ := old.value.([]any)
	previous := cmp.Or(old.by, s).Former(was)
	for i, held := range v {
		if c.full() {
			return
		}
		c.way.index(i)
		c.value(t.Items, held, previous.before(held))
		c.way.back()
	}
}

// isAnything reports whether s says nothing at all of a value.
func (s *Schema) isAnything() bool {
	return s.Model == nil && s.Type == "" && !s.PreserveUnknown && !s.IntOrString
}
