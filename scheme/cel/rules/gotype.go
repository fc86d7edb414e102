package rules

import (
	"context"
	"slices"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Rules in the tags of Go types (typeinfo): kinds of Kubernetes that have validation rules in their
// declaration are validated like custom resources. OfType turns the descriptor of a type into a
// schema and takes the rules from it.

// A TypeRules holds the rules in the tags of one Go type. It is safe for concurrent use.
type TypeRules struct {
	rules *Rules
}

// OfType returns the rules in the tags of a kind and of all types that it contains, nil if there
// are none. A type that contains itself is not followed again, because no structural schema can be
// recursive.
func OfType(t *typeinfo.Type) *TypeRules {
	if !inTags.Needs(t) {
		return nil
	}
	root := inlined(schema.FromType(t), nil)
	root.Resource = true
	// Of every resource, expressions see apiVersion, kind and the names in metadata: no schema is
	// needed for these.
	for _, head := range []string{"apiVersion", "kind", "metadata"} {
		delete(root.Properties, head)
	}
	if rules := Of(root, true); rules != nil {
		return &TypeRules{rules}
	}
	return nil
}

// inTags finds structs with rules in their tags.
var inTags = typeinfo.NewVisitor(func(t *typeinfo.Type) func(typeinfo.Pointer) {
	if len(t.Rules) > 0 || slices.ContainsFunc(t.Members, func(f *typeinfo.Field) bool { return len(f.Rules) > 0 }) {
		return func(typeinfo.Pointer) {}
	}
	return nil
})

// Validate runs the rules on an object. old is the object before an update, or nil. A field that
// JSON leaves out when it is empty does not exist for expressions, so has(self.field) asks whether
// it is set. A rule that was broken before the update is no error (ratcheting), as in custom
// resources. Validation ends early when ctx ends.
func (r *TypeRules) Validate(ctx context.Context, object, old meta.Typed) field.ErrorList {
	if r == nil {
		return nil
	}
	now, err := treeOf(object)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	var before any
	if old != nil {
		if before, err = treeOf(old); err != nil {
			return field.ErrorList{field.InternalError(nil, err)}
		}
	}
	return r.rules.Validate(ctx, nil, now, before, func(string) {})
}

// Err compiles all rules and returns what is wrong with them. Errors that appear only when a rule
// runs are reported for each object.
func (r *TypeRules) Err() error {
	if r == nil {
		return nil
	}
	return r.rules.root.mistakes(nil).ToAggregate()
}

// mistakes returns the errors of all rules in the node and below it.
func (n *node) mistakes(path *field.Path) (errs field.ErrorList) {
	all, err := n.compiled(nil)
	if err != nil {
		errs = append(errs, field.Invalid(path, n.schema.Type, err.Error()))
	}
	for i := range all {
		for _, err := range []error{all[i].err, all[i].messageErr} {
			if err != nil {
				errs = append(errs, field.Invalid(path, all[i].text(), err.Error()))
			}
		}
	}
	for _, f := range n.fields {
		errs = append(errs, f.node.mistakes(path.Child(f.name))...)
	}
	if n.item != nil {
		errs = append(errs, n.item.mistakes(path.Key("*"))...)
	}
	return errs
}

// treeOf returns an object as a tree of its JSON, without nulls: a nil value in Go is a missing
// one.
func treeOf(object meta.Typed) (map[string]any, error) {
	text, err := codec.AppendJSON(nil, object)
	if err != nil {
		return nil, err
	}
	tree, err := jsontext.Decode(text, nil)
	if err != nil {
		return nil, err
	}
	dropNulls(tree)
	return tree.(map[string]any), nil
}

// dropNulls removes the members of objects that are null, at all depths.
func dropNulls(tree any) {
	switch v := tree.(type) {
	case map[string]any:
		for name, held := range v {
			if held == nil {
				delete(v, name)
			} else {
				dropNulls(held)
			}
		}
	case []any:
		for _, held := range v {
			dropNulls(held)
		}
	}
}

// inlined returns the schema of a Go type in the form of a structural schema: with the schemas of
// its fields in place of references to them. over are the models that enclose it, to end a
// recursion.
func inlined(s *schema.Schema, over []*schema.Schema) *schema.Schema {
	t := s.Target()
	out := *t
	out.Name, out.Go, out.Limits = "", nil, limitsOf(s, t)
	out.Default, out.Nullable = nil, s.Nullable
	out.Enum, out.ListType, out.ListKeys = s.Enum, s.ListType, s.ListKeys
	if s.MapType != "" {
		out.MapType = s.MapType
	}
	if out.IntOrString = len(t.Types) > 0; out.IntOrString {
		out.Type, out.Format, out.Types = "", "", nil
	}
	if slices.Contains(over, t) {
		return &schema.Schema{Type: t.Type, PreserveUnknown: true}
	}
	over = append(over[:len(over):len(over)], t)
	if t.Items != nil {
		out.Items = inlined(t.Items, over)
	}
	if t.AdditionalProperties != nil {
		out.AdditionalProperties = inlined(t.AdditionalProperties, over)
	}
	if t.Properties != nil {
		out.Properties = make(map[string]*schema.Schema, len(t.Properties))
		for name, p := range t.Properties {
			out.Properties[name] = inlined(p, over)
		}
	}
	return &out
}

// limitsOf returns the limits of a schema that refers to a model, together with the rules of the
// model.
func limitsOf(referrer, model *schema.Schema) *schema.Limits {
	switch {
	case model.Limits == nil || model == referrer:
		return referrer.Limits
	case referrer.Limits == nil:
		return model.Limits
	}
	both := *referrer.Limits
	both.Rules = slices.Concat(model.Limits.Rules, referrer.Limits.Rules)
	return &both
}
