package check

import (
	"regexp"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// Bounds of a condition, in bytes.
const (
	maxConditionReason  = 1 << 10
	maxConditionMessage = 32 << 10
)

const reasonPattern = `[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?`

var (
	conditionReason = regexp.MustCompile("^" + reasonPattern + "$")
	reasonMessage   = names.PatternError("a condition reason must start with alphabetic character, optionally followed by a string "+
		"of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
		reasonPattern, "my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")
)

// Conditions checks the conditions of a status (KEP-1623). A type must not occur twice.
func Conditions(p *field.Path, conditions []meta.Condition) field.ErrorList {
	var errs field.ErrorList
	seen := Duplicates{}
	for i, c := range field.Each(&errs, conditions) {
		at := p.Index(i)
		if !seen.Add(c.Type) {
			errs = append(errs, field.Duplicate(at.Child("type"), c.Type))
		}
		errs = append(errs, condition(at, c)...)
	}
	return errs
}

func condition(p *field.Path, c *meta.Condition) field.ErrorList {
	errs := QualifiedName(p.Child("type"), c.Type)
	errs = append(
		errs,
		Supported(p.Child("status"), c.Status, meta.ConditionFalse, meta.ConditionTrue, meta.ConditionUnknown)...,
	)
	if c.ObservedGeneration < 0 {
		errs = append(
			errs,
			field.Invalid(p.Child("observedGeneration"), c.ObservedGeneration, "must be greater than or equal to zero"),
		)
	}
	if c.LastTransitionTime.IsZero() {
		errs = append(errs, field.Required(p.Child("lastTransitionTime"), ""))
	}
	reason := p.Child("reason")
	switch {
	case c.Reason == "":
		errs = append(errs, field.Required(reason, ""))
	case !conditionReason.MatchString(c.Reason):
		errs = append(errs, field.Invalid(reason, c.Reason, reasonMessage))
	}
	if len(c.Reason) > maxConditionReason {
		errs = append(errs, field.TooLong(reason, "", maxConditionReason))
	}
	if len(c.Message) > maxConditionMessage {
		errs = append(errs, field.TooLong(p.Child("message"), "", maxConditionMessage))
	}
	return errs
}
