package check

import "github.com/coracle-project/coracle/scheme/field"

// Number is the name and value of a numeric field.
type Number = struct {
	Name  string
	Value int64
}

// Count returns the Number of a field that may be unset, which counts as 0.
func Count[T int32 | int64](name string, value *T) Number {
	if value == nil {
		return Number{Name: name}
	}
	return Number{name, int64(*value)}
}

// NotNegative reports the fields in list whose numbers are below 0. p is the path of the object
// that has the fields.
func NotNegative(p *field.Path, list ...Number) field.ErrorList {
	var errs field.ErrorList
	for _, n := range list {
		errs = append(errs, NonNegative(p.Child(n.Name), n.Value)...)
	}
	return errs
}

// AtMost reports the fields in list whose numbers are above limit. p is the path of the object that
// has the fields; what names the limit in the message.
func AtMost(p *field.Path, limit int32, what string, list ...Number) field.ErrorList {
	var errs field.ErrorList
	for _, n := range list {
		if n.Value > int64(limit) {
			errs = append(errs, field.Invalid(p.Child(n.Name), n.Value, "cannot be greater than "+what))
		}
	}
	return errs
}
