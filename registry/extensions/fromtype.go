package extensions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Definition makes the definition of a kind that is declared as a Go type, with the tags that
// package typeinfo explains: types holds the type of each version of spec, in its order. What spec
// leaves out is filled in: the schemas; the kind, which is the name of the first type, and names
// that follow from it; and the subresource status of types that have a field of that name, in
// versions whose Subresources are nil. The definition has been checked: a server accepts it.
//
//	def, err := extensions.Definition(apiextensionsv1.CustomResourceDefinitionSpec{
//		Group:    "ships.example.com",
//		Scope:    apiextensionsv1.NamespaceScoped,
//		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}},
//	}, &Ship{})
//
// Objects as the type writes them are judged as by its own checks. Where a client writes by hand
// there is one difference: JSON tells what is empty from what is not there, and a Go value does
// not. A required field has to be written, and limits hold for an empty value that is. An
// enumeration holds also if its tags leave that to functions.
func Definition(spec v1.CustomResourceDefinitionSpec, types ...meta.Object) (*v1.CustomResourceDefinition, error) {
	if len(types) == 0 || len(types) != len(spec.Versions) {
		return nil, fmt.Errorf("there are %d versions and %d types", len(spec.Versions), len(types))
	}
	setNames(&spec.Names, reflect.TypeOf(types[0]).Elem().Name())
	spec.Versions = slices.Clone(spec.Versions)
	for i := range spec.Versions {
		v := &spec.Versions[i]
		s, err := schemaOf(reflect.TypeOf(types[i]))
		if err != nil {
			return nil, fmt.Errorf("version %s: %w", v.Name, err)
		}
		if _, ok := s.Properties[statusField]; ok && v.Subresources == nil {
			v.Subresources = &v1.CustomResourceSubresources{Status: &v1.CustomResourceSubresourceStatus{}}
		}
		v.Schema = &v1.CustomResourceValidation{OpenAPIV3Schema: s}
	}
	def := &v1.CustomResourceDefinition{
		TypeMeta:   meta.TypeMeta{APIVersion: v1.GroupVersion.String(), Kind: "CustomResourceDefinition"},
		ObjectMeta: meta.ObjectMeta{Name: spec.Names.Plural + "." + spec.Group},
		Spec:       spec,
	}
	if def.Spec.Conversion == nil {
		def.Spec.Conversion = &v1.CustomResourceConversion{Strategy: v1.NoneConverter}
	}
	fresh := *def
	prepareDefinition(nil, &fresh, nil)
	return def, checkDefinition(context.Background(), &fresh, nil).ToAggregate()
}

// setNames fills in the names that are not set.
func setNames(n *v1.CustomResourceDefinitionNames, kind string) {
	fill := func(name *string, value string) {
		if *name == "" {
			*name = value
		}
	}
	fill(&n.Kind, kind)
	fill(&n.ListKind, n.Kind+"List")
	fill(&n.Singular, strings.ToLower(n.Kind))
	fill(&n.Plural, plural(n.Singular))
}

// plural is how Kubernetes guesses the plural of a name.
func plural(singular string) string {
	switch {
	case strings.HasSuffix(singular, "s"):
		return singular + "es"
	case strings.HasSuffix(singular, "y"):
		return strings.TrimSuffix(singular, "y") + "ies"
	}
	return singular + "s"
}

