package extensions

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp/syntax"
	"slices"

	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/field"
)

// The rules for structural schemas, called from validateStructure (schema.go) and
// setStructuralCondition (conditions.go). A structural schema has a skeleton, which gives each
// value one type, and combinations (allOf, anyOf, oneOf, not), which only narrow values that the
// skeleton describes. Two passes check this: value walks the skeleton, and complete looks for parts
// of the root's combinations that the skeleton lacks. Combinations below the root are not compared
// with the skeleton, as in kube-apiserver.

// validateStructural returns the violations of the rules for structural schemas. The errors are
// sorted by their text, because the order of a map's entries must not show.
func validateStructural(path *field.Path, s *v1.JSONSchemaProps) field.ErrorList {
	var c structure
	c.value(path, s, atRoot)
	c.complete(path, path, s, s)
	slices.SortStableFunc(c.errs, func(a, b *field.Error) int { return cmp.Compare(a.Error(), b.Error()) })
	return c.errs
}

// structure collects the violations. It stops when the list of errors is full.
type structure struct {
	errs    field.ErrorList
	pattern string // the last valid pattern; the same pattern often stands many times in a schema
}

func (c *structure) fail(err *field.Error) {
	if !c.errs.Full() {
		c.errs = append(c.errs, err)
	}
}

// level is the position of a schema in the skeleton. It decides the wording of errors, and the
// rules for the root.
type level int

const (
	atRoot level = iota
	ofElement
	ofField
)

// value validates a schema of the skeleton and all schemas below it.
func (c *structure) value(p *field.Path, s *v1.JSONSchemaProps, at level) {
	if c.errs.Full() {
		return
	}
	if s.Type == "array" && elementSchema(s) == nil {
		c.fail(field.Required(p.Child("items"), "must be specified"))
	}
	if items := elementSchema(s); items != nil {
		c.value(p.Child("items"), items, ofElement)
	}
	var name string
	var f v1.JSONSchemaProps // declared once outside of the loop, because the type is large
	for name, f = range s.Properties {
		c.value(p.Child("properties").Key(name), &f, ofField)
	}
	if more := s.AdditionalProperties; more != nil {
		if at == atRoot {
			c.fail(field.Forbidden(p.Child("additionalProperties"), "must not be used at the root"))
		}
		if more.Schema != nil {
			c.value(p.Child("additionalProperties"), more.Schema, ofField)
		}
	}
	c.typeOf(p, s, at)
	c.extensions(p, s)
	c.combinations(p, s, isIntOrString(s.AnyOf), len(s.AllOf) > 0 && isIntOrString(s.AllOf[0].AnyOf))
	c.head(p, s, at)
}

// extensions refuses extensions that contradict each other: a value that is an integer or a string
// is no object, an embedded resource has fixed fields, and it needs fields that are not pruned.
func (c *structure) extensions(p *field.Path, s *v1.JSONSchemaProps) {
	preserves := s.XPreserveUnknownFields != nil
	if s.XIntOrString && preserves {
		c.fail(field.Invalid(p.Child("x-kubernetes-preserve-unknown-fields"), true,
			"must be false if x-kubernetes-int-or-string is true"))
	}
	if s.XIntOrString && s.XEmbeddedResource {
		c.fail(field.Invalid(p.Child("x-kubernetes-embedded-resource"), true,
			"must be false if x-kubernetes-int-or-string is true"))
	}
	if s.XEmbeddedResource && s.AdditionalProperties != nil {
		c.fail(field.Forbidden(p.Child("additionalProperties"),
			"must not be used if x-kubernetes-embedded-resource is set"))
	}
	if s.XEmbeddedResource && !preserves && len(s.Properties) == 0 {
		c.fail(field.Required(p.Child("properties"),
			"must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"))
	}
}

