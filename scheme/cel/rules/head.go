package rules

import (
	"regexp"

	"github.com/coracle-project/coracle/scheme/schema"
)

// Head is how much rules look at of what every resource has.
type Head uint8

const (
	NoHead    Head = iota // neither apiVersion, kind nor metadata
	Names                 // those, and of metadata the names
	WholeHead             // all: metadata is compared
)

// Head returns how much of the head of an object is to be in its tree.
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
		if rule := &r.root.schema.Limits.Rules[i]; seesWhole(rule, rule.Rule) || seesWhole(rule, rule.MessageExpression) {
			return WholeHead
		}
	}
	return Names
}

// fieldUse is a variable and, if that is its field, what is used of it.
var fieldUse = regexp.MustCompile(`\b(?:self|oldSelf)\b(?:\.(metadata\.(?:name|generateName)\b|\w+))?`)

// seesWhole reports whether an expression about a resource may look at it as a whole, or at metadata. It is so in doubt.
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
