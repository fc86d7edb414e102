package extensions

import (
	"reflect"
	"regexp"

	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/schema"
)

// CompileSchema returns what a definition says of the objects of a version as a schema of a resource. What no structural
// schema has is left out.
func CompileSchema(s *v1.JSONSchemaProps) *schema.Schema {
	out := new(compiler).schema(s)
	out.Resource = true
	return out
}

// compiler makes schemas of the form that definitions have.
type compiler struct {
	// literal leaves out that int-or-string says something about the type.
	literal bool
}

func (c *compiler) schema(s *v1.JSONSchemaProps) *schema.Schema {
	if s == nil {
		return nil
	}
	out := &schema.Schema{
		Description:      s.Description,
		Docs:             docsOf(s),
		Type:             s.Type,
		Format:           s.Format,
		Nullable:         s.Nullable,
		Required:         s.Required,
		Items:            c.schema(elementSchema(s)),
		Limits:           c.limits(s),
		EmbeddedResource: s.XEmbeddedResource,
		PreserveUnknown:  s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields,
		IntOrString:      s.XIntOrString && !c.literal,
		ListKeys:         s.XListMapKeys,
	}
	if s.XListType != nil {
		out.ListType = *s.XListType
	}
	if s.XMapType != nil {
		out.MapType = *s.XMapType
	}
	if len(s.Properties) > 0 {
		out.Properties = make(map[string]*schema.Schema, len(s.Properties))
		for name, f := range s.Properties {
			out.Properties[name] = c.schema(&f)
		}
	}
	switch more := s.AdditionalProperties; {
	case more == nil:
	case more.Schema != nil:
		out.AdditionalProperties = c.schema(more.Schema)
	default:
		out.AdditionalProperties = &schema.Schema{Forbidden: !more.Allows}
	}
	for i := range s.Enum {
		out.Enum = append(out.Enum, treeOf(&s.Enum[i]))
	}
	if out.Default = treeOf(s.Default); out.Default != nil && !c.literal {
		out.Prune(out.Default)
	}
	return out
}

// limits returns what a value has to fulfil beyond its type, nil for nothing.
func (c *compiler) limits(s *v1.JSONSchemaProps) *schema.Limits {
	l := schema.Limits{
		Minimum:          s.Minimum,
		Maximum:          s.Maximum,
		ExclusiveMinimum: s.ExclusiveMinimum,
		ExclusiveMaximum: s.ExclusiveMaximum,
		MultipleOf:       s.MultipleOf,
		MinLength:        s.MinLength,
		MaxLength:        s.MaxLength,
		MinItems:         s.MinItems,
		MaxItems:         s.MaxItems,
		UniqueItems:      s.UniqueItems,
		MinProperties:    s.MinProperties,
		MaxProperties:    s.MaxProperties,
		AllOf:            c.list(s.AllOf),
		AnyOf:            c.list(s.AnyOf),
		OneOf:            c.list(s.OneOf),
		Not:              c.schema(s.Not),
		Rules:            rulesOf(s.XValidations),
	}
	if s.Pattern != "" {
		l.Pattern, _ = regexp.Compile(s.Pattern) // an invalid one is refused by ValidateSchema
	}
	if reflect.ValueOf(l).IsZero() {
		return nil
	}
	return &l
}

func (c *compiler) list(list []v1.JSONSchemaProps) []*schema.Schema {
	var out []*schema.Schema
	for i := range list {
		out = append(out, c.schema(&list[i]))
	}
	return out
}

func rulesOf(rules v1.ValidationRules) []schema.Rule {
	var out []schema.Rule
	for _, r := range rules {
		rule := schema.Rule{Rule: r.Rule, Message: r.Message, MessageExpression: r.MessageExpression, FieldPath: r.FieldPath,
			OptionalOldSelf: r.OptionalOldSelf}
		if r.Reason != nil {
			rule.Reason = string(*r.Reason)
		}
		out = append(out, rule)
	}
	return out
}

func docsOf(s *v1.JSONSchemaProps) *schema.Docs {
	if s.Title == "" && s.Example == nil && s.ExternalDocs == nil {
		return nil
	}
	docs := &schema.Docs{Title: s.Title, Example: treeOf(s.Example)}
	if s.ExternalDocs != nil {
		docs.External, docs.URL, docs.URLDescription = true, s.ExternalDocs.URL, s.ExternalDocs.Description
	}
	return docs
}

// treeOf returns JSON as a tree, nil for none, for null, and for what is no JSON, which decoding a definition does not let pass.
func treeOf(j *v1.JSON) any {
	if j == nil || len(j.Raw) == 0 {
		return nil
	}
	tree, err := jsontext.Decode(j.Raw, nil)
	if err != nil {
		return nil
	}
	return tree
}
