package openapi

import (
	"reflect"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/schema"
)

// Writing schemas as JSON objects, in both versions. Members are written in the order of their
// names, so that equal schemas give equal bytes.
//
// A property that refers to a model and has a description of its own is, in version 2 and 3:
//
//	{"$ref":"#/definitions/M","description":"D"}
//	{"allOf":[{"$ref":"#/components/schemas/M"}],"description":"D"}

// schema writes the members of a schema. Version 3 allows no other member beside a reference, so a
// reference with other members is wrapped in allOf.
func (w *writer) schema(s *schema.Schema) {
	switch {
	case s.Model == nil:
		w.members(s)
	case !w.v3:
		w.str("$ref", v2Models+s.Model.Name)
		w.members(s)
	default:
		start := len(w.b)
		w.open("allOf", '[')
		w.open("", '{')
		w.str("$ref", v3Models+s.Model.Name)
		w.close('}')
		w.close(']')
		alone := len(w.b)
		if w.members(s); len(w.b) == alone {
			w.b = w.b[:start]
			w.str("$ref", v3Models+s.Model.Name)
		}
	}
}

// members writes everything a schema says but its reference. Some things are left out: for a Go
// type what Kubernetes does not publish for its own types (limits other than rules, and nullable),
// and in version 2 what it cannot express (defaults, null, alternatives of types).
func (w *writer) members(s *schema.Schema) {
	limits := s.Limits
	if limits == nil || s.Go != nil {
		limits = &schema.Limits{}
	}
	docs := s.Docs
	if docs == nil {
		docs = &schema.Docs{}
	}
	w.additional(s.AdditionalProperties)
	w.schemas("allOf", limits.AllOf)
	w.schemas("anyOf", limits.AnyOf)
	if w.v3 && s.Default != nil {
		w.tree("default", s.Default)
	}
	w.text("description", s.Description)
	w.trees("enum", s.Enum)
	if docs.Example != nil {
		w.tree("example", docs.Example)
	}
	w.flag("exclusiveMaximum", limits.ExclusiveMaximum)
	w.flag("exclusiveMinimum", limits.ExclusiveMinimum)
	w.externalDocs(docs)
	w.text("format", s.Format)
	if s.Items != nil {
		w.open("items", '{')
		w.schema(s.Items)
		w.close('}')
	}
	w.bounds(limits)
	if limits.Not != nil {
		w.open("not", '{')
		w.schema(limits.Not)
		w.close('}')
	}
	w.flag("nullable", w.v3 && s.Nullable && s.Go == nil)
	w.schemas("oneOf", limits.OneOf)
	if w.v3 {
		w.types(s.Types)
	}
	if limits.Pattern != nil {
		w.str("pattern", limits.Pattern.String())
	}
	w.properties(s.Properties)
	w.strs("required", s.Required)
	w.text("title", docs.Title)
	if !w.v3 || len(s.Types) == 0 {
		w.text("type", s.Type)
	}
	w.flag("uniqueItems", limits.UniqueItems)
	w.extensions(s)
}

// additional writes additionalProperties: true for a schema that allows everything, false for one
// that allows nothing.
func (w *writer) additional(s *schema.Schema) {
	switch {
	case s == nil:
	case s.Forbidden:
		w.boolean("additionalProperties", false)
	case saysNothing(s):
		w.boolean("additionalProperties", true)
	default:
		w.open("additionalProperties", '{')
		w.schema(s)
		w.close('}')
	}
}

// saysNothing reports whether a schema allows any value.
func saysNothing(s *schema.Schema) bool { return reflect.ValueOf(s).Elem().IsZero() }

// properties writes the properties unless there are none.
func (w *writer) properties(properties map[string]*schema.Schema) {
	if len(properties) == 0 {
		return
	}
	w.open("properties", '{')
	for _, name := range jsontext.Keys(properties) {
		w.member(name)
		w.schema(properties[name])
		w.close('}')
	}
	w.close('}')
}

