package meta

// LabelIndex is a label selector prepared for many requirements: matching an object takes time in
// proportion to its labels, not to the requirements. It is immutable.
type LabelIndex struct {
	conditions map[string]*condition
	demanded   int // the number of labels that must be there
}

// condition is the conjunction of all requirements on one label.
type condition struct {
	demanded, banned bool
	// in is nil if every value is allowed.
	in, notIn map[string]bool
	compared  []*LabelRequirement // the tightest requirement of OpGreaterThan and of OpLessThan
}

// Index returns the selector as a LabelIndex. For a few requirements, LabelRequirements.Matches is
// faster.
func (rs LabelRequirements) Index() *LabelIndex {
	x := &LabelIndex{conditions: make(map[string]*condition)}
	for i := range rs {
		c := x.conditions[rs[i].key]
		if c == nil {
			c = new(condition)
			x.conditions[rs[i].key] = c
		}
		c.add(&rs[i])
	}
	for _, c := range x.conditions {
		if c.demanded {
			x.demanded++
		}
	}
	return x
}

// add adds a requirement to the condition.
func (c *condition) add(r *LabelRequirement) {
	c.demanded = c.demanded || r.op != OpNotIn && r.op != OpNotEquals && r.op != OpDoesNotExist
	switch r.op {
	case OpIn, OpEquals, OpDoubleEquals:
		in := make(map[string]bool, len(r.values))
		for _, v := range r.values {
			if c.in == nil || c.in[v] {
				in[v] = true
			}
		}
		c.in = in
	case OpNotIn, OpNotEquals:
		if c.notIn == nil {
			c.notIn = make(map[string]bool, len(r.values))
		}
		for _, v := range r.values {
			c.notIn[v] = true
		}
	case OpGreaterThan, OpLessThan:
		c.compare(r)
	case OpExists:
	default: // OpDoesNotExist, and the operator that matches nothing
		c.banned = true
	}
}

// compare keeps r if it is tighter than the requirement with the same operator.
func (c *condition) compare(r *LabelRequirement) {
	for i, other := range c.compared {
		if other.op == r.op {
			if (r.op == OpGreaterThan) == (r.number > other.number) {
				c.compared[i] = r
			}
			return
		}
	}
	c.compared = append(c.compared, r)
}

// meets reports whether a label that is there may have the value.
func (c *condition) meets(value string) bool {
	if c.banned || c.in != nil && !c.in[value] || c.notIn[value] {
		return false
	}
	for _, r := range c.compared {
		if !r.compares(value) {
			return false
		}
	}
	return true
}

// Matches reports whether n labels with distinct keys meet all requirements. It does not allocate.
func (x *LabelIndex) Matches(n int, label func(i int) (key, value string)) bool {
	demanded := 0
	for i := range n {
		key, value := label(i)
		c := x.conditions[key]
		switch {
		case c == nil:
		case !c.meets(value):
			return false
		case c.demanded:
			demanded++
		}
	}
	return demanded == x.demanded
}
