package jsonpath

import (
	"cmp"
	"errors"
	"fmt"
)

// Errors of comparisons, in kubectl's words.
var (
	errNotComparable = errors.New("invalid type for comparison")
	errIncompatible  = errors.New("incompatible types for comparison")
)

// compare compares two values with an operator of a filter. An integer and a float do not compare
// with each other, and booleans only with == and !=.
func compare(a any, operator string, b any) (bool, error) {
	switch operator {
	case "==", "!=", "<", "<=", ">", ">=":
	default:
		return false, fmt.Errorf("unrecognized filter operator %s", operator)
	}
	a, b = plain(a), plain(b)
	if a == nil || b == nil {
		return false, errNotComparable
	}
	order, same := 0, false
	switch a := a.(type) {
	case int64:
		order, same = ordered(a, b)
	case float64:
		order, same = ordered(a, b)
	case string:
		order, same = ordered(a, b)
	case bool:
		if operator != "==" && operator != "!=" {
			return false, errNotComparable
		}
		order, same = 1, true
		if a == b {
			order = 0
		}
	}
	if !same {
		return false, errIncompatible
	}
	switch operator {
	case "==":
		return order == 0, nil
	case "!=":
		return order != 0, nil
	case "<":
		return order < 0, nil
	case "<=":
		return order <= 0, nil
	case ">":
		return order > 0, nil
	}
	return order >= 0, nil
}

// ordered compares a with b; same reports whether b has the type of a.
func ordered[T cmp.Ordered](a T, b any) (order int, same bool) {
	other, ok := b.(T)
	return cmp.Compare(a, other), ok
}

// plain returns a value as an int64, float64, string or bool; nil if it is none of these.
func plain(v any) any {
	switch v := v.(type) {
	case int64, float64, string, bool:
		return v
	case int:
		return int64(v)
	case byte:
		return int64(v)
	}
	return nil
}