// schemas writes a list of schemas unless it is empty.
func (w *writer) schemas(key string, list []*schema.Schema) {
	if len(list) == 0 {
		return
	}
	w.open(key, '[')
	for _, s := range list {
		w.open("", '{')
		w.schema(s)
		w.close('}')
	}
	w.close(']')
}

// types writes oneOf with one schema for each type, unless there are no types.
func (w *writer) types(types []string) {
	if len(types) == 0 {
		return
	}
	w.open("oneOf", '[')
	for _, typ := range types {
		w.open("", '{')
		w.str("type", typ)
		w.close('}')
	}
	w.close(']')
}

// bounds writes the limits that are numbers.
func (w *writer) bounds(l *schema.Limits) {
	count := func(key string, n *int64) {
		if n != nil {
			w.tree(key, *n)
		}
	}
	number := func(key string, f *float64) {
		if f != nil {
			w.tree(key, *f)
		}
	}
	count("maxItems", l.MaxItems)
	count("maxLength", l.MaxLength)
	count("maxProperties", l.MaxProperties)
	number("maximum", l.Maximum)
	count("minItems", l.MinItems)
	count("minLength", l.MinLength)
	count("minProperties", l.MinProperties)
	number("minimum", l.Minimum)
	number("multipleOf", l.MultipleOf)
}

// externalDocs writes the link to external documentation, if there is one.
func (w *writer) externalDocs(d *schema.Docs) {
	if !d.External {
		return
	}
	w.open("externalDocs", '{')
	w.text("description", d.URLDescription)
	w.text("url", d.URL)
	w.close('}')
}

// extensions writes the keywords of Kubernetes.
func (w *writer) extensions(s *schema.Schema) {
	w.flag("x-kubernetes-embedded-resource", s.EmbeddedResource && s.Go == nil)
	if len(s.Kinds) > 0 {
		w.open(kindsKey, '[')
		for _, kind := range s.Kinds {
			w.kind("", kind)
		}
		w.close(']')
	}
	w.flag("x-kubernetes-int-or-string", s.IntOrString && s.Go == nil)
	w.strs("x-kubernetes-list-map-keys", s.ListKeys)
	w.text("x-kubernetes-list-type", s.ListType)
	w.text("x-kubernetes-map-type", s.MapType)
	w.text("x-kubernetes-patch-merge-key", s.PatchMergeKey)
	w.text("x-kubernetes-patch-strategy", s.PatchStrategy)
	w.flag("x-kubernetes-preserve-unknown-fields", s.PreserveUnknown && s.Go == nil)
	if s.Docs != nil {
		w.selectable(s.Docs.Selectable)
	}
	w.union(s.Union)
	if s.Limits != nil {
		w.rules("x-kubernetes-validations", s.Limits.Rules)
	}
}

// selectable writes the fields that field selectors may name, unless there are none.
func (w *writer) selectable(paths []string) {
	if len(paths) == 0 {
		return
	}
	w.open("x-kubernetes-selectable-fields", '[')
	for _, path := range paths {
		w.open("", '{')
		w.str("fieldPath", path)
		w.close('}')
	}
	w.close(']')
}

// union writes a list of one union, unless u is nil.
func (w *writer) union(u *schema.Union) {
	if u == nil {
		return
	}
	w.open("x-kubernetes-unions", '[')
	w.open("", '{')
	w.text("discriminator", u.Discriminator)
	w.open("fields-to-discriminateBy", '{')
	for _, name := range jsontext.Keys(u.Members) {
		w.str(name, u.Members[name])
	}
	w.close('}')
	w.close('}')
	w.close(']')
}

// rules writes validation rules, unless there are none.
func (w *writer) rules(key string, rules []schema.Rule) {
	if len(rules) == 0 {
		return
	}
	w.open(key, '[')
	for _, r := range rules {
		w.open("", '{')
		w.text("fieldPath", r.FieldPath)
		w.text("message", r.Message)
		w.text("messageExpression", r.MessageExpression)
		if r.OptionalOldSelf != nil {
			w.boolean("optionalOldSelf", *r.OptionalOldSelf)
		}
		w.text("reason", r.Reason)
		w.str("rule", r.Rule)
		w.close('}')
	}
	w.close(']')
}
