package check

import (
	"path"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

const (
	notNegative = "must be greater than or equal to 0"
	notPositive = "must be greater than zero"
)

// Invalid returns an error for each message about one value.
func Invalid[T any](p *field.Path, value T, msgs []string) field.ErrorList {
	var errs field.ErrorList
	for _, msg := range msgs {
		errs = append(errs, field.Invalid(p, value, msg))
	}
	return errs
}

// Required reports an empty value.
func Required(p *field.Path, value string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	return nil
}

// OneOf reports a value that is none of valid. An empty value is reported as missing.
func OneOf[T ~string](p *field.Path, value T, valid ...T) field.ErrorList {
	switch {
	case slices.Contains(valid, value):
		return nil
	case value == "":
		return field.ErrorList{field.Required(p, "")}
	}
	return field.ErrorList{field.NotSupported(p, value, valid)}
}

// Needed applies a rule to a value that must not be empty.
func Needed(p *field.Path, value string, rule func(*field.Path, string) field.ErrorList) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	return Apply(p, value, rule)
}

// Optional applies a rule to a value that may be empty.
func Optional(p *field.Path, value string, rule func(*field.Path, string) field.ErrorList) field.ErrorList {
	if value == "" {
		return nil
	}
	return Apply(p, value, rule)
}

// Apply applies a rule that uses the path only to name it in errors. It calls the rule with a nil
// path first, because a path that is passed to a function value is allocated, and hardly any value
// is wrong. Only for a wrong value it calls the rule again with the path.
func Apply[T ~string](p *field.Path, value T, rule func(*field.Path, T) field.ErrorList) field.ErrorList {
	if len(rule(nil, value)) == 0 {
		return nil
	}
	return rule(field.NewPath(p.String()), value)
}

// OptionalOneOf reports a value that is set but none of valid.
func OptionalOneOf[T ~string](p *field.Path, value *T, valid ...T) field.ErrorList {
	if value == nil {
		return nil
	}
	return Supported(p, *value, valid...)
}

// Supported reports a value that is none of valid. Unlike OneOf, it reports an empty value as not
// supported, not as missing.
func Supported[T ~string](p *field.Path, value T, valid ...T) field.ErrorList {
	if slices.Contains(valid, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(p, value, valid)}
}

// NonNegative reports a number below 0.
func NonNegative[T int32 | int64](p *field.Path, value T) field.ErrorList {
	if value < 0 {
		return field.ErrorList{field.Invalid(p, value, notNegative)}
	}
	return nil
}

// NonNegativeQuantity reports an amount below 0.
func NonNegativeQuantity(p *field.Path, q meta.Quantity) field.ErrorList {
	if q.Sign() < 0 {
		return field.ErrorList{field.Invalid(p, q.String(), notNegative)}
	}
	return nil
}

// Positive reports a number that is not above 0.
func Positive[T int32 | int64](p *field.Path, value T) field.ErrorList {
	if value <= 0 {
		return field.ErrorList{field.Invalid(p, value, notPositive)}
	}
	return nil
}

// PositiveQuantity reports an amount that is not above 0.
func PositiveQuantity(p *field.Path, q meta.Quantity) field.ErrorList {
	if q.Sign() <= 0 {
		return field.ErrorList{field.Invalid(p, q.String(), notPositive)}
	}
	return nil
}

// InRange reports a value below low or above high.
func InRange[T int32 | int64](p *field.Path, value, low, high T) field.ErrorList {
	if value < low || value > high {
		return field.ErrorList{field.Invalid(p, value, names.RangeError(int(low), int(high)))}
	}
	return nil
}

// DNSLabel checks a DNS label.
func DNSLabel(p *field.Path, value string) field.ErrorList {
	return Invalid(p, value, names.IsDNS1123Label(value))
}

// DNSSubdomain checks a DNS subdomain.
func DNSSubdomain(p *field.Path, value string) field.ErrorList {
	return Invalid(p, value, names.IsDNS1123Subdomain(value))
}

