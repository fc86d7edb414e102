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

// junctors judges a value by combinations of schemas. What they find has no path of its own; beside
// it stand the errors of the schema that comes closest.
func (c *checker) junctors(s *Schema, v any) {
	name := strconv.Quote(c.way.String())
	if len(s.Limits.AnyOf) > 0 {
		c.anyOf(s.Limits.AnyOf, name, v)
	}
	if len(s.Limits.OneOf) > 0 {
		c.oneOf(s.Limits.OneOf, name, v)
	}
	c.allOf(s.Limits.AllOf, name, v)
	if not := s.Limits.Not; not != nil && len(c.branch(not, v).errs) == 0 {
		c.reportAtRoot(name + " must not validate the schema (not)")
	}
}

// anyOf wants a value to fulfil one of several schemas.
func (c *checker) anyOf(all []*Schema, name string, v any) {
	var best *checker
	for _, s := range all {
		result := c.branch(s, v)
		if len(result.errs) == 0 {
			c.checks += result.checks
			return
		}
		best = closest(best, result)
	}
	c.reportAtRoot(name + " must validate at least one schema (anyOf)")
	c.adopt(best)
}

// oneOf wants a value to fulfil one of several schemas, and no other.
func (c *checker) oneOf(all []*Schema, name string, v any) {
	var best, first *checker
	valid := 0
	for _, s := range all {
		result := c.branch(s, v)
		if len(result.errs) > 0 {
			best = closest(best, result)
		} else if valid++; valid == 1 {
			first = result
		}
	}
	switch valid {
	case 0:
		c.reportAtRoot(name + " must validate one and only one schema (oneOf). Found none valid")
		c.adopt(best)
	case 1:
		c.checks += first.checks
	default:
		c.reportAtRoot(fmt.Sprintf("%s must validate one and only one schema (oneOf). Found %d valid alternatives",
			name, valid))
	}
}

// allOf wants a value to fulfil all of several schemas, and reports what is wrong by any.
func (c *checker) allOf(all []*Schema, name string, v any) {
	valid := 0
	for _, s := range all {
		result := c.branch(s, v)
		if len(result.errs) == 0 {
			valid++
		}
		c.adopt(result)
	}
	switch valid {
	case len(all):
	case 0:
		c.reportAtRoot(name + " must validate all the schemas (allOf). None validated")
	default:
		c.reportAtRoot(name + " must validate all the schemas (allOf)")
	}
}

// closest returns the one of two results that got to check more, the first if they are equal.
func closest(a, b *checker) *checker {
	if a == nil || b.checks > a.checks {
		return b
	}
	return a
}

// branch judges a value by a schema beside the one at hand.
func (c *checker) branch(s *Schema, v any) *checker {
	sub := &checker{meter: c.meter, path: c.path, way: c.way[:len(c.way):len(c.way)], literal: c.literal,
		ordered: c.ordered}
	sub.value(s, v, before{})
	return sub
}

// adopt takes over what a branch has found.
func (c *checker) adopt(sub *checker) {
	c.checks += sub.checks
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

// UnfoldIntOrString returns the limits of s with the anyOf that says what IntOrString means, for
// readers who know only OpenAPI. It stands alone or, beside another, first in allOf; if it is there
// already, nothing is added.
func (s *Schema) UnfoldIntOrString() *Limits {
	both := []*Schema{{Type: Integer}, {Type: String}}
	if s.Limits == nil {
		return &Limits{AnyOf: both}
	}
	out := *s.Limits
	if anyOf, allOf := withoutIntOrString(out.AnyOf, out.AllOf); len(anyOf) < len(out.AnyOf) ||
		len(allOf) < len(out.AllOf) {
		return &out
	}
	if out.AnyOf == nil {
		out.AnyOf = both
	} else {
		out.AllOf = append([]*Schema{{Limits: &Limits{AnyOf: both}}}, out.AllOf...)
	}
	return &out
}

// withoutIntOrString takes out an anyOf that says no more than integer or string: the one given, or
// the first of allOf.
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
