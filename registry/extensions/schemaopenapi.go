package extensions

import (
	"maps"
	"slices"
	"strings"

	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/cel/rules"
	"github.com/coracle-project/coracle/scheme/field"
)

var openAPITypes = []string{"array", "boolean", "integer", "number", "object", "string"}

// schemaChecker applies the rules that hold for every schema, structural or not.
type schemaChecker struct {
	rules SchemaRules
	errs  field.ErrorList
	// ruleErrs say that rules (x-kubernetes-validations) do not compile or cost too much. They come
	// after the others.
	ruleErrs field.ErrorList
	made     int // schemas, for the sake of paths in rules (described)
}

// place says where a schema stands.
type place struct {
	root     bool
	meta     bool   // in what describes apiVersion, kind or metadata of a resource
	defaults bool   // defaults are allowed
	where    string // why they are not
	// scope is what rules are judged by, nil where that cannot be done; unrelated is the outermost
	// list whose elements cannot be told from those of before, so that rules cannot ask for these.
	scope     *rules.Scope
	unrelated *field.Path
}

func (at place) withoutDefaults(where string) place {
	at.defaults, at.where = false, where
	return at
}

func (c *schemaChecker) fail(err *field.Error) {
	if !c.errs.Full() {
		c.errs = append(c.errs, err)
	}
}

// check judges a schema and all that are inside it.
func (c *schemaChecker) check(p *field.Path, s *v1.JSONSchemaProps, at place) {
	if s == nil || c.errs.Full() {
		return
	}
	known := len(c.errs)
	c.fields(p, s, at)
	inside := at
	inside.root, inside.scope = false, nil
	if more := s.AdditionalProperties; more != nil {
		if len(s.Properties) > 0 && (!more.Allows || more.Schema != nil) {
			c.fail(field.Forbidden(p.Child("additionalProperties"),
				"additionalProperties and properties are mutual exclusive"))
		}
		entries := inside
		if at.meta { // what of a default would be pruned cannot be told without the key
			entries = inside.withoutDefaults("inside additionalProperties applying to object metadata")
		}
		entries.scope = at.scope.Entries()
		c.check(p.Child("additionalProperties"), more.Schema, entries)
	}
	var f v1.JSONSchemaProps // one for all: it is large
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		below := inside
		f = s.Properties[name]
		if (at.root || s.XEmbeddedResource) && isHead(name) {
			below.meta = true
			if at.root {
				below = below.withoutDefaults("in top-level " + name)
			}
		}
		below.scope = at.scope.Field(name)
		c.check(p.Child("properties").Key(name), &f, below)
	}
	c.check(p.Child("not"), s.Not, inside)
	c.list(p.Child("allOf"), s.AllOf, inside)
	c.list(p.Child("oneOf"), s.OneOf, inside)
	c.list(p.Child("anyOf"), s.AnyOf, inside)
	for _, name := range slices.Sorted(maps.Keys(s.Definitions)) {
		d := s.Definitions[name]
		c.check(p.Child("definitions").Key(name), &d, inside)
	}
	if s.Items != nil {
		element := inside
		element.scope = at.scope.Items()
		if (s.XListType == nil || *s.XListType != "map") && at.unrelated == nil {
			element.unrelated = p
		}
		c.check(p.Child("items"), s.Items.Schema, element)
		c.list(p.Child("items"), s.Items.JSONSchemas, inside)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Dependencies)) {
		c.check(p.Child("dependencies").Key(name), s.Dependencies[name].Schema, inside)
	}
	if s.XPreserveUnknownFields != nil && !*s.XPreserveUnknownFields {
		c.fail(field.Invalid(p.Child("x-kubernetes-preserve-unknown-fields"), false, "must be true or undefined"))
	}
	c.mapAndListType(p, s)
	if s.XListType != nil && *s.XListType == "map" {
		c.listMap(p, s)
	}
	if c.rules.ListKeys {
		c.errs = append(c.errs, validateListKeys(p, s)...)
	}
	if len(s.XValidations) == 0 {
		return
	}
	here := p.Child("x-kubernetes-validations")
	c.validations(here, s, at)
	if at.scope != nil && len(c.errs) == known {
		c.compileRules(here, s, at)
	}
}

func (c *schemaChecker) list(p *field.Path, list []v1.JSONSchemaProps, at place) {
	for i := range list {
		c.check(p.Index(i), &list[i], at)
	}
}

// isHead reports whether a field is one that every resource has.
func isHead(name string) bool { return name == "apiVersion" || name == "kind" || name == "metadata" }

// fields judges the single fields of a schema.
func (c *schemaChecker) fields(p *field.Path, s *v1.JSONSchemaProps, at place) {
	if c.rules.Types && hasUnknownType(s) {
		c.fail(field.NotSupported(p.Child("type"), s.Type, openAPITypes))
	}
	if s.Default != nil && !at.defaults {
		c.fail(field.Forbidden(p.Child("default"), strings.TrimSpace("must not be set "+at.where)))
	}
	for _, wrong := range []struct {
		found        bool
		name, detail string
	}{
		{s.ID != "", "id", "id is not supported"},
		{s.AdditionalItems != nil, "additionalItems", "additionalItems is not supported"},
		{len(s.PatternProperties) > 0, "patternProperties", "patternProperties is not supported"},
		{len(s.Definitions) > 0, "definitions", "definitions is not supported"},
		{s.Dependencies != nil, "dependencies", "dependencies is not supported"},
		{s.Ref != nil, "$ref", "$ref is not supported"},
		{s.Type == "null", "type", "type cannot be set to null, use nullable as an alternative"},
		{s.Items != nil && len(s.Items.JSONSchemas) > 0, "items", "items must be a schema object and not an array"},
		{at.meta && s.XEmbeddedResource, "x-kubernetes-embedded-resource", "must not be used inside of resource meta"},
		{s.UniqueItems, "uniqueItems",
			"uniqueItems cannot be set to true since the runtime complexity becomes quadratic"},
	} {
		if wrong.found {
			c.fail(field.Forbidden(p.Child(wrong.name), wrong.detail))
		}
	}
}
