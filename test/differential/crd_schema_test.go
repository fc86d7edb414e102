package differential

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/extensions"
	oursv1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	oursfield "github.com/coracle-project/coracle/scheme/field"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// schemaPath is where the schema stands in a definition with one version, as Kubernetes keeps it.
const schemaPath = "spec.validation.openAPIV3Schema"

// TestPublishedSchemas has both sides judge definitions that people install: unchanged, and with
// changes.
func TestPublishedSchemas(t *testing.T) {
	rnd := random("published schemas")
	judged, refused := 0, 0
	for _, crd := range publishedDefinitions(t) {
		for i := range crd.Spec.Versions {
			v := &crd.Spec.Versions[i]
			if v.Schema == nil {
				continue
			}
			s, name := v.Schema.OpenAPIV3Schema, crd.Name+" "+v.Name
			status := v.Subresources != nil && v.Subresources.Status != nil
			if errs := compareSchemas(t, name, s, nil, status); len(errs) > 0 {
				t.Errorf("%s is refused: %q", name, errs)
			}
			for range times(1) {
				changed := changeSchema(t, rnd, s, 1+rnd.IntN(3))
				judged++
				if len(compareSchemas(t, name, changed, nil, status)) > 0 {
					refused++
				}
			}
		}
	}
	t.Logf("%d changed schemas, %d of them refused", judged, refused)
}

// TestRandomSchemas has both sides judge random schemas, as new ones and as updates of each other.
func TestRandomSchemas(t *testing.T) {
	rnd := random("random schemas")
	refused := 0
	n := times(6000)
	for i := range n {
		s := changeSchema(t, rnd, propsOf(t, randomSchema(rnd, 0)), rnd.IntN(4))
		old := changeSchema(t, rnd, s, rnd.IntN(3))
		if len(compareSchemas(t, fmt.Sprint("schema ", i), s, nil, rnd.IntN(3) == 0)) > 0 {
			refused++
		}
		compareSchemas(t, fmt.Sprint("update ", i), s, old, rnd.IntN(3) == 0)
		if t.Failed() {
			break
		}
	}
	t.Logf("%d of %d refused", refused, n)
}

// compareSchemas has both sides judge a schema, and returns the errors. Kubernetes visits the
// fields of a default in random order and reports the first error, so compareSchemas asks it again
// while the two differ.
func compareSchemas(t *testing.T, what string, s, old *crdv1.JSONSchemaProps, status bool) []string {
	t.Helper()
	ours := ourSchemaErrors(s, old, status)
	var theirs []string
	for range 100 {
		var ok bool
		if theirs, ok = theirSchemaErrors(t, s, old, status); !ok {
			return nil
		}
		if slices.EqualFunc(ours, theirs, sameText) {
			return theirs
		}
	}
	text, _ := json.Marshal(s)
	before, _ := json.Marshal(old)
	t.Errorf("%s, status %v:%s\n schema: %.3000s\n old: %.2000s", what, status, errorsDiffer(theirs, ours), text, before)
	return theirs
}

// theirSchemaErrors are the errors of Kubernetes. ok is false if it panics, as it does if the
// fieldPath of a rule leads into an additionalProperties that is true, below a default.
func theirSchemaErrors(t *testing.T, s, old *crdv1.JSONSchemaProps, status bool) (out []string, ok bool) {
	t.Helper()
	defer func() {
		if recover() != nil {
			out, ok = nil, false
		}
	}()
	var errs field.ErrorList
	if old == nil {
		errs = validation.ValidateCustomResourceDefinition(context.Background(), definitionOf(t, s, status))
	} else {
		errs = validation.ValidateCustomResourceDefinitionUpdate(context.Background(), definitionOf(t, s, status), definitionOf(t, old, status))
	}
	for _, err := range errs {
		if strings.HasPrefix(err.Field, "spec.validation") {
			out = append(out, schemaError(err.Type, err.Field, err.ErrorBody()))
		}
	}
	slices.Sort(out)
	return out, true
}

