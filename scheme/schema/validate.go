package schema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
)

// validate.go walks a tree and checks each value. For the values it calls limits.go, junctors.go,
// enum.go and formats.go, or govalue.go if the schema is of a Go type. The kinds of custom
// resources call Validate for each write.

// Validate checks the values in a tree against s, and returns the errors. It stops once the list of
// errors is full (field.ErrorList.Full). The messages, the error types and their order are those of
// kube-apiserver. Where kube-apiserver visits a Go map, in random order, the errors here are in the
// order of the names. Defaults must have been set and
// unknown fields pruned before. path is the path of the tree in its object, nil for the object
// itself. In a schema without a Go type, embedded resources are checked by ValidateResources, and
// duplicates in lists by ValidateLists.
//
// old is the tree before an update, nil for a create. Errors in values that the update does not
// change are not reported (ratcheting, KEP-4008). A value is compared with the old value of the
// same field, or of the same keys in a list of type map; values in other lists and in the schemas
// of a combination have no old value. In schemas of Go types, old is only compared with immutable
// values.
//
// At the root of a resource, apiVersion, kind and metadata are checked only by what s itself says
// about them, and are not required.
//
// Once m has ended, the rest is not checked: the caller must ask m.
func (s *Schema) Validate(m *meter.Meter, path *field.Path, tree, old any) field.ErrorList {
	errs := s.mistakes(checker{meter: m, path: path}, tree, old)
	if len(errs) > 1 {
		errs = s.mistakes(checker{meter: m, path: path, ordered: true}, tree, old)
	}
	return errs[:min(len(errs), field.MaxErrors+1)]
}

// mistakes checks a tree. In a schema without a Go type it first checks without the old tree,
// because most updates have no errors, and comparing costs more.
func (s *Schema) mistakes(c checker, tree, old any) field.ErrorList {
	if s.Go != nil {
		c.value(s, tree, before{value: old, exists: old != nil})
	} else if c.value(s, tree, before{}); len(c.errs) > 0 && old != nil {
		c.errs = nil
		c.value(s, tree, before{old, true, s.Target()})
	}
	return c.found()
}

// found returns the errors without duplicates: several schemas of a combination may report the same
// error.
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
	way  way         // from the root of the tree to the current value
	errs field.ErrorList
	// checks counts the checks that were done, as kube-apiserver counts them. Of several schemas in
	// anyOf or oneOf, the one with the most checks is said to come closest.
	checks int
	// literal ignores x-kubernetes-int-or-string, and counts an unknown format as one. Kubernetes
	// validates defaults so.
	literal bool
	// ordered checks the fields of objects in the order of their names, so that errors are in the
	// same order each time. It is set in a second walk, if the first finds several errors.
	ordered bool
}

// full reports whether the walk should end: the list of errors is full, or the Meter has ended.
func (c *checker) full() bool { return c.errs.Full() || c.meter.Err() != nil }

// done counts the work of one value and reports whether the walk should end.
func (c *checker) done() bool { return c.meter.Step(stepsPerValue) != nil || c.errs.Full() }

// stepsPerValue is about the work of checking one value, in steps of a Meter (nanoseconds).
const stepsPerValue = 50

// at returns the path of the current value, as messages of kube-apiserver's validator write it.
func (c *checker) at() *field.Path {
	if len(c.way) == 0 {
		return c.path
	}
	return c.path.Child(strings.TrimPrefix(c.way.String(), "."))
}

// bracketed returns the path of the current value with the keys of maps in brackets, as errors
// about lists and embedded resources write it.
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

// value checks a value against s. If the value has errors but is unchanged, the errors are dropped.
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
	c.plainValue(s, v, old)
	if len(c.errs) > errs && old.exists && old.by.unchanged(v, old.value) {
		c.errs = c.errs[:errs]
	}
}

// plainValue checks a value against a schema without a Go type. The order of the checks is that of
// kube-apiserver, and so are the numbers that are added to c.checks: there, each validator that
// applies to the type of the value counts as a check.
func (c *checker) plainValue(s *Schema, v any, old before) {
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

// fields checks the fields and entries of an object, then whether required fields are there.
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

// each calls visit for the entries of a map, in the order of the names if ordered is true.
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

// concern is a check beside Validate, of certain objects or lists wherever they are in a tree:
// embedded resources, or sets and lists of type map.
type concern struct {
	within func(s *Schema) bool                   // whether values of s may have such objects or lists
	check  func(c *checker, s *Schema, value any) // checks one value, but not the values in it
}

// all applies a concern to all values in a tree, outer values first, and returns the errors.
func (o *concern) all(m *meter.Meter, path *field.Path, s *Schema, tree any) field.ErrorList {
	c := checker{meter: m, path: path}
	if c.walk(o, s, tree); len(c.errs) > 1 {
		c = checker{meter: m, path: path, ordered: true}
		c.walk(o, s, tree)
	}
	return c.errs[:min(len(c.errs), field.MaxErrors+1)]
}

// walk applies a concern to v and the values below it, and skips values that cannot have any.
func (c *checker) walk(o *concern, s *Schema, v any) {
	if s == nil || !o.within(s) || c.done() || len(c.way) > jsontext.MaxDepth {
		return
	}
	o.check(c, s, v)
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

// field checks a field or entry of an object. old is the old object.
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
		was = before{} // no ratcheting: they differ if the request is in another version
	}
	c.value(below, v, was)
	c.way.back()
}

// forbidden reports an entry of the current object that additionalProperties: false forbids.
func (c *checker) forbidden(name string) {
	at := c.at()
	c.way.additional(name)
	c.report(field.Invalid(at, name, c.way.String()+" in body is a forbidden property"))
	c.way.back()
}

// elements checks the elements of a list.
func (c *checker) elements(s, t *Schema, v []any, old before) {
	if t.Items == nil {
		return
	}
	was, _ := old.value.([]any)
	previous := cmp.Or(old.by, s).OldElements(was)
	for i, held := range v {
		if c.full() {
			return
		}
		c.way.index(i)
		c.value(t.Items, held, previous.before(held))
		c.way.back()
	}
}

// isAnything reports whether s does not restrict the type of a value.
func (s *Schema) isAnything() bool {
	return s.Model == nil && s.Type == "" && !s.PreserveUnknown && !s.IntOrString
}
