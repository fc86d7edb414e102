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

// A TypeRules are the rules in the tags of a Go type (package typeinfo). They may be used by many goroutines.
type TypeRules struct {
	rules *Rules
}

// OfType returns the rules in the tags of a type of resources and of all that it holds, nil if there are none. Within itself a type
// is not looked into: no schema can say that.
func OfType(t *typeinfo.Type) *TypeRules {
	if !inTags.Needs(t) {
		return nil
	}
	root := inlined(schema.FromType(t), nil)
	root.Resource = true
	for _, head := range []string{"apiVersion", "kind", "metadata"} { // expressions see the names in it, of every resource
		delete(root.Properties, head)
	}
	if rules := Of(root, true); rules != nil {
		return &TypeRules{rules}
	}
	return nil
}

// inTags finds structs with rules.
var inTags = typeinfo.NewVisitor(func(t *typeinfo.Type) func(typeinfo.Pointer) {
	if len(t.Rules) > 0 || slices.ContainsFunc(t.Members, func(f *typeinfo.Field) bool { return len(f.Rules) > 0 }) {
		return func(typeinfo.Pointer) {}
	}
	return nil
})

// Validate judges an object of the type; old is the one before an update, or nil. A field that is left out when it is empty is not
// there for expressions then, as for those of a definition: has(self.field) asks. What breaks a rule and was so before is no error, as
// in custom resources. ctx ends the work early.
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

// Err compiles the rules and returns what is wrong with them. What is not found so is said of each object.
func (r *TypeRules) Err() error {
	if r == nil {
		return nil
	}
	return r.rules.root.mistakes(nil).ToAggregate()
}

func (n *node) mistakes(path *field.Path) (errs field.ErrorList) {
	all, err := n.compiled()
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

// treeOf returns an object as JSON shows it, without what is null: in Go that is what is not there.
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

// inlined returns the schema of a Go type as definitions have them, in which a schema contains what it is made of. over are the
// models that it is in.
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

// limitsOf are the limits of a place, with the rules of the model that stands there.
func limitsOf(place, model *schema.Schema) *schema.Limits {
	switch {
	case model.Limits == nil || model == place:
		return place.Limits
	case place.Limits == nil:
		return model.Limits
	}
	both := *place.Limits
	both.Rules = slices.Concat(model.Limits.Rules, place.Limits.Rules)
	return &both
}