// typeOf requires a schema of the skeleton to have a type. It may leave the type out if
// x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is set. The root and embedded
// resources are objects.
func (c *structure) typeOf(p *field.Path, s *v1.JSONSchemaProps, at level) {
	p = p.Child("type")
	switch {
	case s.XEmbeddedResource && s.Type == "":
		c.fail(field.Required(p, "must be object if x-kubernetes-embedded-resource is true"))
	case s.XEmbeddedResource && s.Type != "object":
		c.fail(field.Invalid(p, s.Type, "must be object if x-kubernetes-embedded-resource is true"))
	case s.Type != "" || s.XEmbeddedResource || s.XIntOrString || s.XPreserveUnknownFields != nil:
	case at == atRoot:
		c.fail(field.Required(p, "must not be empty at the root"))
	case at == ofElement:
		c.fail(field.Required(p, "must not be empty for specified array items"))
	default:
		c.fail(field.Required(p, "must not be empty for specified object fields"))
	}
	if at == atRoot && s.Type != "" && s.Type != "object" {
		c.fail(field.Invalid(p, s.Type, "must be object at the root"))
	}
}

// head validates the schemas of apiVersion, kind and metadata, where a resource or an embedded
// resource describes them. The server validates these fields itself, so at the root the schema of
// metadata may say only how name and generateName look.
func (c *structure) head(p *field.Path, s *v1.JSONSchemaProps, at level) {
	metadata, described := s.Properties["metadata"]
	here := p.Child("properties").Key("metadata")
	if at == atRoot || s.XEmbeddedResource {
		for _, name := range []string{"kind", "apiVersion"} {
			if f, ok := s.Properties[name]; ok && f.Type != "string" {
				c.fail(field.Invalid(p.Child("properties").Key(name).Child("type"), f.Type, "must be string"))
			}
		}
		if described && metadata.Type != "object" {
			c.fail(field.Invalid(here.Child("type"), metadata.Type, "must be object"))
		}
	}
	if at == atRoot && described && saysMore(metadata) {
		c.fail(field.Forbidden(here,
			"must not specify anything other than name and generateName, but metadata is implicitly specified"))
	}
}

// saysMore reports whether the schema of metadata says more than its type and the form of name and
// generateName. A default is no violation here, because validateDefaults refuses it.
func saysMore(metadata v1.JSONSchemaProps) bool {
	allowed := 0
	for _, name := range []string{"name", "generateName"} {
		if _, ok := metadata.Properties[name]; ok {
			allowed++
		}
	}
	if len(metadata.Properties) == allowed {
		metadata.Properties = nil
	}
	metadata.Default = nil
	return !saysOnlyType(metadata, metadata.Type)
}

// saysOnlyType reports whether a schema has a type and nothing else. Fields that structural schemas
// do not have are ignored, because foreignField refuses them. Lists without entries are ignored,
// too.
func saysOnlyType(s v1.JSONSchemaProps, typ string) bool {
	s.Ref, s.PatternProperties, s.Definitions, s.Dependencies = nil, nil, nil, nil
	for _, list := range []*[]v1.JSONSchemaProps{&s.AllOf, &s.AnyOf, &s.OneOf} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	if len(s.Enum) == 0 {
		s.Enum = nil
	}
	if s.Items != nil && s.Items.Schema == nil {
		s.Items = nil
	}
	return reflect.DeepEqual(s, v1.JSONSchemaProps{Type: typ})
}

// combinations validates the schemas in anyOf, allOf, oneOf and not of s, and the pattern of s. A
// value that is an integer or a string may say so in two forms: "anyOf: [{type: integer}, {type:
// string}]", or the same anyOf within the first schema of allOf. skipAnyOf and skipFirst say that s
// has the first or the second form, whose types are then allowed.
func (c *structure) combinations(p *field.Path, s *v1.JSONSchemaProps, skipAnyOf, skipFirst bool) {
	if !skipAnyOf {
		for i := range s.AnyOf {
			c.nested(p.Child("anyOf").Index(i), &s.AnyOf[i], false)
		}
	}
	for i := range s.AllOf {
		c.nested(p.Child("allOf").Index(i), &s.AllOf[i], skipFirst && i == 0)
	}
	for i := range s.OneOf {
		c.nested(p.Child("oneOf").Index(i), &s.OneOf[i], false)
	}
	if s.Not != nil {
		c.nested(p.Child("not"), s.Not, false)
	}
	if s.Pattern == "" || s.Pattern == c.pattern {
		return
	}
	if _, err := syntax.Parse(s.Pattern, syntax.Perl); err == nil {
		c.pattern = s.Pattern
	} else {
		c.fail(field.Invalid(p.Child("pattern"), s.Pattern,
			fmt.Sprintf("must be a valid regular expression, but isn't: %v", err)))
	}
}