func ourSchemaErrors(s, old *crdv1.JSONSchemaProps, status bool) []string {
	spec := ourSpec(s)
	var before *oursv1.CustomResourceDefinitionSpec
	if old != nil {
		before = ourSpec(old)
	}
	path := oursfield.NewPath("spec", "validation", "openAPIV3Schema")
	rules := extensions.RulesFor(spec, before)
	rules.RuleCost = !reflect.DeepEqual(s, old)
	var out []string
	for _, err := range extensions.ValidateSchema(context.Background(), path, spec.Versions[0].Schema.OpenAPIV3Schema, status, rules) {
		out = append(out, schemaError(err.Type, err.Field, err.Body()))
	}
	slices.Sort(out)
	return out
}

// wholeValue finds values that are whole schemas, because Kubernetes prints their internal form.
var wholeValue = regexp.MustCompile(`(?s)Invalid value: .*(: only \[Description|: must only have a single)`)

// nameOfSelf finds the name of self's type, which differs each time.
var nameOfSelf = regexp.MustCompile(`selfType[0-9]+`)

func schemaError[T fmt.Stringer](typ T, path, body string) string {
	body = wholeValue.ReplaceAllString(body, "Invalid value$1")
	return fmt.Sprint(typ, " ", path, " ", nameOfSelf.ReplaceAllString(body, "selfType"))
}

// definitionOf is a definition of theirs with a schema. Everything else in it is right.
func definitionOf(t *testing.T, s *crdv1.JSONSchemaProps, status bool) *apiextensions.CustomResourceDefinition {
	t.Helper()
	var in apiextensions.JSONSchemaProps
	if err := crdv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(s.DeepCopy(), &in, nil); err != nil {
		t.Fatal(err)
	}
	crd := &apiextensions.CustomResourceDefinition{}
	crd.Name, crd.ResourceVersion = "widgets.example.com", "1"
	no := false
	crd.Spec = apiextensions.CustomResourceDefinitionSpec{
		Group: "example.com", Version: "v1", Scope: apiextensions.NamespaceScoped, PreserveUnknownFields: &no,
		Names:      apiextensions.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"},
		Versions:   []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}},
		Validation: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &in},
		Conversion: &apiextensions.CustomResourceConversion{Strategy: apiextensions.NoneConverter},
	}
	if status {
		crd.Spec.Subresources = &apiextensions.CustomResourceSubresources{Status: &apiextensions.CustomResourceSubresourceStatus{}}
	}
	crd.Status.StoredVersions = []string{"v1"}
	return crd
}

func ourSpec(s *crdv1.JSONSchemaProps) *oursv1.CustomResourceDefinitionSpec {
	return &oursv1.CustomResourceDefinitionSpec{Versions: []oursv1.CustomResourceDefinitionVersion{{Name: "v1",
		Schema: &oursv1.CustomResourceValidation{OpenAPIV3Schema: ourProps(s)}}}}
}

// ourProps is a schema of theirs as one of ours: the types have the same fields.
func ourProps(s *crdv1.JSONSchemaProps) *oursv1.JSONSchemaProps {
	out := &oursv1.JSONSchemaProps{}
	copyFields(reflect.ValueOf(out).Elem(), reflect.ValueOf(s).Elem())
	return out
}

func copyFields(to, from reflect.Value) {
	switch from.Kind() {
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(to.Type().Elem()))
			copyFields(to.Elem(), from.Elem())
		}
	case reflect.Struct:
		for i := range from.NumField() {
			copyFields(to.FieldByName(from.Type().Field(i).Name), from.Field(i))
		}
	case reflect.Slice:
		if !from.IsNil() {
			to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
			for i := range from.Len() {
				copyFields(to.Index(i), from.Index(i))
			}
		}
	case reflect.Map:
		if !from.IsNil() {
			to.Set(reflect.MakeMap(to.Type()))
			for entry := from.MapRange(); entry.Next(); {
				value := reflect.New(to.Type().Elem()).Elem()
				copyFields(value, entry.Value())
				to.SetMapIndex(entry.Key().Convert(to.Type().Key()), value)
			}
		}
	default:
		to.Set(from.Convert(to.Type()))
	}
}
