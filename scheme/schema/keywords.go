package schema

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/coracle-project/coracle/scheme/field"
)

// keywords.go reads the keywords of a schema, one method for each group. parser.schema (parse.go)
// calls keyword for each member of the JSON object.

// keyword reads one keyword of a schema into s. at is the path of the keyword.
func (p *parser) keyword(at *field.Path, s *Schema, name string, v any) {
	switch name {
	case "description":
		read(p, at, v, &s.Description)
	case "title", "example", "externalDocs":
		if s.Docs == nil {
			s.Docs = &Docs{}
		}
		p.docs(at, s.Docs, name, v)
	case "type":
		p.word(at, v, &s.Type, Array, Boolean, Integer, Number, Object, String)
	case "format":
		read(p, at, v, &s.Format)
	case "nullable":
		read(p, at, v, &s.Nullable)
	case "default":
		s.Default = v
	case "enum":
		read(p, at, v, &s.Enum)
		if len(s.Enum) == 0 {
			s.Enum = nil
		}
		s.enums = newEnums(s.Enum)
	case "properties":
		p.properties(at, v, &s.Properties)
	case "required":
		p.strings(at, v, &s.Required)
	case "additionalProperties":
		s.AdditionalProperties = p.additional(at, v)
	case "items":
		s.Items = p.schema(at, v)
	default:
		if p.extension(at, s, name, v) {
			return
		}
		if s.Limits == nil {
			s.Limits = &Limits{}
		}
		if !p.limit(at, s.Limits, name, v) {
			p.refuse(at, name)
		}
	}
}

// limit reads a keyword that bounds a value, and reports whether name is one.
func (p *parser) limit(at *field.Path, l *Limits, name string, v any) bool {
	switch name {
	case "minimum":
		p.number(at, v, &l.Minimum)
	case "maximum":
		p.number(at, v, &l.Maximum)
	case "exclusiveMinimum":
		read(p, at, v, &l.ExclusiveMinimum)
	case "exclusiveMaximum":
		read(p, at, v, &l.ExclusiveMaximum)
	case "multipleOf":
		p.number(at, v, &l.MultipleOf)
	case "minLength":
		p.count(at, v, &l.MinLength)
	case "maxLength":
		p.count(at, v, &l.MaxLength)
	case "pattern":
		l.Pattern = p.pattern(at, v)
	case "minItems":
		p.count(at, v, &l.MinItems)
	case "maxItems":
		p.count(at, v, &l.MaxItems)
	case "uniqueItems":
		read(p, at, v, &l.UniqueItems)
	case "minProperties":
		p.count(at, v, &l.MinProperties)
	case "maxProperties":
		p.count(at, v, &l.MaxProperties)
	case "allOf":
		p.schemas(at, v, &l.AllOf)
	case "anyOf":
		p.schemas(at, v, &l.AnyOf)
	case "oneOf":
		p.schemas(at, v, &l.OneOf)
	case "not":
		l.Not = p.schema(at, v)
	case "x-kubernetes-validations":
		l.Rules = p.rules(at, v)
	default:
		return false
	}
	return true
}

// extension reads one of Kubernetes' own keywords, and reports whether name is one.
func (p *parser) extension(at *field.Path, s *Schema, name string, v any) bool {
	switch name {
	case "x-kubernetes-preserve-unknown-fields":
		if read(p, at, v, &s.PreserveUnknown) && !s.PreserveUnknown {
			p.fail(field.Invalid(at, v, "must be true or undefined"))
		}
	case "x-kubernetes-embedded-resource":
		read(p, at, v, &s.EmbeddedResource)
	case "x-kubernetes-int-or-string":
		read(p, at, v, &s.IntOrString)
	case "x-kubernetes-list-type":
		p.word(at, v, &s.ListType, "atomic", "set", "map")
	case "x-kubernetes-list-map-keys":
		p.strings(at, v, &s.ListKeys)
	case "x-kubernetes-map-type":
		p.word(at, v, &s.MapType, "atomic", "granular")
	default:
		return false
	}
	return true
}

// foreign are the keywords of OpenAPI and JSON Schema that a CustomResourceDefinition must not use.
var foreign = []string{"$ref", "$schema", "additionalItems", "definitions", "dependencies", "deprecated",
	"discriminator", "id",
	"patternProperties", "readOnly", "writeOnly", "xml"}

// refuse reports a keyword that is not read: a foreign one, or one that does not exist.
func (p *parser) refuse(at *field.Path, name string) {
	if slices.Contains(foreign, name) {
		p.fail(field.Forbidden(at, name+" is not supported"))
		return
	}
	p.fail(field.Invalid(at, field.Omit{}, "unknown keyword"))
}

// pattern compiles a regular expression, each text once for the whole schema. It returns nil after
// reporting an error.
func (p *parser) pattern(at *field.Path, v any) *regexp.Regexp {
	var text string
	if !read(p, at, v, &text) || text == "" {
		return nil
	}
	if kept := p.patterns[text]; kept != nil {
		return kept
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		p.fail(field.Invalid(at, text, fmt.Sprintf("must be a valid regular expression, but isn't: %v", err)))
		return nil
	}
	if p.patterns == nil {
		p.patterns = map[string]*regexp.Regexp{}
	}
	p.patterns[text] = compiled
	return compiled
}

// docs reads a keyword that does not restrict values.
func (p *parser) docs(at *field.Path, d *Docs, name string, v any) {
	switch name {
	case "title":
		read(p, at, v, &d.Title)
	case "example":
		d.Example = v
	case "externalDocs":
		d.External = true
		p.members(at, v, func(at *field.Path, name string, v any) {
			switch name {
			case "description":
				read(p, at, v, &d.URLDescription)
			case "url":
				read(p, at, v, &d.URL)
			default:
				p.refuse(at, name)
			}
		})
	}
}

// rules reads x-kubernetes-validations. It does not compile the expressions; scheme/cel/rules does.
func (p *parser) rules(at *field.Path, v any) []Rule {
	var list []any
	if !read(p, at, v, &list) {
		return nil
	}
	rules := make([]Rule, len(list))
	for i, each := range list {
		rule := &rules[i]
		p.members(at.Index(i), each, func(at *field.Path, name string, v any) {
			switch name {
			case "rule":
				read(p, at, v, &rule.Rule)
			case "message":
				read(p, at, v, &rule.Message)
			case "messageExpression":
				read(p, at, v, &rule.MessageExpression)
			case "reason":
				read(p, at, v, &rule.Reason)
			case "fieldPath":
				read(p, at, v, &rule.FieldPath)
			case "optionalOldSelf":
				rule.OptionalOldSelf = new(bool)
				read(p, at, v, rule.OptionalOldSelf)
			default:
				p.refuse(at, name)
			}
		})
	}
	return rules
}
