package check

import (
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// What the texts of a condition may be as long as, in bytes.
const (
	maxReason  = 1 << 10
	maxMessage = 32 << 10
)

// Conditions checks the conditions in a status: each is complete, and there is one of a type.
func Conditions(p *field.Path, list []meta.Condition) field.ErrorList {
	var errs field.ErrorList
	seen := Duplicates{}
	for i, c := range field.Each(&errs, list) {
		p := p.Index(i)
		if !seen.Add(c.Type) {
			errs = append(errs, field.Duplicate(p.Child("type"), c.Type))
		}
		errs = append(errs, QualifiedName(p.Child("type"), c.Type)...)
		errs = append(errs, Supported(p.Child("status"), c.Status, meta.ConditionFalse, meta.ConditionTrue, meta.ConditionUnknown)...)
		if c.ObservedGeneration < 0 {
			errs = append(errs, field.Invalid(p.Child("observedGeneration"), c.ObservedGeneration, "must be greater than or equal to zero"))
		}
		if c.LastTransitionTime.IsZero() {
			errs = append(errs, field.Required(p.Child("lastTransitionTime"), ""))
		}
		errs = append(errs, Needed(p.Child("reason"), c.Reason, conditionReason)...)
		if len(c.Message) > maxMessage {
			errs = append(errs, field.TooLong(p.Child("message"), "", maxMessage))
		}
	}
	return errs
}

func conditionReason(p *field.Path, reason string) field.ErrorList {
	var errs field.ErrorList
	if !isConditionReason(reason) {
		errs = append(errs, field.Invalid(p, reason, names.PatternError("a condition reason must start with alphabetic character, optionally "+
			"followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
			"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", "my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")))
	}
	if len(reason) > maxReason {
		errs = append(errs, field.TooLong(p, "", maxReason))
	}
	return errs
}

// isConditionReason reports whether a text that is not empty is a word for programs, or several with commas or colons between.
func isConditionReason(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return strings.Trim(s, letters+"0123456789_,:") == "" && strings.Contains(letters, s[:1]) && !strings.ContainsAny(s[len(s)-1:], ",:")
}
