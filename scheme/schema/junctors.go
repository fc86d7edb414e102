package schema

import (
	"fmt"

	"github.com/coracle-project/coracle/scheme/field"
)

// junctors judges a value by combinations of schemas. What they find has no path of its own; beside it stand the
// errors of the schema that comes closest.
func (c *checker) junctors(s *Schema, v any, old before) {
	if s.AnyOf == nil && s.OneOf == nil && s.AllOf == nil && s.Not == nil {
		return
	}
	name := fmt.Sprintf("%q ", c.way)
	if s.AnyOf != nil {
		if valid, best := c.branches(s.AnyOf, v, old); valid == 0 {
			c.reportAtRoot(name + "must validate at least one schema (anyOf)")
			c.adopt(best)
		}
	}
	if s.OneOf != nil {
		switch valid, best := c.branches(s.OneOf, v, old); {
		case valid == 0:
			c.reportAtRoot(name + "must validate one and only one schema (oneOf). Found none valid")
			c.adopt(best)
		case valid > 1:
			c.reportAtRoot(name + fmt.Sprintf("must validate one and only one schema (oneOf). Found %d valid alternatives", valid))
		}
	}
	valid := 0
	for _, branch := range s.AllOf {
		result := c.branch(branch, v, old)
		if len(result.errs) == 0 {
			valid++
		}
		c.adopt(result)
	}
	switch {
	case valid == len(s.AllOf):
	case valid == 0:
		c.reportAtRoot(name + "must validate all the schemas (allOf). None validated")
	default:
		c.reportAtRoot(name + "must validate all the schemas (allOf)")
	}
	if s.Not != nil && len(c.branch(s.Not, v, before{}).errs) == 0 {
		c.reportAtRoot(name + "must not validate the schema (not)")
	}
}

// branches judges a value by each of several schemas. It returns how many it fulfils, and of the others the result
// that is closest: the one that got to check most.
func (c *checker) branches(all []*Schema, v any, old before) (valid int, best *checker) {
	for _, branch := range all {
		result := c.branch(branch, v, old)
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
func (c *checker) branch(s *Schema, v any, old before) *checker {
	sub := &checker{path: c.path, way: c.way[:len(c.way):len(c.way)]}
	sub.value(s, v, old)
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
