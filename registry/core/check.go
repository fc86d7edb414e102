package core

import (
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// Messages that several checks share.
const (
	immutableMessage   = "field is immutable"
	notNegativeMessage = "must be greater than or equal to 0"
	positiveMessage    = "must be greater than zero"
	fileModeMessage    = "must be a number between 0 and 0777 (octal), both inclusive"
)

// invalid returns an error for each message about one value.
func invalid(p *field.Path, value any, msgs []string) field.ErrorList {
	var errs field.ErrorList
	for _, msg := range msgs {
		errs = append(errs, field.Invalid(p, value, msg))
	}
	return errs
}

// required reports an empty value.
func required(p *field.Path, value string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	return nil
}

// oneOf reports a value that is none of valid; missing where it is empty.
func oneOf[T ~string](p *field.Path, value T, valid ...T) field.ErrorList {
	switch {
	case slices.Contains(valid, value):
		return nil
	case value == "":
		return field.ErrorList{field.Required(p, "")}
	}
	return field.ErrorList{field.NotSupported(p, value, valid)}
}

// needed applies a rule to a value that must not be empty, and optional to one that may be.
func needed(p *field.Path, value string, rule func(*field.Path, string) field.ErrorList) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	return rule(p, value)
}

func optional(p *field.Path, value string, rule func(*field.Path, string) field.ErrorList) field.ErrorList {
	if value == "" {
		return nil
	}
	return rule(p, value)
}

// optionalOf reports a value that is set and none of valid.
func optionalOf[T ~string](p *field.Path, value *T, valid ...T) field.ErrorList {
	if value == nil {
		return nil
	}
	return supported(p, *value, valid...)
}

// supported is oneOf for values that may not be empty for other reasons, such as pointers: empty is unsupported, too.
func supported[T ~string](p *field.Path, value T, valid ...T) field.ErrorList {
	if slices.Contains(valid, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(p, value, valid)}
}

func notNegative(p *field.Path, value int64) field.ErrorList {
	if value < 0 {
		return field.ErrorList{field.Invalid(p, value, notNegativeMessage)}
	}
	return nil
}

func notNegativeQuantity(p *field.Path, q meta.Quantity) field.ErrorList {
	if q.Sign() < 0 {
		return field.ErrorList{field.Invalid(p, q.String(), notNegativeMessage)}
	}
	return nil
}

// inRange reports a value outside of low to high.
func inRange[T int32 | int64](p *field.Path, value, low, high T) field.ErrorList {
	if value < low || value > high {
		return field.ErrorList{field.Invalid(p, value, names.RangeError(int(low), int(high)))}
	}
	return nil
}

// label checks a DNS label.
func label(p *field.Path, value string) field.ErrorList {
	return invalid(p, value, names.IsDNS1123Label(value))
}

// subdomain checks a DNS subdomain.
func subdomain(p *field.Path, value string) field.ErrorList {
	return invalid(p, value, names.IsDNS1123Subdomain(value))
}

// qualifiedName checks a label key or its like.
func qualifiedName(p *field.Path, value string) field.ErrorList {
	return invalid(p, value, names.IsQualifiedName(value))
}

// userID and groupID check numeric ids that may be unset.
func userID(p *field.Path, id *int64) field.ErrorList {
	if id == nil {
		return nil
	}
	return invalid(p, *id, names.IsValidUserID(*id))
}

func groupID(p *field.Path, id *int64) field.ErrorList {
	if id == nil {
		return nil
	}
	return invalid(p, *id, names.IsValidGroupID(*id))
}

// portNumber checks a port of the network.
func portNumber(p *field.Path, port int32) field.ErrorList {
	return invalid(p, port, names.IsValidPortNum(int(port)))
}

// portReference checks a port given by number or by name.
func portReference(p *field.Path, port meta.IntOrString) field.ErrorList {
	if port.Type == meta.IntType {
		return portNumber(p, port.IntVal)
	}
	return invalid(p, port.StrVal, names.IsValidPortName(port.StrVal))
}

// fileMode checks the mode bits of a file, where they are set.
func fileMode(p *field.Path, mode *int32) field.ErrorList {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		return field.ErrorList{field.Invalid(p, *mode, fileModeMessage)}
	}
	return nil
}

// noBacksteps refuses ".." in a path.
func noBacksteps(p *field.Path, target string) field.ErrorList {
	if slices.Contains(strings.Split(target, "/"), "..") {
		return field.ErrorList{field.Invalid(p, target, "must not contain '..'")}
	}
	return nil
}

// descendingPath checks a relative path that stays below where it starts.
func descendingPath(p *field.Path, target string) field.ErrorList {
	var errs field.ErrorList
	if path.IsAbs(target) {
		errs = append(errs, field.Invalid(p, target, "must be a relative path"))
	}
	return append(errs, noBacksteps(p, target)...)
}

// freePath is a descendingPath that leaves names beginning with two dots to the system.
func freePath(p *field.Path, target string) field.ErrorList {
	errs := descendingPath(p, target)
	if strings.HasPrefix(target, "..") && !strings.HasPrefix(target, "../") {
		errs = append(errs, field.Invalid(p, target, "must not start with '..'"))
	}
	return errs
}

// immutable reports a changed value.
func immutable[T comparable](p *field.Path, value, old T) field.ErrorList {
	if value != old {
		return field.ErrorList{field.Invalid(p, value, immutableMessage)}
	}
	return nil
}

// duplicates finds repeated values. Add reports whether value is new.
type duplicates map[string]bool

func (d duplicates) add(value string) bool {
	if d[value] {
		return false
	}
	d[value] = true
	return true
}

// sortedKeys returns the keys of a map in order, so that errors come in a stable order.
func sortedKeys[K ~string, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}

func deadlineRange(p *field.Path, value, low int64) field.ErrorList {
	if value < low || value > math.MaxInt32 {
		return field.ErrorList{field.Invalid(p, value, fmt.Sprintf("must be between %d and %d, inclusive", low, math.MaxInt32))}
	}
	return nil
}
