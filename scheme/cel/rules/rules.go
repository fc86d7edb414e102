// Package rules validates values by the rules in their schemas (x-kubernetes-validations): CEL
// expressions about a value, and about its old value before an update, that must be true.
//
// Words:
//   - A schema is a structural schema, so it is a tree, and every schema but the root is
//     reached through its parent.
//   - A shape is a schema as expressions see it (shape.go).
//   - A node is a schema that has rules, or that contains one that has; Rules holds the tree of
//     nodes.
//   - A Scope is a schema in a definition that is being validated (scope.go).
//
// Entry points:
//   - Of finds the rules in a schema, and Rules.Validate runs them on a value, after all other
//     validation of the schema.
//   - OfType finds the rules in the tags of a Go type, by which kinds of Kubernetes are
//     validated.
//   - In walks a schema that is being defined. Scope.Check reports which of its rules are wrong
//     or could cost too much.
//   - Declare returns the types of objects for expressions that are no rules (admission policies).
//
// Laws:
//   - Texts and order of errors are those of kube-apiserver, except that fields of an object
//     are visited in the order of their names.
//   - Values are not copied for expressions: an expression reads trees through shapes, which
//     show strings with a format as times, bytes or durations and lists with keys as sets of
//     elements.
//   - A rule is compiled when it is first needed and kept. A schema without rules costs
//     nothing.
//   - A Budget bounds the work for one object (package cel), and package field bounds the
//     number of errors.
//
// Rules and TypeRules are safe for concurrent use. A Scope belongs to one goroutine.
//
// Not here: CEL itself (package cel), all other validation by a schema (package schema), which
// schemas are allowed (registry/extensions).
//
// Read: rules.go, validate.go with oldvalue.go, compile.go; shape.go, then value.go, object.go and
// list.go; scope.go; gotype.go; declare.go.
package rules

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coracle-project/coracle/scheme/cel"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/schema"
)

// Rules are the rules in a schema and all schemas in it. They are safe for concurrent use.
type Rules struct {
	root *node
	// Timing, if set, is told how long compiling and running the rules took. It is set before the
	// first use.
	Timing *Timing
}

// Timing has the functions that are told how long rules took, for metrics. They may be called by
// many goroutines at once.
type Timing struct {
	// Compiled is called when all rules of one schema have been compiled.
	Compiled func(took time.Duration)
	// Ran is called for each value of a schema that has rules, or that contains one that has. The
	// time includes that of the parts of the value.
	Ran func(took time.Duration)
}

// Of returns the rules in a schema, nil if it has none. resource says that values are whole
// resources, with apiVersion, kind and metadata.
func Of(s *schema.Schema, resource bool) *Rules {
	if !hasRules(s) {
		return nil
	}
	root := nodeOf(s, shapeOf(s, resource))
	if root == nil {
		return nil
	}
	return &Rules{root: root}
}

// A node is a schema that has rules, or that contains schemas with rules.
type node struct {
	schema *schema.Schema
	shape  *shape // nil if the schema itself has no rules
	// oldSelf says that rules here or below may read old values.
	oldSelf bool

	fields []member
	item   *node // the node of the elements of a list or the entries of a map

	// The fields below are set once, when the rules are compiled.
	once  sync.Once
	rules []rule
	err   error
	// usesOld says that one of rules reads the old value.
	usesOld bool
}

// member is the node of a field.
type member struct {
	name string
	node *node
}

// nodeOf returns the node of schema s with shape sh, nil if there are no rules in the part of s
// that expressions can see.
func nodeOf(s *schema.Schema, sh *shape) *node {
	if s == nil || !hasRules(s) {
		return nil
	}
	s = s.Target()
	n := &node{schema: s}
	if s.Limits != nil && len(s.Limits.Rules) > 0 {
		n.shape = sh
		n.oldSelf = slices.ContainsFunc(s.Limits.Rules, func(r schema.Rule) bool {
			return strings.Contains(r.Rule, oldSelfVar)
		})
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

// hasRules reports whether there are rules in a schema or below it.
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

// compiled returns the rules of the node itself and compiles them first if need be.
func (n *node) compiled(timing *Timing) ([]rule, error) {
	if n.schema.Limits == nil || len(n.schema.Limits.Rules) == 0 {
		return nil, nil
	}
	n.once.Do(func() {
		if timing != nil {
			began := time.Now()
			defer func() { timing.Compiled(time.Since(began)) }()
		}
		n.rules, n.err = compile(n.shape, n.schema, &cel.Patterns{}, false)
		n.usesOld = slices.ContainsFunc(n.rules, func(r rule) bool { return r.usesOld })
	})
	return n.rules, n.err
}
