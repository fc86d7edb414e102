package extensions

import (
	"maps"
	"slices"
	"strings"

	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/cel/rules"
	"github.com/coracle-project/coracle/scheme/field"
)

// The rules that hold for every schema of a definition, structural or not. ValidateSchema
// (schema.go) calls check with the root; check walks all schemas below it in kube-apiserver's
// order, and calls schemalists.go and schemarules.go for each.

// openAPITypes are the types that a schema may have, sorted as the error lists them.
var openAPITypes = []string{"array", "boolean", "integer", "number", "object", "string"}

// schemaChecker holds the errors of one schema and the number of schemas compiled for it.
type schemaChecker struct {
	rules SchemaRules
	errs  field.ErrorList
	// ruleErrs are the errors about rules (x-kubernetes-validations) that do not compile or cost
	// too much. They come after errs.
	ruleErrs field.ErrorList
	compiled int // schemas compiled by described; at most maxDescribed
}

// position says where in the definition a schema stands, and what follows from the position.
type position struct {
	root     bool   // the schema describes the whole object
	meta     bool   // the schema describes apiVersion, kind or metadata of a resource, or is inside of these
	defaults bool   // a default is allowed
	where    string // if no default is allowed: the position, for the error
	// scope compiles the rules of the schema. It is nil where rules cannot be compiled: in a schema
	// that is not structural, and within combinations.
	scope *rules.Scope
	// unrelated is the path of the outermost list around the schema whose elements cannot be
	// matched with those of the old object, nil if there is none. Below it a rule must not use
	// oldSelf.
	unrelated *field.Path
}

// withoutDefaults returns at, with defaults forbidden. where completes the error "must not be set".
func (at position) withoutDefaults(where string) position {
	at.defaults, at.where = false, where
	return at
}

// fail collects an error, unless there are as many as an answer can hold.
func (c *schemaChecker) fail(err *field.Error) {
	if !c.errs.Full() {
		c.errs = append(c.errs, err)
	}
}

// check validates a schema and all schemas inside it. The order of the steps is the order of the
// errors. Rules are compiled only if the schema and everything inside it have no error.
func (c *schemaChecker) check(p *field.Path, s *v1.JSONSchemaProps, at position) {
	if s == nil || c.errs.Full() {
		return
	}
	errsBefore := len(c.errs)
	c.fields(p, s, at)
	inside := at
	inside.root, inside.scope = false, nil
	if more := s.AdditionalProperties; more != nil {
		if len(s.Properties) > 0 && (!more.Allows || more.Schema != nil) {
			c.fail(field.Forbidden(p.Child("additionalProperties"),
				"additionalProperties and properties are mutual exclusive"))
		}
		entries := inside
		if at.meta { // the keys of metadata's maps are not known, so a default could not be pruned
			entries = inside.withoutDefaults("inside additionalProperties applying to object metadata")
		}
		entries.scope = at.scope.Entries()
		c.check(p.Child("additionalProperties"), more.Schema, entries)
	}
	var f v1.JSONSchemaProps // declared once outside of the loop, because the type is large
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
	if at.scope != nil && len(c.errs) == errsBefore {
		c.compileRules(here, s, at)
	}
}

// list validates the schemas of a combination.
func (c *schemaChecker) list(p *field.Path, list []v1.JSONSchemaProps, at position) {
	for i := range list {
		c.check(p.Index(i), &list[i], at)
	}
}

// isHead reports whether name is a field that every resource has.
func isHead(name string) bool { return name == "apiVersion" || name == "kind" || name == "metadata" }

// fields validates the fields of one schema, without the schemas inside it.
func (c *schemaChecker) fields(p *field.Path, s *v1.JSONSchemaProps, at position) {
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
