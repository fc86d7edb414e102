// Package rules has values judged by the rules that stand in their schemas (x-kubernetes-validations): expressions about a value,
// and about what it was before an update, that have to be true.
//
//   - Of finds the rules in a schema. Rules.Validate judges a value by them, after all else that the schema says.
//   - OfType finds those in the tags of a Go type, which objects of the type are judged by as custom resources are.
//   - In walks a schema as it is being defined. Scope.Check says which of its rules are wrong, or would cost too much.
//
// A value is shown to an expression by its schema: fields by names that the language takes, strings with a format as times, bytes
// and durations, lists with keys as sets of elements. Nothing is copied for that.
//
// A rule is compiled when it is first needed and then kept, for all objects. A schema without rules costs nothing.
//
// Words and order of errors are those of kube-apiserver, but for the order in which the fields of an object are visited, which is
// that of their names here. All work about an object is bounded by a budget (package cel), and the number of errors by package field.
//
// Schemas are trees: those of clients. All but the schema at the top are reached by what holds them.
//
// Read: rules.go, validate.go, compile.go; shape.go, then value.go, object.go and list.go; scope.go; gotype.go.
package rules

import (
	"slices"
	"strings"
	"sync"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/schema"
)

// Rules are the rules in a schema. They may be used by many goroutines.
type Rules struct {
	root *node
}

// Of returns the rules in a schema, nil if it has none. resource says that values have what every resource has.
func Of(s *schema.Schema, resource bool) *Rules {
	if !hasRules(s) {
		return nil
	}
	root := nodeOf(s, shapeOf(s, resource))
	if root == nil {
		return nil
	}
	return &Rules{root}
}

// A node is a schema that has rules, or that others stand in that do.
type node struct {
	schema *schema.Schema
	shape  *shape // nil if it has no rules itself
	// oldSelf says that rules here or below may look at what a value was.
	oldSelf bool

	fields []member
	item   *node // of a list or map

	once  sync.Once // of what follows
	rules []rule
	err   error
	// usesOld says that one of rules looks at what the value was.
	usesOld bool
}

// member is the node of a field.
type member struct {
	name string
	node *node
}

// nodeOf returns the node of a schema with a shape, nil if there are no rules in what expressions see of it.
func nodeOf(s *schema.Schema, sh *shape) *node {
	if s == nil || !hasRules(s) {
		return nil
	}
	s = s.Target()
	n := &node{schema: s}
	if s.Limits != nil && len(s.Limits.Rules) > 0 {
		n.shape = sh
		n.oldSelf = slices.ContainsFunc(s.Limits.Rules, func(r schema.Rule) bool { return strings.Contains(r.Rule, oldSelfVar) })
	}
	for _, name := range jsontext.Keys(s.Properties) {
		f := sh.fields[name]
		if f == nil || !f.exposed {
			continue
		}
		if below := nodeOf(s.Properties[name], f); below != nil {
			n.fields = append(n.fields, member{name, below})
			n.oldSelf = n.oldSelf || below.oldSelf
		}
	}
	if sh.item != nil {
		item := s.Items
		if item == nil {
			item = s.AdditionalProperties
		}
		if n.item = nodeOf(item, sh.item); n.item != nil {
			n.oldSelf = n.oldSelf || n.item.oldSelf
		}
	}
	if n.shape == nil && n.fields == nil && n.item == nil {
		return nil
	}
	return n
}

// hasRules reports whether there are rules in a schema.
func hasRules(s *schema.Schema) bool {
	if s == nil {
		return false
	}
	if s.Limits != nil && len(s.Limits.Rules) > 0 || hasRules(s.Items) || hasRules(s.AdditionalProperties) {
		return true
	}
	for _, p := range s.Properties {
		if hasRules(p) {
			return true
		}
	}
	return false
}

// compiled returns the rules of the node, compiled.
func (n *node) compiled() ([]rule, error) {
	if n.schema.Limits == nil || len(n.schema.Limits.Rules) == 0 {
		return nil, nil
	}
	n.once.Do(func() {
		n.rules, n.err = compile(n.shape, n.schema, false)
		n.usesOld = slices.ContainsFunc(n.rules, func(r rule) bool { return r.usesOld })
	})
	return n.rules, n.err
}
