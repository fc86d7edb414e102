package schema

import (
	"fmt"
	"strconv"

	"github.com/coracle-project/coracle/scheme/field"
)

// combines reports whether there are schemas beside the one at hand.
func (l *Limits) combines() bool {
	return l.AnyOf != nil || l.OneOf != nil || l.AllOf != nil || l.Not != nil
}

// junctors judges a value by combinations of schemas. What they find has no path of its own; beside it stand the
// errors of the schema that comes closest.
func (c *checker) junctors(s *Schema, v any) {
	anyOf, allOf := s.Limits.AnyOf, s.Limits.AllOf
	if s.IntOrString { // a client may have said so a second time; it counts once
		anyOf, allOf = withoutIntOrString(anyOf, allOf)
	}
	name := strconv.Quote(c.way.String())
	if anyOf != nil {
		if valid, best := c.branches(anyOf, v); valid == 0 {
			c.reportAtRoot(name + " must validate at least one schema (anyOf)")
			c.adopt(best)
		}
	}
	if s.Limits.OneOf != nil {
		switch valid, best := c.branches(s.Limits.OneOf, v); {
		case valid == 0:
			c.reportAtRoot(name + " must validate one and only one schema (oneOf). Found none valid")
			c.adopt(best)
		case valid > 1:
			c.reportAtRoot(fmt.Sprintf("%s must validate one and only one schema (oneOf). Found %d valid alternatives", name, valid))
		}
	}
	c.all(allOf, name, v)
	if not := s.Limits.Not; not != nil && len(c.branch(not, v).errs) == 0 {
		c.reportAtRoot(name + " must not validate the schema (not)")
	}
}

// all judges a value by each of several schemas, and reports what is wrong by any.
func (c *checker) all(all []*Schema, name string, v any) {
	valid := 0
	for _, branch := range all {
		result := c.branch(branch, v)
		if len(result.errs) == 0 {
			valid++
		}
		c.adopt(result)
	}
	switch {
	case valid == len(all):
	case valid == 0:
		c.reportAtRoot(name + " must validate all the schemas (allOf). None validated")
	default:
		c.reportAtRoot(name + " must validate all the schemas (allOf)")
	}
}

// branches judges a value by each of several schemas. It returns how many it fulfils, and of the others the result
// that is closest: the one that got to check most.
func (c *checker) branches(all []*Schema, v any) (valid int, best *checker) {
	for _, branch := range all {
		result := c.branch(branch, v)
		switch {
		case len(result.errs) == 0:
			valid++
		case best == nil || result.checks > best.checks:
			best = result
		}
	}
	return valid, best
}

// branch judges a value by a schema beside the one at hand.
func (c *checker) branch(s *Schema, v any) *checker {
	sub := &checker{path: c.path, way: c.way[:len(c.way):len(c.way)]}
	sub.value(s, v, before{})
	return sub
}

// adopt takes over the errors of a branch.
func (c *checker) adopt(sub *checker) {
	for _, err := range sub.errs {
		if c.full() {
			return
		}
		c.report(err)
	}
}

// reportAtRoot records an error that has no path.
func (c *checker) reportAtRoot(detail string) {
	c.report(field.Invalid(c.path, "", detail))
}

// UnfoldIntOrString returns the limits of s with the anyOf that says what IntOrString means, for readers who know only
// OpenAPI. It stands alone or, beside another, first in allOf; if it is there already, nothing is added.
func (s *Schema) UnfoldIntOrString() *Limits {
	both := []*Schema{{Type: Integer}, {Type: String}}
	if s.Limits == nil {
		return &Limits{AnyOf: both}
	}
	out := *s.Limits
	if anyOf, allOf := withoutIntOrString(out.AnyOf, out.AllOf); len(anyOf) < len(out.AnyOf) || len(allOf) < len(out.AllOf) {
		return &out
	}
	if out.AnyOf == nil {
		out.AnyOf = both
	} else {
		out.AllOf = append([]*Schema{{Limits: &Limits{AnyOf: both}}}, out.AllOf...)
	}
	return &out
}

// withoutIntOrString takes out an anyOf that says no more than integer or string: the one given, or the first of allOf.
func withoutIntOrString(anyOf, allOf []*Schema) (_, _ []*Schema) {
	switch {
	case isIntOrString(anyOf):
		return nil, allOf
	case len(allOf) > 0 && allOf[0].Limits != nil && isIntOrString(allOf[0].Limits.AnyOf):
		return anyOf, allOf[1:]
	}
	return anyOf, allOf
}

// isIntOrString reports whether schemas say integer and string, and no more.
func isIntOrString(anyOf []*Schema) bool {
	return len(anyOf) == 2 && anyOf[0].Type == Integer && anyOf[1].Type == String
}
