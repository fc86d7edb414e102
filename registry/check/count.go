package check

import "github.com/coracle-project/coracle/scheme/field"

// Number is a field that counts something.
type Number = struct {
	Name  string
	Value int64
}

// Count is the number in a field that may be unset.
func Count[T int32 | int64](name string, value *T) Number {
	if value == nil {
		return Number{Name: name}
	}
	return Number{name, int64(*value)}
}

// NotNegative reports fields below p whose numbers are below 0.
func NotNegative(p *field.Path, list ...Number) field.ErrorList {
	var errs field.ErrorList
	for _, n := range list {
		errs = append(errs, NonNegative(p.Child(n.Name), n.Value)...)
	}
	return errs
}

// AtMost reports fields below p whose numbers are above a limit, which is called what.
func AtMost(p *field.Path, limit int32, what string, list ...Number) field.ErrorList {
	var errs field.ErrorList
	for _, n := range list {
		if n.Value > int64(limit) {
			errs = append(errs, field.Invalid(p.Child(n.Name), n.Value, "cannot be greater than "+what))
		}
	}
	return errs
}
