package schema

import "github.com/coracle-project/coracle/scheme/jsontext"

// form judges what takes more than a value and its own schema: that embedded resources are resources, and that
// elements of lists can be told apart. Embedded resources are judged even if they did not change; lists are not if
// elements of any list could not be told apart before.
func (c *checker) form(s *Schema, tree, old any) {
	c.walk(s, tree, formOf{resources: true})
	right := c.errs
	if c.walk(s, tree, formOf{lists: true}); len(c.errs) == len(right) || old == nil {
		return
	}
	before := checker{path: c.path}
	if before.walk(s, old, formOf{lists: true}); len(before.errs) > 0 {
		c.errs = right
	}
}

// formOf says what walk judges.
type formOf struct{ resources, lists bool }

// walk judges the form of a value and of all that it holds. Combinations of schemas do not describe it.
func (c *checker) walk(s *Schema, v any, what formOf) {
	if s == nil || c.full() || len(c.way) > jsontext.MaxDepth {
		return
	}
	s = s.Target()
	switch v := v.(type) {
	case map[string]any:
		if what.resources && s.EmbeddedResource {
			c.resource(v)
		}
		for name, held := range v {
			if c.enter(s, name, held) {
				c.walk(s.Child(name), held, what)
				c.way.back()
			}
		}
	case []any:
		if what.lists {
			c.listType(s, v)
		}
		for i, held := range v {
			c.way.index(i)
			c.walk(s.Items, held, what)
			c.way.back()
		}
	}
}
