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

// Definitions from Go types, for programs that bring kinds of their own as Go types and want them
// served as custom resources. Definition is called by such programs (cmd/wardle), never by the
// server. The limits and formats of values are in fromtypelimits.go.

// Definition makes the definition of a kind that is declared as a Go type, with the tags that
// package typeinfo explains. types holds a pointer to the type of each version of spec, in the
// order of the versions; what it points to is not read. Definition validates the result, so a
// server accepts it.
//
// It sets the schemas of all versions, and replaces those that spec has. It fills in what spec
// leaves out: the kind, which is the name of the first type, and the names that follow from the
// kind; the conversion strategy None; and the subresource status in versions whose Subresources are
// nil and whose type has a field status.
//
//	def, err := extensions.Definition(apiextensionsv1.CustomResourceDefinitionSpec{
//		Group: "ships.example.com",
//		Scope: apiextensionsv1.NamespaceScoped,
//		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
//			{Name: "v1", Served: true, Storage: true},
//		},
//	}, &Ship{})
//
// An object that the Go type encoded is valid by the schema exactly if it passes the checks of the
// type. JSON that a client writes by hand can differ in one way: JSON distinguishes an empty value
// from a missing one, and a Go value does not. So a required field has to be written, and limits
// apply to an empty value that is written. The schema contains every enumeration, even one that the
// tags do not check because a Go function does.
func Definition(spec v1.CustomResourceDefinitionSpec, types ...meta.Object) (*v1.CustomResourceDefinition, error) {
	if len(types) == 0 || len(types) != len(spec.Versions) {
		return nil, fmt.Errorf("the spec has %d versions, but %d types were given; give one type for each version",
			len(spec.Versions), len(types))
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
	fresh := *def // with the status that the server sets; def has none
	prepareDefinition(nil, &fresh, nil)
	return def, checkDefinition(context.Background(), &fresh, nil).ToAggregate()
}

// setNames sets the names that are empty from the kind, as kube-apiserver's defaults do, and the
// plural.
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

// plural guesses the plural of a name by the rules of Kubernetes' UnsafeGuessKindToResource.
func plural(singular string) string {
	switch {
	case strings.HasSuffix(singular, "s"):
		return singular + "es"
	case strings.HasSuffix(singular, "y"):
		return strings.TrimSuffix(singular, "y") + "ies"
	}
	return singular + "s"
}

// WriteYAML writes definitions as YAML documents, without their statuses, for a client that applies
// them. The output depends only on the definitions.
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

// schemaOf returns the schema of the objects of a Go type. It leaves apiVersion, kind and metadata
// out, which the server validates itself.
func schemaOf(t reflect.Type) (*v1.JSONSchemaProps, error) {
	if err := typeinfo.Register(t); err != nil {
		return nil, err
	}
	w := &schemaWriter{}
	out := w.typeSchema(schema.FromType(typeinfo.Of(t)))
	for _, name := range []string{"apiVersion", "kind", "metadata"} { // which every object has
		delete(out.Properties, name)
		out.Required = slices.DeleteFunc(out.Required, func(required string) bool { return required == name })
	}
	return out, errors.Join(w.errs...)
}

// schemaWriter converts the schemas of Go types, which refer to one another, to the form of
// definitions, in which each schema contains the schemas of its fields.
type schemaWriter struct {
	path      []string         // names on the way to the present schema, for errors; "[]" is an element or entry
	enclosing []*schema.Schema // the schemas around the present one, to find a type that contains itself
	errs      []error
}

// fail collects an error about the present field.
func (w *schemaWriter) fail(format string, args ...any) {
	w.errs = append(w.errs, fmt.Errorf("%s: "+format, append([]any{strings.Join(w.path, ".")}, args...)...))
}

// useOf returns the schema of the field called name, or of an element or entry if name is "[]". s
// is how the field uses a type; its Target is the type.
func (w *schemaWriter) useOf(name string, s *schema.Schema) *v1.JSONSchemaProps {
	w.path = append(w.path, name)
	defer func() { w.path = w.path[:len(w.path)-1] }()
	t := s.Target()
	if slices.Contains(w.enclosing, t) {
		w.fail("%s contains itself, which a schema cannot express", t.Name)
		return &v1.JSONSchemaProps{}
	}
	out := w.typeSchema(t)
	if s.Description != "" {
		out.Description = s.Description
	}
	w.shape(out, s, t)
	w.enums(out, s)
	w.limits(out, s, t)
	w.presence(out, s, t)
	return out
}

// typeSchema returns the schema of a type: its fields, elements or entries, without anything that
// depends on where the type is used.
func (w *schemaWriter) typeSchema(t *schema.Schema) *v1.JSONSchemaProps {
	w.enclosing = append(w.enclosing, t)
	defer func() { w.enclosing = w.enclosing[:len(w.enclosing)-1] }()
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
	// The rules of a struct apply wherever the struct is used.
	if t.Name != "" && t.Limits != nil { // the rules of a struct apply wherever the struct is used
		addRules(out, t.Limits.Rules)
	}
	if t.Items != nil {
		out.Items = &v1.JSONSchemaPropsOrArray{Schema: w.useOf("[]", t.Items)}
	}
	if t.AdditionalProperties != nil {
		out.AdditionalProperties = &v1.JSONSchemaPropsOrBool{Allows: true,
			Schema: w.useOf("[]", t.AdditionalProperties)}
	}
	if len(t.Properties) == 0 {
		return out
	}
	out.Properties = make(map[string]v1.JSONSchemaProps, len(t.Properties))
	for _, name := range jsontext.Keys(t.Properties) {
		out.Properties[name] = *w.useOf(name, t.Properties[name])
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

// quantityPattern matches the text of a resource.Quantity, such as 100m or 1.5Gi.
const quantityPattern = `^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?[0-9]+))?$`

// shape sets the type of the list or map, by which server-side apply merges it.
func (w *schemaWriter) shape(out *v1.JSONSchemaProps, s, t *schema.Schema) {
	if s.ListType != "" {
		out.XListType, out.XListMapKeys = &s.ListType, s.ListKeys
	}
	if s.MapType == "atomic" || s.MapType == "" && t.MapType == "atomic" {
		out.XMapType = new("atomic")
	}
}

// enums sets the values of an enumeration.
func (w *schemaWriter) enums(out *v1.JSONSchemaProps, s *schema.Schema) {
	for _, value := range s.Enum {
		out.Enum = append(out.Enum, *w.json(value))
	}
}

// json encodes a tree.
func (w *schemaWriter) json(tree any) *v1.JSON {
	raw, err := jsontext.AppendTree(nil, tree, jsontext.Plain)
	if err != nil {
		w.fail("%w", err)
	}
	return &v1.JSON{Raw: raw}
}

// presence decides what a missing value means: it sets the default, whether the value may be null,
// and by nonempty whether it may be empty. A default that is the zero value of a field without a
// pointer is left out, because Go cannot distinguish it from a missing value.
func (w *schemaWriter) presence(out *v1.JSONSchemaProps, s, t *schema.Schema) {
	zero := s.Default == nil || !s.Go.Pointer && isZero(s.Default)
	switch {
	case !zero:
		out.Default = w.json(s.Default)
	case !s.Go.Pointer && s.Default != nil && t.Properties != nil && len(out.Required) == 0 && hasDefaults(out):
		out.Default = &v1.JSON{Raw: []byte("{}")} // so that the server sets the defaults inside the object
	}
	switch {
	case s.Go.Required:
		w.nonempty(out, s, t)
	case s.Go.OmitEmpty || out.XPreserveUnknownFields != nil && out.Type == "":
	case s.Go.Pointer, t.Type == schema.Array, t.AdditionalProperties != nil, t.Format == "byte",
		t.Go != nil && t.Go.Custom && !out.XIntOrString:
		out.Nullable = !w.inside() // Go encodes nil as null here
	}
}

// inside reports whether the present schema is that of an element or entry, which cannot be null.
func (w *schemaWriter) inside() bool { return w.path[len(w.path)-1] == "[]" }

// isZero reports whether a tree is what a Go zero value encodes to.
func isZero(tree any) bool {
	object, ok := tree.(map[string]any)
	return ok && len(object) == 0 || tree == "" || tree == false || tree == int64(0)
}

// hasDefaults reports whether a field of s has a default.
func hasDefaults(s *v1.JSONSchemaProps) bool {
	for _, f := range s.Properties {
		if f.Default != nil {
			return true
		}
	}
	return false
}

// nonempty refuses the zero value of the field's Go type, because the field is required. How it
// does so depends on the type: a least length or number, an enumeration of true, or "not: {enum:
// [0]}".
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
