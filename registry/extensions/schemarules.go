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

// ruleReasons are the reasons that a rule may give.
var ruleReasons = []v1.FieldValueErrorReason{v1.FieldValueDuplicate, v1.FieldValueForbidden, v1.FieldValueInvalid,
	v1.FieldValueRequired}

// validations judges the rules of a schema as far as that goes without compiling them.
func (c *schemaChecker) validations(p *field.Path, s *v1.JSONSchemaProps, at place) {
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

// ruleText judges what a rule says, and what is said when it does not hold. One error is enough.
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

// maxDescribed is how many schemas are made for the sake of the paths in a schema that is refused
// anyway: they stand in each other, so that all of them may be very many times what was sent.
const maxDescribed = 20

// described returns a schema as rules see it, nil if it says what structural schemas cannot say.
func (c *schemaChecker) described(s *v1.JSONSchemaProps, at place) *schema.Schema {
	if known := at.scope.Schema(); known != nil {
		return known
	}
	if c.made++; c.made > maxDescribed || foreignField(s) != "" {
		return nil
	}
	return CompileSchema(s)
}

// ruleField judges the path of a field in what fields describes.
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

// compileRules judges the rules of a schema as expressions, and what they cost.
func (c *schemaChecker) compileRules(p *field.Path, s *v1.JSONSchemaProps, at place) {
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

func (c *schemaChecker) failRule(err *field.Error) {
	if !c.ruleErrs.Full() {
		c.ruleErrs = append(c.ruleErrs, err)
	}
}

func hasRules(s *v1.JSONSchemaProps) bool { return len(s.XValidations) > 0 }

func breaksLine(s string) bool { return strings.ContainsAny(s, "\n\r") }
