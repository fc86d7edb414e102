package meta

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// Label selectors: requirements, matching, and the selectors of objects (LabelSelector).
// selectorparse.go parses labelSelector=...; lists, watches, and kinds with selectors use the
// result.

// Lookup finds the value of a label or a field by name; false if there is none.
type Lookup interface {
	Get(key string) (string, bool)
}

// Set is a map of labels or fields.
type Set map[string]string

// Get returns the value at key; false if there is none.
func (s Set) Get(key string) (string, bool) {
	v, ok := s[key]
	return v, ok
}

// String returns the key=value pairs, sorted by key and joined by commas. It is also a selector
// that matches exactly these values.
func (s Set) String() string {
	pairs := make([]string, 0, len(s))
	for k, v := range s {
		pairs = append(pairs, k+"="+v)
	}
	sort.Strings(pairs)
	return strings.Join(pairs, ",")
}

// SelectorOperator is the operator of a requirement.
type SelectorOperator uint8

// The operators of requirements. Field selectors have only the first three.
const (
	OpEquals SelectorOperator = iota + 1
	OpDoubleEquals
	OpNotEquals
	OpIn
	OpNotIn
	OpExists
	OpDoesNotExist
	OpGreaterThan
	OpLessThan
	// Matches nothing. Only SelectorFrom(nil) makes it.
	opNothing
)

// operatorText are the names of operators.
var operatorText = [...]string{
	OpEquals: "=", OpDoubleEquals: "==", OpNotEquals: "!=", OpIn: "in", OpNotIn: "notin",
	OpExists: "exists", OpDoesNotExist: "!", OpGreaterThan: "gt", OpLessThan: "lt",
}

// String returns the operator in the form that error messages use.
func (op SelectorOperator) String() string {
	if int(op) < len(operatorText) {
		return operatorText[op]
	}
	return "nothing"
}

// LabelRequirement is one condition on one label. It is immutable.
type LabelRequirement struct {
	key    string
	op     SelectorOperator
	values []string // sorted
	number int64    // the value of OpGreaterThan and OpLessThan
}

// LabelRequirements is a label selector: all of its requirements must hold. Parsed ones are sorted
// by key. The empty selector matches everything. Requirements are immutable, so goroutines may
// share a selector.
type LabelRequirements []LabelRequirement

// NewLabelRequirement returns a requirement, or an error that says what is wrong with it. It owns
// values afterwards.
func NewLabelRequirement(key string, op SelectorOperator, values []string) (LabelRequirement, error) {
	var errs field.ErrorList
	if err := checkLabelKey(key, field.NewPath("key")); err != nil {
		errs = append(errs, err)
	}
	path := field.NewPath("values")
	r := LabelRequirement{key: key, op: op, values: values}
	switch op {
	case OpIn, OpNotIn:
		if len(values) == 0 {
			errs = append(errs, field.Invalid(path, values, "for 'in', 'notin' operators, values set can't be empty"))
		}
	case OpEquals, OpDoubleEquals, OpNotEquals:
		if len(values) != 1 {
			errs = append(errs, field.Invalid(path, values, "exact-match compatibility requires one single value"))
		}
	case OpExists, OpDoesNotExist:
		if len(values) != 0 {
			errs = append(errs, field.Invalid(path, values, "values set must be empty for exists and does not exist"))
		}
	case OpGreaterThan, OpLessThan:
		if len(values) != 1 {
			errs = append(errs, field.Invalid(path, values, "for 'Gt', 'Lt' operators, exactly one value is required"))
		}
		for i, v := range field.Each(&errs, values) {
			n, err := strconv.ParseInt(*v, 10, 64)
			if err != nil {
				errs = append(errs, field.Invalid(path.Index(i), *v,
					"for 'Gt', 'Lt' operators, the value must be an integer"))
			}
			r.number = n
		}
	default:
		return r, errors.New("unknown selector operator")
	}
	for i, v := range field.Each(&errs, values) {
		if msgs := names.IsValidLabelValue(*v); len(msgs) > 0 {
			errs = append(errs, field.Invalid(path.Index(i).Key(key), *v, strings.Join(msgs, "; ")))
		}
	}
	if len(errs) > 0 {
		return r, errs.ToAggregate()
	}
	slices.Sort(r.values)
	return r, nil
}

// checkLabelKey returns an error if key cannot be the key of a label.
func checkLabelKey(key string, path *field.Path) *field.Error {
	if msgs := names.IsQualifiedName(key); len(msgs) > 0 {
		return field.Invalid(path, key, strings.Join(msgs, "; "))
	}
	return nil
}

// Key returns the key of the label.
func (r *LabelRequirement) Key() string { return r.key }

// Operator returns the operator of the requirement.
func (r *LabelRequirement) Operator() SelectorOperator { return r.op }

// Values returns the sorted values, which must not be changed.
func (r *LabelRequirement) Values() []string { return r.values }