// nested validates a schema within a combination. It must not have a type, a default, a description
// or an extension: these belong in the skeleton. skipAnyOf has the meaning that it has for
// combinations.
func (c *structure) nested(p *field.Path, s *v1.JSONSchemaProps, skipAnyOf bool) {
	if c.errs.Full() {
		return
	}
	c.combinations(p, s, skipAnyOf, false)
	if items := elementSchema(s); items != nil {
		c.nested(p.Child("items"), items, false)
	}
	var name string
	var f v1.JSONSchemaProps // declared once outside of the loop, because the type is large
	for name, f = range s.Properties {
		c.nested(p.Child("properties").Key(name), &f, false)
	}
	for _, wrong := range []struct {
		found      bool
		name, must string
	}{
		{s.Type != "", "type", "empty"},
		{s.AdditionalProperties != nil && (s.AdditionalProperties.Allows || s.AdditionalProperties.Schema != nil),
			"additionalProperties", "undefined"},
		{s.Default != nil, "default", "undefined"},
		{s.Title != "", "title", "empty"},
		{s.Description != "", "description", "empty"},
		{s.Nullable, "nullable", "false"},
		{s.XPreserveUnknownFields != nil, "x-kubernetes-preserve-unknown-fields", "false"},
		{s.XEmbeddedResource, "x-kubernetes-embedded-resource", "false"},
		{s.XIntOrString, "x-kubernetes-int-or-string", "false"},
		{len(s.XListMapKeys) > 0, "x-kubernetes-list-map-keys", "empty"},
		{s.XListType != nil, "x-kubernetes-list-type", "undefined"},
		{s.XMapType != nil, "x-kubernetes-map-type", "undefined"},
		{len(s.XValidations) > 0, "x-kubernetes-validations", "empty"},
	} {
		if wrong.found {
			c.fail(field.Forbidden(p.Child(wrong.name), "must be "+wrong.must+" to be structural"))
		}
	}
	if _, ok := s.Properties["metadata"]; ok {
		c.fail(field.Forbidden(p.Child("properties").Key("metadata"), "must not be specified in a nested context"))
	}
}

// complete requires the skeleton s to describe every field and element that the combinations of v
// describe. at is the path of s. from is the path of v, which errors name as the reason.
func (c *structure) complete(at, from *field.Path, s, v *v1.JSONSchemaProps) {
	if v.Not != nil {
		c.completeNested(at, from.Child("not"), s, v.Not)
	}
	for _, list := range []struct {
		name string
		of   []v1.JSONSchemaProps
	}{{"allOf", v.AllOf}, {"anyOf", v.AnyOf}, {"oneOf", v.OneOf}} {
		for i := range list.of {
			c.completeNested(at, from.Child(list.name).Index(i), s, &list.of[i])
		}
	}
}

// completeNested requires s to describe what v, a schema within a combination, describes. s is nil
// if the skeleton has no such part, which is the violation.
func (c *structure) completeNested(at, from *field.Path, s, v *v1.JSONSchemaProps) {
	if c.errs.Full() {
		return
	}
	if s == nil {
		c.fail(field.Required(at, "because it is defined in "+from.String()))
		return
	}
	c.complete(at, from, s, v)
	if items := elementSchema(v); items != nil {
		c.completeNested(at.Child("items"), from.Child("items"), elementSchema(s), items)
	}
	for name, f := range v.Properties {
		var outside *v1.JSONSchemaProps
		if found, ok := s.Properties[name]; ok {
			outside = &found
		}
		c.completeNested(at.Child("properties").Key(name), from.Child("properties").Key(name), outside, &f)
	}
}

// elementSchema returns the schema of the elements of a list. It is nil if s has none, or if s has
// a list of schemas, one for each position.
func elementSchema(s *v1.JSONSchemaProps) *v1.JSONSchemaProps {
	if s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

// isIntOrString reports whether anyOf is exactly the schemas of type integer and string, in this
// order.
func isIntOrString(anyOf []v1.JSONSchemaProps) bool {
	if len(anyOf) != 2 {
		return false
	}
	for i, typ := range []string{"integer", "string"} {
		s := anyOf[i]
		if more := s.AdditionalProperties; more != nil && !more.Allows && more.Schema == nil {
			s.AdditionalProperties = nil
		}
		if !saysOnlyType(s, typ) {
			return false
		}
	}
	return true
}
