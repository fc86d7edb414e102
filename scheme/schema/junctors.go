package schema

import (
	"fmt"
	"strconv"

	"github.com/coracle-project/coracle/scheme/field"
)

// junctors.go checks allOf, anyOf, oneOf and not of custom resources, and hides the anyOf that
// OpenAPI clients need for x-kubernetes-int-or-string.

// combines reports whether the limits have an allOf, anyOf, oneOf or not.
func (l *Limits) combines() bool {
	return l.AnyOf != nil || l.OneOf != nil || l.AllOf != nil || l.Not != nil
}

// junctors checks a value against combinations of schemas. As in kube-apiserver, an error of a
// combination has no path; after it come the errors of the schema that came closest.
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

// anyOf requires that a value fulfils at least one of several schemas.
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

// oneOf requires that a value fulfils exactly one of several schemas.
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

// allOf requires that a value fulfils all of several schemas, and reports the errors of each.
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

// closest returns the result with more checks, and a if they have equally many.
func closest(a, b *checker) *checker {
	if a == nil || b.checks > a.checks {
		return b
	}
	return a
}

// branch checks a value against one schema of a combination, with a checker of its own. The old
// value plays no part in it.
func (c *checker) branch(s *Schema, v any) *checker {
	sub := &checker{meter: c.meter, path: c.path, way: c.way[:len(c.way):len(c.way)], literal: c.literal,
		ordered: c.ordered}
	sub.value(s, v, before{})
	return sub
}

// adopt adds the errors and the number of checks of a branch to those of c.
func (c *checker) adopt(sub *checker) {
	c.checks += sub.checks
	for _, err := range sub.errs {
		if c.full() {
			return
		}
		c.report(err)
	}
}

// reportAtRoot records an error at the path of the tree, as kube-apiserver does for errors without
// a path of their own.
func (c *checker) reportAtRoot(detail string) {
	c.report(field.Invalid(c.path, "", detail))
}

// UnfoldIntOrString returns a copy of the limits of s with an anyOf of integer and string, which
// tells plain OpenAPI clients what x-kubernetes-int-or-string means. If s has an anyOf already, the
// new one goes into the first entry of allOf. If one of the two is there already, nothing is added.
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

// withoutIntOrString removes an anyOf that says just integer or string: anyOf itself, or the one in
// the first entry of allOf.
func withoutIntOrString(anyOf, allOf []*Schema) (_, _ []*Schema) {
	switch {
	case isIntOrString(anyOf):
		return nil, allOf
	case len(allOf) > 0 && allOf[0].Limits != nil && isIntOrString(allOf[0].Limits.AnyOf):
		return anyOf, allOf[1:]
	}
	return anyOf, allOf
}

// isIntOrString reports whether anyOf has just two schemas, of the types integer and string.
func isIntOrString(anyOf []*Schema) bool {
	return len(anyOf) == 2 && anyOf[0].Type == Integer && anyOf[1].Type == String
}