// QualifiedName checks a name of the form of a label key: an optional DNS subdomain with a slash,
// then a name.
func QualifiedName(p *field.Path, value string) field.ErrorList {
	return Invalid(p, value, names.IsQualifiedName(value))
}

// PathSegment checks a name that must be one segment of a URL path.
func PathSegment(p *field.Path, value string) field.ErrorList {
	return Invalid(p, value, names.IsPathSegmentName(value))
}

// UserID checks the numeric id of a user, which may be unset.
func UserID(p *field.Path, id *int64) field.ErrorList {
	if id == nil {
		return nil
	}
	return Invalid(p, *id, names.IsValidUserID(*id))
}

// GroupID checks the numeric id of a group, which may be unset.
func GroupID(p *field.Path, id *int64) field.ErrorList {
	if id == nil {
		return nil
	}
	return Invalid(p, *id, names.IsValidGroupID(*id))
}

// PortNumber checks a network port: 1 to 65535.
func PortNumber(p *field.Path, port int32) field.ErrorList {
	return Invalid(p, port, names.IsValidPortNum(int(port)))
}

// PortReference checks a port given by number or by name.
func PortReference(p *field.Path, port meta.IntOrString) field.ErrorList {
	if port.Type == meta.IntType {
		return PortNumber(p, port.IntVal)
	}
	return Invalid(p, port.StrVal, names.IsValidPortName(port.StrVal))
}

// FileMode checks the permission bits of a file: 0 to 0777. nil is valid.
func FileMode(p *field.Path, mode *int32) field.ErrorList {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		return field.ErrorList{field.Invalid(p, *mode, "must be a number between 0 and 0777 (octal), both inclusive")}
	}
	return nil
}

// NoBacksteps refuses a path with a segment "..".
func NoBacksteps(p *field.Path, target string) field.ErrorList {
	if slices.Contains(strings.Split(target, "/"), "..") {
		return field.ErrorList{field.Invalid(p, target, "must not contain '..'")}
	}
	return nil
}

// DescendingPath checks that target is a relative path without "..", so that it stays below the
// directory in which it starts.
func DescendingPath(p *field.Path, target string) field.ErrorList {
	var errs field.ErrorList
	if path.IsAbs(target) {
		errs = append(errs, field.Invalid(p, target, "must be a relative path"))
	}
	return append(errs, NoBacksteps(p, target)...)
}

// NonReservedPath checks a path as DescendingPath does, and refuses a first segment that begins
// with two dots: kubelets use such names in volumes.
func NonReservedPath(p *field.Path, target string) field.ErrorList {
	errs := DescendingPath(p, target)
	if strings.HasPrefix(target, "..") && !strings.HasPrefix(target, "../") {
		errs = append(errs, field.Invalid(p, target, "must not start with '..'"))
	}
	return errs
}

// Immutable reports a value that differs from the old one. Both may be nil. They are compared
// semantically: an empty list equals an unset one.
func Immutable[T any](p *field.Path, value, old *T) field.ErrorList {
	if scheme.Equal(value, old) {
		return nil
	}
	var shown any = value
	if text, ok := shown.(*string); ok && text != nil {
		shown = *text
	} else {
		shown = govalue.JSON(value)
	}
	return field.ErrorList{field.Invalid(p, shown, "field is immutable")}
}

// Duplicates is the set of values that were seen, for finding repeated ones.
type Duplicates map[string]bool

// Add adds a value and reports whether it was not seen before.
func (d Duplicates) Add(value string) bool {
	if d[value] {
		return false
	}
	d[value] = true
	return true
}

// Setting is the name of a field and whether the field is set.
type Setting = struct {
	Name string
	Set  bool
}

// Forbidden reports the fields below p that are set, in the order of list. Their names may be
// paths, such as "securityContext.sysctls".
func Forbidden(p *field.Path, msg string, list []Setting) field.ErrorList {
	var errs field.ErrorList
	for _, s := range list {
		if s.Set {
			errs = append(errs, field.Forbidden(p.Child(s.Name), msg))
		}
	}
	return errs
}
