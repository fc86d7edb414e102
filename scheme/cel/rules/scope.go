package rules

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/schema"
)

const (
	// maxCost bounds the estimated cost of a rule, times how often it is run about an object.
	maxCost = 10_000_000
	// maxTotal bounds the cost of all rules in a schema together.
	maxTotal = 100_000_000
	// maxNamed is how many of the dearest rules are named if that is too much, of those that make up a hundredth of it.
	maxNamed = 4
)

// A Scope is a schema inside one that is being defined, and what rules in it are about. A nil Scope is one of a schema whose rules
// cannot be judged.
type Scope struct {
	schema *schema.Schema
	shape  *shape // nil where neither this nor what it stands in has rules
	// times is how often values occur in an object at most, if unbounded does not say that this is not known.
	times     uint64
	unbounded bool
	all       *total
}

// total is what all rules in a schema cost.
type total struct {
	cost    uint64
	dearest []dear
}

// dear is a rule that costs much.
type dear struct {
	path *field.Path
	cost uint64
}

// In returns the scope of the schema of a resource.
func In(s *schema.Schema) *Scope {
	return newScope(s, nil, true, &Scope{times: 1, all: &total{}})
}

func newScope(s *schema.Schema, sh *shape, head bool, from *Scope) *Scope {
	if s == nil {
		return nil
	}
	if sh == nil && s.Limits != nil && len(s.Limits.Rules) > 0 {
		sh = shapeOf(s, head)
	}
	return &Scope{schema: s, shape: sh, times: from.times, unbounded: from.unbounded, all: from.all}
}

// Schema returns the schema, nil if there is no scope.
func (c *Scope) Schema() *schema.Schema {
	if c == nil {
		return nil
	}
	return c.schema
}

// Field returns the scope of a field.
func (c *Scope) Field(name string) *Scope {
	if c == nil || c.schema.Properties[name] == nil {
		return nil
	}
	p := c.schema.Properties[name]
	var below *shape
	switch {
	case c.shape == nil:
	case !c.shape.exposed:
		below = c.shape // what is in it is as unknown
	default:
		ident, ok := escape(name)
		if below = c.shape.idents[ident]; !ok || below == nil {
			below = shapeOf(p, p.EmbeddedResource)
		}
	}
	return c.below(p, below)
}

// Items returns the scope of the elements of a list.
func (c *Scope) Items() *Scope {
	if c == nil {
		return nil
	}
	return c.below(c.schema.Items, c.shape.inside())
}

// Entries returns the scope of the entries of a map.
func (c *Scope) Entries() *Scope {
	if c == nil {
		return nil
	}
	return c.below(c.schema.AdditionalProperties, c.shape.inside())
}

// inside returns the shape of elements or entries for the rules there, nil if they have to make their own.
func (sh *shape) inside() *shape {
	if sh == nil || !sh.exposed {
		return sh
	}
	if sh.item == nil {
		return untyped
	}
	return sh.item
}

// below returns the scope of a part.
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

// A Finding is what is wrong with a rule.
type Finding struct {
	// Err says that the expression is wrong, MessageErr that the one for its message is.
	Err, MessageErr error
	// Cost and MessageCost say that an expression costs too much; "" if it does not.
	Cost, MessageCost string
	// UsesOldSelf says that the rule is about what a value was.
	UsesOldSelf bool
}

// untyped is the shape of what is described in a value that has no elements by its type.
var untyped = &shape{}

var errNoTypes = errors.New("internal error: failed to construct type information for x-kubernetes-validations rules: " +
	"unable to convert structural schema to CEL declarations")

// Check compiles the rules of the schema, which stand at path. The error is for all of them.
func (c *Scope) Check(path *field.Path) ([]Finding, error) {
	if !c.shape.exposed && c.shape != untyped {
		return nil, errNoTypes
	}
	all, err := compile(c.shape, c.schema, true)
	if err != nil {
		return nil, err
	}
	found := make([]Finding, len(all))
	for i := range all {
		r := &all[i]
		cost := c.cost(r)
		found[i] = Finding{Err: r.err, MessageErr: r.messageErr, UsesOldSelf: r.usesOld, Cost: tooDear("estimated rule cost", cost, maxCost)}
		c.all.add(path.Index(i).Child("rule"), cost)
		if r.message != nil {
			found[i].MessageCost = tooDear("estimated messageExpression cost", r.messageCost, maxCost)
			c.all.add(path.Index(i).Child("messageExpression"), r.messageCost)
		}
	}
	return found, nil
}

// cost estimates what a rule costs for all values in an object.
func (c *Scope) cost(r *rule) uint64 {
	if c.unbounded {
		return times(r.cost, c.shape.holders())
	}
	return times(r.cost, c.times)
}

// Total reports that all rules together, in the schema at path, cost too much, and which do most for that.
func (c *Scope) Total(path *field.Path) (errs field.ErrorList) {
	if c.all.cost <= maxTotal {
		return nil
	}
	for _, d := range c.all.dearest {
		errs = append(errs, field.Forbidden(d.path, "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"))
	}
	return append(errs, field.Forbidden(path,
		tooDear("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema", c.all.cost, maxTotal)))
}

func (t *total) add(path *field.Path, cost uint64) {
	sum, carry := bits.Add64(t.cost, cost, 0)
	if t.cost = sum; carry > 0 {
		t.cost = math.MaxUint64
	}
	if cost < maxTotal/100 {
		return
	}
	t.dearest = append(t.dearest, dear{path, cost})
	slices.SortStableFunc(t.dearest, func(a, b dear) int { return cmp.Compare(b.cost, a.cost) })
	t.dearest = t.dearest[:min(len(t.dearest), maxNamed)]
}

// times multiplies, up to the largest number.
func times(a, b uint64) uint64 {
	if high, low := bits.Mul64(a, b); high == 0 {
		return low
	}
	return math.MaxUint64
}

// tooDear says by how much something goes beyond a limit, "" if it does not.
func tooDear(what string, cost, limit uint64) string {
	factor := float64(cost) / float64(limit)
	by := fmt.Sprintf("%.1fx", factor)
	switch {
	case cost <= limit:
		return ""
	case factor > 100:
		by = "more than 100x"
	case factor < 1.5: // which would be rounded to nothing
		by = fmt.Sprintf("%fx", factor)
	}
	return what + " exceeds budget by factor of " + by +
		" (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
}