// Matches reports whether labels meet the requirement. A missing label differs from every value.
func (r *LabelRequirement) Matches(labels Lookup) bool {
	value, ok := labels.Get(r.key)
	switch r.op {
	case OpIn, OpEquals, OpDoubleEquals:
		return ok && r.has(value)
	case OpNotIn, OpNotEquals:
		return !ok || !r.has(value)
	case OpExists:
		return ok
	case OpDoesNotExist:
		return !ok
	case OpGreaterThan, OpLessThan:
		return ok && r.compares(value)
	}
	return false
}

// compares reports whether value is a number greater than (OpGreaterThan) or less than (OpLessThan)
// that of the requirement.
func (r *LabelRequirement) compares(value string) bool {
	n, isNumber := labelNumber(value)
	return isNumber && ((r.op == OpGreaterThan && n > r.number) || (r.op == OpLessThan && n < r.number))
}

// has reports whether value is among the values of the requirement.
func (r *LabelRequirement) has(value string) bool {
	if len(r.values) > 16 {
		_, found := slices.BinarySearch(r.values, value)
		return found
	}
	for _, v := range r.values {
		if v == value {
			return true
		}
	}
	return false
}

// labelNumber parses an integer as strconv.ParseInt does, but without allocating an error for each
// label that is no number.
func labelNumber(s string) (int64, bool) {
	if s == "" || len(s) > 20 {
		return 0, false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (i > 0 || len(s) == 1 || (c != '-' && c != '+')) {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// String returns the requirement in the form that ParseLabels parses.
func (r *LabelRequirement) String() string {
	var b strings.Builder
	if r.op == OpDoesNotExist {
		b.WriteByte('!')
	}
	b.WriteString(r.key)
	switch r.op {
	case OpEquals, OpDoubleEquals, OpNotEquals:
		b.WriteString(r.op.String())
	case OpIn, OpNotIn:
		b.WriteString(" " + r.op.String() + " (")
	case OpGreaterThan:
		b.WriteByte('>')
	case OpLessThan:
		b.WriteByte('<')
	}
	b.WriteString(strings.Join(r.values, ","))
	if r.op == OpIn || r.op == OpNotIn {
		b.WriteByte(')')
	}
	return b.String()
}

// Matches reports whether labels meet all requirements. It does not allocate.
func (rs LabelRequirements) Matches(labels Lookup) bool {
	for i := range rs {
		if !rs[i].Matches(labels) {
			return false
		}
	}
	return true
}

// Empty reports whether the selector matches everything.
func (rs LabelRequirements) Empty() bool { return len(rs) == 0 }

// Nothing reports whether the selector is that of a nil LabelSelector, which matches nothing.
func (rs LabelRequirements) Nothing() bool { return len(rs) > 0 && rs[0].op == opNothing }

// String returns the canonical form of the selector, which ParseLabels parses.
func (rs LabelRequirements) String() string {
	parts := make([]string, len(rs))
	for i := range rs {
		parts[i] = rs[i].String()
	}
	return strings.Join(parts, ",")
}

// RequiresExact returns the value that the selector requires of the label key; false if it does not
// require one single value.
func (rs LabelRequirements) RequiresExact(key string) (string, bool) {
	for i := range rs {
		if r := &rs[i]; r.key == key && len(r.values) == 1 &&
			(r.op == OpEquals || r.op == OpDoubleEquals || r.op == OpIn) {
			return r.values[0], true
		}
	}
	return "", false
}

// sorted sorts the requirements by key. Requirements on one key keep their order.
func (rs LabelRequirements) sorted() LabelRequirements {
	slices.SortStableFunc(rs, func(a, b LabelRequirement) int { return strings.Compare(a.key, b.key) })
	return rs
}

// SelectorFromSet returns the selector that requires every label of the set. It does not validate
// them.
func SelectorFromSet(set map[string]string) LabelRequirements {
	rs := make(LabelRequirements, 0, len(set))
	for k, v := range set {
		rs = append(rs, LabelRequirement{key: k, op: OpEquals, values: []string{v}})
	}
	return rs.sorted()
}

// SelectorFrom returns the selector that a LabelSelector describes. nil matches nothing, an empty
// one everything.
func SelectorFrom(s *LabelSelector) (LabelRequirements, error) {
	if s == nil {
		return LabelRequirements{{op: opNothing}}, nil
	}
	rs := make(LabelRequirements, 0, len(s.MatchLabels)+len(s.MatchExpressions))
	for k, v := range s.MatchLabels {
		r, err := NewLabelRequirement(k, OpEquals, []string{v})
		if err != nil {
			return nil, err
		}
		rs = append(rs, r)
	}
	for _, e := range s.MatchExpressions {
		var op SelectorOperator
		switch e.Operator {
		case LabelSelectorOpIn:
			op = OpIn
		case LabelSelectorOpNotIn:
			op = OpNotIn
		case LabelSelectorOpExists:
			op = OpExists
		case LabelSelectorOpDoesNotExist:
			op = OpDoesNotExist
		default:
			return nil, fmt.Errorf("%q is not a valid label selector operator", e.Operator)
		}
		r, err := NewLabelRequirement(e.Key, op, slices.Clone(e.Values))
		if err != nil {
			return nil, err
		}
		rs = append(rs, r)
	}
	return rs.sorted(), nil
}
