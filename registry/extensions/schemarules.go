package extensions

import (
	"slices"
	"strings"
	"sync"

	"github.com/coracle-project/coracle/registry/govalue"
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/cel/rules"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/schema"
)

// ruleReasons are the reasons that a rule may give for its failure, in the order in which the error
// lists them.
var ruleReasons = []v1.FieldValueErrorReason{v1.FieldValueDuplicate, v1.FieldValueForbidden, v1.FieldValueInvalid,
	v1.FieldValueRequired}

// validations validates the rules of a schema without compiling their expressions: texts, reasons
// and field paths. p is the path of x-kubernetes-validations.
func (c *schemaChecker) validations(p *field.Path, s *v1.JSONSchemaProps, at position) {
	fields := sync.OnceValue(func() *schema.Schema { return c.described(s, at) })
	for i := range s.XValidations {
		if c.errs.Full() {
			return
		}
		rule, here := &s.XValidations[i], p.Index(i)
		c.ruleText(here, rule)
		if rule.MessageExpression != "" && strings.TrimSpace(rule.MessageExpression) == "" {
			c.fail(field.Required(here.Child("messageExpression"), "messageExpression must be non-empty if specified"))
		}
		if rule.Reason != nil && !slices.Contains(ruleReasons, *rule.Reason) {
			c.fail(field.NotSupported(here.Child("reason"), *rule.Reason, ruleReasons))
		}
		if rule.FieldPath != "" {
			c.ruleField(here.Child("fieldPath"), rule.FieldPath, fields)
		}
	}
}

// ruleText validates the expression and the message of a rule as texts. It reports at most one
// error. A message must be given for an expression of several lines, because without a message the
// error shows the expression.
func (c *schemaChecker) ruleText(p *field.Path, rule *v1.ValidationRule) {
	text, message := strings.TrimSpace(rule.Rule), strings.TrimSpace(rule.Message)
	switch {
	case text == "":
		c.fail(field.Required(p.Child("rule"), "rule is not specified"))
	case rule.Message != "" && message == "":
		c.fail(field.Invalid(p.Child("message"), rule.Message, "must be non-empty if specified"))
	case breaksLine(message):
		c.fail(field.Invalid(p.Child("message"), rule.Message, "must not contain line breaks"))
	case breaksLine(text) && message == "":
		c.fail(field.Required(p.Child("message"), "message must be specified if rule contains line breaks"))
	}
}

// maxDescribed is the number of schemas that one schemaChecker compiles only to validate field
// paths. It does so for schemas that have no Scope, which means that the definition is refused
// anyway. Such schemas contain each other, so compiling each of them could take the square of the
// time.
const maxDescribed = 20

// described returns s compiled, for the validation of field paths. It is nil if s has a foreign
// field, or after maxDescribed schemas: the paths are then not validated.
func (c *schemaChecker) described(s *v1.JSONSchemaProps, at position) *schema.Schema {
	if compiled := at.scope.Schema(); compiled != nil {
		return compiled
	}
	if c.compiled++; c.compiled > maxDescribed || foreignField(s) != "" {
		return nil
	}
	return CompileSchema(s)
}

// ruleField validates the field path of a rule. fields returns the compiled schema that the path
// starts from, nil if it cannot be compiled.
func (c *schemaChecker) ruleField(p *field.Path, path string, fields func() *schema.Schema) {
	if strings.TrimSpace(path) == "" {
		c.fail(field.Invalid(p, path, "must be non-empty if specified"))
	}
	if breaksLine(path) {
		c.fail(field.Invalid(p, path, "must not contain line breaks"))
	}
	in := fields()
	if in == nil {
		return
	}
	if _, err := rules.FieldPath(in, path); err != nil {
		c.fail(field.Invalid(p, path, "must be a valid path"))
	}
}

// compileRules compiles the rules of a schema and validates their estimated cost. It also refuses
// oldSelf where there is no old value to compare with, and optionalOldSelf without oldSelf.
func (c *schemaChecker) compileRules(p *field.Path, s *v1.JSONSchemaProps, at position) {
	findings, err := at.scope.Check(p)
	if err != nil {
		c.failRule(field.InternalError(p, err))
		return
	}
	for i, f := range findings {
		rule, here := &s.XValidations[i], p.Index(i)
		if f.Cost != "" && c.rules.RuleCost {
			c.failRule(field.Forbidden(here.Child("rule"), f.Cost))
		}
		if f.Err != nil {
			c.failRule(field.Invalid(here.Child("rule"), govalue.JSON(rule), f.Err.Error()))
		}
		switch {
		case f.MessageErr != nil:
			c.failRule(field.Invalid(here.Child("messageExpression"), govalue.JSON(rule), f.MessageErr.Error()))
		case f.MessageCost != "" && c.rules.RuleCost:
			c.failRule(field.Forbidden(here.Child("messageExpression"), f.MessageCost))
		}
		switch {
		case f.UsesOldSelf && at.unrelated != nil:
			c.failRule(field.Invalid(here.Child("rule"), rule.Rule,
				"oldSelf cannot be used on the uncorrelatable portion of the schema within "+at.unrelated.String()))
		case !f.UsesOldSelf && rule.OptionalOldSelf != nil:
			c.failRule(field.Invalid(here.Child("optionalOldSelf"), *rule.OptionalOldSelf,
				"may not be set if oldSelf is not used in rule"))
		}
	}
}

// failRule collects an error that comes after those of fail.
func (c *schemaChecker) failRule(err *field.Error) {
	if !c.ruleErrs.Full() {
		c.ruleErrs = append(c.ruleErrs, err)
	}
}

// hasRules reports whether s itself has rules.
func hasRules(s *v1.JSONSchemaProps) bool { return len(s.XValidations) > 0 }

func breaksLine(s string) bool { return strings.ContainsAny(s, "\n\r") }