// WriteYAML writes definitions as documents of YAML, as one applies them. The same definitions are
// written the same way.
func WriteYAML(w io.Writer, definitions ...*v1.CustomResourceDefinition) error {
	for _, def := range definitions {
		text, err := codec.AppendJSON(nil, def)
		if err != nil {
			return err
		}
		tree, err := jsontext.Decode(text, nil)
		if err != nil {
			return err
		}
		delete(tree.(map[string]any), statusField)
		if text, err = jsontext.AppendTree(nil, tree, jsontext.Plain); err != nil {
			return err
		}
		if text, err = codec.AppendYAML([]byte("---\n"), text); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// schemaOf makes the schema of the objects of a Go type.
func schemaOf(t reflect.Type) (*v1.JSONSchemaProps, error) {
	if err := typeinfo.Register(t); err != nil {
		return nil, err
	}
	w := &schemaWriter{}
	out := w.properties(schema.FromType(typeinfo.Of(t)))
	for _, known := range []string{"apiVersion", "kind", "metadata"} { // which every object has
		delete(out.Properties, known)
		out.Required = slices.DeleteFunc(out.Required, func(name string) bool { return name == known })
	}
	return out, errors.Join(w.errs...)
}

// schemaWriter writes the schemas of Go types in the form that definitions have, in which a schema
// contains what it is made of.
type schemaWriter struct {
	way  []string         // of names, to where it is
	over []*schema.Schema // the models that it is in
	errs []error
}

func (w *schemaWriter) fail(format string, args ...any) {
	w.errs = append(w.errs, fmt.Errorf("%s: "+format, append([]any{strings.Join(w.way, ".")}, args...)...))
}

// place writes the schema of a field, element or entry called name.
func (w *schemaWriter) place(name string, s *schema.Schema) *v1.JSONSchemaProps {
	w.way = append(w.way, name)
	defer func() { w.way = w.way[:len(w.way)-1] }()
	t := s.Target()
	if slices.Contains(w.over, t) {
		w.fail("%s contains itself, which no schema can say", t.Name)
		return &v1.JSONSchemaProps{}
	}
	out := w.properties(t)
	if s.Description != "" {
		out.Description = s.Description
	}
	w.shape(out, s, t)
	w.enums(out, s)
	w.limits(out, s, t)
	w.presence(out, s, t)
	return out
}

// properties writes what a value is made of.
func (w *schemaWriter) properties(t *schema.Schema) *v1.JSONSchemaProps {
	w.over = append(w.over, t)
	defer func() { w.over = w.over[:len(w.over)-1] }()
	out := &v1.JSONSchemaProps{Description: t.Description, Type: t.Type, Format: t.Format}
	switch {
	case t.IntOrString || t.Types != nil:
		out.Type, out.Format, out.XIntOrString = "", "", true
	case t.PreserveUnknown:
		out.XPreserveUnknownFields = new(true)
	}
	if slices.Equal(t.Types, []string{schema.String, schema.Number}) {
		out.Pattern = quantityPattern
	}
	if t.Name != "" && t.Limits != nil { // rules of a struct stand with its model, wherever it is used
		addRules(out, t.Limits.Rules)
	}
	if t.Items != nil {
		out.Items = &v1.JSONSchemaPropsOrArray{Schema: w.place("[]", t.Items)}
	}
	if t.AdditionalProperties != nil {
		out.AdditionalProperties = &v1.JSONSchemaPropsOrBool{Allows: true,
			Schema: w.place("[]", t.AdditionalProperties)}
	}
	if len(t.Properties) == 0 {
		return out
	}
	out.Properties = make(map[string]v1.JSONSchemaProps, len(t.Properties))
	for _, name := range jsontext.Keys(t.Properties) {
		out.Properties[name] = *w.place(name, t.Properties[name])
	}
	for _, name := range t.Required {
		if out.Properties[name].Default == nil {
			out.Required = append(out.Required, name)
		}
	}
	slices.Sort(out.Required)
	w.immutable(out, t)
	return out
}

// quantityPattern is what the text of a quantity looks like.
const quantityPattern = `^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?[0-9]+))?$`

// shape writes what server-side apply has to know.
func (w *schemaWriter) shape(out *v1.JSONSchemaProps, s, t *schema.Schema) {
	if s.ListType != "" {
		out.XListType, out.XListMapKeys = &s.ListType, s.ListKeys
	}
	if s.MapType == "atomic" || s.MapType == "" && t.MapType == "atomic" {
		out.XMapType = new("atomic")
	}
}

func (w *schemaWriter) enums(out *v1.JSONSchemaProps, s *schema.Schema) {
	for _, value := range s.Enum {
		out.Enum = append(out.Enum, *w.json(value))
	}
}

// json writes a tree.
func (w *schemaWriter) json(tree any) *v1.JSON {
	raw, err := jsontext.AppendTree(nil, tree, jsontext.Plain)
	if err != nil {
		w.fail("%w", err)
	}
	return &v1.JSON{Raw: raw}
}

// presence writes what a value is if it is not written, and what may be written that says nothing.
// Of a declared default nobody can tell apart the zero value of what is no pointer, which needs
// none.
func (w *schemaWriter) presence(out *v1.JSONSchemaProps, s, t *schema.Schema) {
	zero := s.Default == nil || !s.Go.Pointer && isZero(s.Default)
	switch {
	case !zero:
		out.Default = w.json(s.Default)
	case !s.Go.Pointer && s.Default != nil && t.Properties != nil && len(out.Required) == 0 && hasDefaults(out):
		out.Default = &v1.JSON{Raw: []byte("{}")} // so that the defaults inside of it are found
	}
	switch {
	case s.Go.Required:
		w.nonempty(out, s, t)
	case s.Go.OmitEmpty || out.XPreserveUnknownFields != nil && out.Type == "":
	case s.Go.Pointer, t.Type == schema.Array, t.AdditionalProperties != nil, t.Format == "byte",
		t.Go != nil && t.Go.Custom && !out.XIntOrString:
		out.Nullable = !w.inside() // Go writes null for what is empty
	}
}

// inside reports whether the writer is at an element or entry.
func (w *schemaWriter) inside() bool { return w.way[len(w.way)-1] == "[]" }

func isZero(tree any) bool {
	object, ok := tree.(map[string]any)
	return ok && len(object) == 0 || tree == "" || tree == false || tree == int64(0)
}

// hasDefaults reports whether a field of an object has a default.
func hasDefaults(s *v1.JSONSchemaProps) bool {
	for _, f := range s.Properties {
		if f.Default != nil {
			return true
		}
	}
	return false
}

// nonempty refuses the values that are empty in Go, where a field must not be.
func (w *schemaWriter) nonempty(out *v1.JSONSchemaProps, s, t *schema.Schema) {
	one := func(limit **int64) {
		if *limit == nil || **limit < 1 {
			*limit = new(int64(1))
		}
	}
	switch {
	case t.Type == schema.Array:
		one(&out.MinItems)
	case t.AdditionalProperties != nil:
		one(&out.MinProperties)
	case s.Go.Pointer || out.XIntOrString:
	case t.Type == schema.String:
		one(&out.MinLength)
	case t.Type == schema.Boolean:
		out.Enum = []v1.JSON{{Raw: []byte("true")}}
	case out.Minimum != nil && *out.Minimum > 0 || out.Maximum != nil && *out.Maximum < 0:
	case t.Type == schema.Integer, t.Type == schema.Number:
		out.Not = &v1.JSONSchemaProps{Enum: []v1.JSON{{Raw: []byte("0")}}}
	case t.Properties != nil && len(out.Required) == 0:
		one(&out.MinProperties)
	}
}
