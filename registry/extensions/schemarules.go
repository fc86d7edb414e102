package extensions

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/field"
)

// ruleReasons are the reasons that a rule may give.
var ruleReasons = []v1.FieldValueErrorReason{v1.FieldValueDuplicate, v1.FieldValueForbidden, v1.FieldValueInvalid, v1.FieldValueRequired}

// validations judges the rules of a schema as far as that goes without compiling them.
func (c *schemaChecker) validations(p *field.Path, s *v1.JSONSchemaProps) {
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
			c.ruleField(here.Child("fieldPath"), s, rule.FieldPath)
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

func (c *schemaChecker) ruleField(p *field.Path, s *v1.JSONSchemaProps, path string) {
	if strings.TrimSpace(path) == "" {
		c.fail(field.Invalid(p, path, "must be non-empty if specified"))
	}
	if breaksLine(path) {
		c.fail(field.Invalid(p, path, "must not contain line breaks"))
	}
	if _, err := schemaAt(s, path); err != nil && foreignField(s) == "" {
		c.fail(field.Invalid(p, path, "must be a valid path"))
	}
}

func breaksLine(s string) bool { return strings.ContainsAny(s, "\n\r") }

var errNoField = errors.New("does not refer to a valid field")

// schemaAt returns the schema of the field that a path of names, such as .spec['a.b'].c, leads to from s. Entries of maps
// count as fields.
func schemaAt(s *v1.JSONSchemaProps, path string) (*v1.JSONSchemaProps, error) {
	for path != "" {
		var name string
		var err error
		switch path[0] {
		case '.':
			if name, path, err = plainName(path[1:]); err != nil {
				return nil, err
			}
		case '[':
			if name, path, err = quotedName(path[1:]); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("expected [ or . but got: %s", path)
		}
		f, ok := s.Properties[name]
		switch {
		case ok:
			s = &f
		case len(s.Properties) == 0 && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
			s = s.AdditionalProperties.Schema
		default:
			return nil, errNoField
		}
	}
	return s, nil
}

// plainName splits a name from what follows it. A name that begins with a quote goes on to the next one, and takes the
// quotes for part of it.
func plainName(path string) (name, rest string, err error) {
	if path == "" {
		return "", "", errors.New("unexpected end of JSON path")
	}
	if path[0] == '\'' {
		if end := closingQuote(path); end > 0 {
			return path[:end+1], path[end+1:], nil
		}
		return path, "", nil
	}
	end := strings.IndexAny(path, ".[]")
	switch end {
	case -1:
		return path, "", nil
	case 0:
		end = 1 // the delimiter itself
	}
	return path[:end], path[end:], nil
}

// quotedName splits a quoted name, and the bracket behind it, from what follows.
func quotedName(path string) (name, rest string, err error) {
	end := closingQuote(path)
	if end < 0 {
		return "", "", errors.New("expected single quoted string")
	}
	if !strings.HasPrefix(path[end+1:], "]") {
		return "", "", errors.New("expected ]")
	}
	name, err = unescape(path[1:end])
	return name, path[end+2:], err
}

// closingQuote returns where the quote that text begins with is closed, -1 if it is not, or there is none.
func closingQuote(text string) int {
	if !strings.HasPrefix(text, "'") {
		return -1
	}
	for i := 1; i < len(text); i++ {
		if text[i] == '\'' && text[i-1] != '\\' {
			return i
		}
	}
	return -1
}

// unescape resolves the escapes in a quoted name.
func unescape(text string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		at := strings.IndexByte(`abfnrtv'\`, text[i])
		if at < 0 {
			return "", fmt.Errorf("invalid escape char \\%c", text[i])
		}
		b.WriteByte("\a\b\f\n\r\t\v'\\"[at])
	}
	return b.String(), nil
}
