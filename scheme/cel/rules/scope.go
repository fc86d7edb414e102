package rules

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/coracle-project/coracle/scheme/cel"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/schema"
)

// Validation of rules in a schema that is being defined: a Scope walks the schema together with its
// validation in registry/extensions, compiles the rules, and adds up their estimated costs. The
// limits and texts are those of kube-apiserver.

const (
	// maxCost bounds the estimated cost of one rule times the number of values in one object that
	// the rule runs on.
	maxCost = 10_000_000
	// maxTotal bounds the sum of these costs over all rules of a schema.
	maxTotal = 100_000_000
	// maxNamed is the number of rules that are named when the total is too high: the most expensive
	// ones, if each has at least a hundredth of maxTotal.
	maxNamed = 4
)

// A Scope is one schema inside a definition, with what is known about its position. A nil Scope
// stands for a schema whose rules cannot be checked.
type Scope struct {
	schema *schema.Schema
	shape  *shape // nil if neither this schema nor one that encloses it has rules
	// times is the largest number of values of the schema in one object. It is meaningless if
	// unbounded is set.
	times     uint64
	unbounded bool
	all       *total
}

// total is the cost of all rules in a schema, and the size of their regular expressions.
type total struct {
	patterns  cel.Patterns
	cost      uint64
	costliest []costlyRule // the most expensive rules, at most maxNamed
}

// costlyRule is a rule that contributes much to the total.
type costlyRule struct {
	path *field.Path
	cost uint64
}

// In returns the Scope of the root schema of a resource.
func In(s *schema.Schema) *Scope {
	return newScope(s, nil, true, &Scope{times: 1, all: &total{}})
}

// newScope returns the Scope of s. sh is its shape, nil if no enclosing schema has rules. head says
// that values of s are whole resources. from has the number of values.
func newScope(s *schema.Schema, sh *shape, head bool, from *Scope) *Scope {
	if s == nil {
		return nil
	}
	if sh == nil && s.Limits != nil && len(s.Limits.Rules) > 0 {
		sh = shapeOf(s, head)
	}
	return &Scope{schema: s, shape: sh, times: from.times, unbounded: from.unbounded, all: from.all}
}

// Schema returns the schema of the Scope, nil for a nil Scope.
func (c *Scope) Schema() *schema.Schema {
	if c == nil {
		return nil
	}
	return c.schema
}

// Field returns the Scope of the field called name, nil if the schema has no such field.
func (c *Scope) Field(name string) *Scope {
	if c == nil || c.schema.Properties[name] == nil {
		return nil
	}
	p := c.schema.Properties[name]
	var below *shape
	switch {
	case c.shape == nil:
	case !c.shape.exposed:
		// The content of an unknown value is unknown, too.
		below = c.shape
	default:
		ident, ok := escape(name)
		if below = c.shape.idents[ident]; !ok || below == nil {
			below = shapeOf(p, p.EmbeddedResource)
		}
	}
	return c.below(p, below)
}

// Items returns the Scope of the elements of a list.
func (c *Scope) Items() *Scope {
	if c == nil {
		return nil
	}
	return c.below(c.schema.Items, c.shape.inside())
}

// Entries returns the Scope of the entries of a map.
func (c *Scope) Entries() *Scope {
	if c == nil {
		return nil
	}
	return c.below(c.schema.AdditionalProperties, c.shape.inside())
}

// inside returns the shape of elements or entries. If it is nil, newScope makes a shape for the
// first schema inside that has rules.
func (sh *shape) inside() *shape {
	if sh == nil || !sh.exposed {
		return sh
	}
	if sh.item == nil {
		return untyped
	}
	return sh.item
}

// below returns the Scope of a part of the values of c: s is the schema of the part, sh its shape.
func (c *Scope) below(s *schema.Schema, sh *shape) *Scope {
	if s == nil {
		return nil
	}
	from := *c
	most, limits := int64(-1), c.schema.Limits
	switch {
	case c.schema.Type == schema.Array && limits != nil && limits.MaxItems != nil:
		most = max(*limits.MaxItems, 0)
	case c.schema.Type == schema.Array:
	case c.schema.Type != schema.Object || c.schema.AdditionalProperties == nil:
		most = 1
	case limits != nil && limits.MaxProperties != nil:
		most = max(*limits.MaxProperties, 0)
	}
	if most < 0 {
		from.unbounded = true
	} else {
		from.times = times(from.times, uint64(most))
	}
	return newScope(s, sh, s.EmbeddedResource, &from)
}

