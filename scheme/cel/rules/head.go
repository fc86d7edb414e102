package rules

import (
	"regexp"

	"github.com/coracle-project/coracle/scheme/schema"
)

// Head says how much of apiVersion, kind and metadata the rules of a resource read. A caller that
// validates a tree includes only that much in it.
type Head uint8

const (
	NoHead    Head = iota // none of the three
	Names                 // apiVersion, kind, and metadata.name and metadata.generateName
	WholeHead             // all of metadata, because an expression compares it or the whole object
)

// Head returns how much of apiVersion, kind and metadata a tree must contain to be validated by r.
func (r *Rules) Head() Head {
	if r.root.shape == nil {
		for _, f := range r.root.fields {
			if f.name == "apiVersion" || f.name == "kind" || f.name == "metadata" {
				return Names
			}
		}
		return NoHead
	}
	for i := range r.root.schema.Limits.Rules {
		if rule := &r.root.schema.Limits.Rules[i]; seesWhole(rule, rule.Rule) ||
			seesWhole(rule, rule.MessageExpression) {
			return WholeHead
		}
	}
	return Names
}

// fieldUse matches the variable self or oldSelf and, if a field of it is selected, that field.
var fieldUse = regexp.MustCompile(`\b(?:self|oldSelf)\b(?:\.(metadata\.(?:name|generateName)\b|\w+))?`)

// seesWhole reports whether an expression about a resource may read the whole object or the whole
// metadata. In doubt it returns true.
func seesWhole(r *schema.Rule, expression string) bool {
	if r.OptionalOldSelf != nil {
		return true
	}
	for _, use := range fieldUse.FindAllStringSubmatch(expression, -1) {
		if use[1] == "" || use[1] == "metadata" {
			return true
		}
	}
	return false
}
