package check

import (
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// IntOrPercent reports a number below 0, and a text that is not a percentage.
func IntOrPercent(p *field.Path, v meta.IntOrString) field.ErrorList {
	if v.Type == meta.IntType {
		return NonNegative(p, v.IntVal)
	}
	return Invalid(p, v, names.IsValidPercent(v.StrVal))
}

// AtMost100Percent reports a percentage above 100.
func AtMost100Percent(p *field.Path, v meta.IntOrString) field.ErrorList {
	if isPercent(v) && Amount(v) > 100 {
		return field.ErrorList{field.Invalid(p, v, "must not be greater than 100%")}
	}
	return nil
}

// Amount returns the number in a value. For a percentage it is the number before the "%"; for any
// other text that is no number it is 0.
func Amount(v meta.IntOrString) int {
	if isPercent(v) {
		v.StrVal = strings.TrimSuffix(v.StrVal, "%")
	}
	return v.IntValue()
}

func isPercent(v meta.IntOrString) bool {
	return v.Type == meta.StringType && len(names.IsValidPercent(v.StrVal)) == 0
}