// A Finding describes what is wrong with one rule.
type Finding struct {
	// Err is the error in the expression, MessageErr the error in messageExpression; nil if there
	// is none.
	Err, MessageErr error
	// Cost and MessageCost are the messages that an expression could cost too much; "" if it could
	// not.
	Cost, MessageCost string
	// UsesOldSelf says that the rule reads the old value (a transition rule).
	UsesOldSelf bool
}

// untyped is the shape of elements or entries that a schema describes although its type has none.
var untyped = &shape{}

// errNoTypes is Kubernetes' error for a schema that CEL has no type for.
var errNoTypes = errors.New(
	"internal error: failed to construct type information for x-kubernetes-validations rules: " +
		"unable to convert structural schema to CEL declarations")

// Check compiles the rules of the schema, which stand at path, and returns one Finding per rule.
// The error concerns all of them.
func (c *Scope) Check(path *field.Path) ([]Finding, error) {
	if !c.shape.exposed && c.shape != untyped {
		return nil, errNoTypes
	}
	all, err := compile(c.shape, c.schema, &c.all.patterns, true)
	if err != nil {
		return nil, err
	}
	found := make([]Finding, len(all))
	for i := range all {
		r := &all[i]
		cost := c.cost(r)
		found[i] = Finding{
			Err: r.err, MessageErr: r.messageErr, UsesOldSelf: r.usesOld,
			Cost: overLimit("estimated rule cost", cost, maxCost),
		}
		c.all.add(path.Index(i).Child("rule"), cost)
		if r.message != nil {
			found[i].MessageCost = overLimit("estimated messageExpression cost", r.messageCost, maxCost)
			c.all.add(path.Index(i).Child("messageExpression"), r.messageCost)
		}
	}
	return found, nil
}

// cost estimates the cost of a rule for all values in one object.
func (c *Scope) cost(r *rule) uint64 {
	if c.unbounded {
		return times(r.cost, c.shape.holders())
	}
	return times(r.cost, c.times)
}

// Total returns the errors if all rules of the definition together could cost too much: one for
// each of the most expensive rules, and one for the root schema at path.
func (c *Scope) Total(path *field.Path) (errs field.ErrorList) {
	if c.all.cost <= maxTotal {
		return nil
	}
	for _, d := range c.all.costliest {
		errs = append(errs, field.Forbidden(d.path,
			"contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"))
	}
	return append(errs, field.Forbidden(path,
		overLimit("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema",
			c.all.cost, maxTotal)))
}

// add adds the cost of a rule at path.
func (t *total) add(path *field.Path, cost uint64) {
	sum, carry := bits.Add64(t.cost, cost, 0)
	if t.cost = sum; carry > 0 {
		t.cost = math.MaxUint64
	}
	if cost < maxTotal/100 {
		return
	}
	t.costliest = append(t.costliest, costlyRule{path, cost})
	slices.SortStableFunc(t.costliest, func(a, b costlyRule) int { return cmp.Compare(b.cost, a.cost) })
	t.costliest = t.costliest[:min(len(t.costliest), maxNamed)]
}

// times returns a*b, or the largest number if that overflows.
func times(a, b uint64) uint64 {
	if high, low := bits.Mul64(a, b); high == 0 {
		return low
	}
	return math.MaxUint64
}

// overLimit returns a message that says by which factor cost exceeds limit, "" if it does not.
func overLimit(what string, cost, limit uint64) string {
	factor := float64(cost) / float64(limit)
	by := fmt.Sprintf("%.1fx", factor)
	switch {
	case cost <= limit:
		return ""
	case factor > 100:
		by = "more than 100x"
	case factor < 1.5: // "%.1f" would round it to 1.0
		by = fmt.Sprintf("%fx", factor)
	}
	return what + " exceeds budget by factor of " + by +
		" (try simplifying the rule, or adding maxItems, maxProperties, " +
		"and maxLength where arrays, maps, and strings are declared)"
}
