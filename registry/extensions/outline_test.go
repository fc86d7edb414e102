package extensions

import (
	"reflect"
	"testing"

	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/codec"
)

// TestOutlineHasAllFields compares the fields of outlines and definitions. The server would drop a
// field that an outline lacks when it writes a status.
func TestOutlineHasAllFields(t *testing.T) {
	same(t, reflect.TypeFor[Outline](), reflect.TypeFor[v1.CustomResourceDefinition]())
	same(t, reflect.TypeFor[OutlineSpec](), reflect.TypeFor[v1.CustomResourceDefinitionSpec]())
	same(t, reflect.TypeFor[OutlineVersion](), reflect.TypeFor[v1.CustomResourceDefinitionVersion]())
	same(t, reflect.TypeFor[OutlineSchema](), reflect.TypeFor[v1.CustomResourceValidation]())
}

// same requires two types to have the same fields with the same JSON names, in the same order. The
// types of the fields are equal unless an outline has a type of its own.
func same(t *testing.T, got, want reflect.Type) {
	t.Helper()
	own := map[reflect.Type]reflect.Type{
		reflect.TypeFor[v1.CustomResourceDefinitionSpec]():      reflect.TypeFor[OutlineSpec](),
		reflect.TypeFor[[]v1.CustomResourceDefinitionVersion](): reflect.TypeFor[[]OutlineVersion](),
		reflect.TypeFor[*v1.CustomResourceValidation]():         reflect.TypeFor[*OutlineSchema](),
	}
	if got.NumField() != want.NumField() {
		t.Fatalf("%s has %d fields, want %d as %s", got, got.NumField(), want.NumField(), want)
	}
	for i := range want.NumField() {
		g, w := got.Field(i), want.Field(i)
		typ := w.Type
		if other := own[typ]; other != nil {
			typ = other
		}
		if w.Type == reflect.TypeFor[*v1.JSONSchemaProps]() {
			typ = g.Type // text
		}
		if g.Name != w.Name || g.Type != typ || g.Tag.Get("json") != w.Tag.Get("json") || g.Tag.Get("list") != w.Tag.Get("list") {
			t.Errorf("%s: got %s %s `%s`, want %s %s `%s`", got, g.Name, g.Type, g.Tag, w.Name, typ, w.Tag)
		}
	}
}

// TestOutlineDefinition makes a definition from an outline: it lacks only the schemas, and Schema
// finds their text by version.
func TestOutlineDefinition(t *testing.T) {
	res, err := Outlines()
	if err != nil {
		t.Fatal(err)
	}
	text := `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"a.b.c","uid":"u","generation":3},` +
		`"spec":{"group":"b.c","names":{"plural":"a","kind":"A"},"scope":"Cluster","versions":[` +
		`{"name":"v1","served":true,"storage":true,"deprecated":true,"schema":{"openAPIV3Schema":{"type":"object"}},"selectableFields":[{"jsonPath":".x"}]},` +
		`{"name":"v2","served":true,"storage":false}]},"status":{"conditions":null,"acceptedNames":{"plural":"a","kind":"A"},"storedVersions":["v1"]}}`
	decoded, err := res.Type.Decode(codec.DecodeRequest{Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	o := decoded.Object.(*Outline)
	if got := string(o.Schema("v1")); got != `{"type":"object"}` || o.Schema("v2") != nil || o.Schema("v3") != nil {
		t.Errorf("the schemas are %q, %q and %q", got, o.Schema("v2"), o.Schema("v3"))
	}
	def, err := o.Definition()
	if err != nil {
		t.Fatal(err)
	}
	first := def.Spec.Versions[0]
	if def.UID != "u" || def.Generation != 3 || !first.Deprecated || len(first.SelectableFields) != 1 || first.Schema != nil ||
		def.Status.AcceptedNames.Plural != "a" || len(def.Spec.Versions) != 2 {
		t.Errorf("got %+v", def)
	}
	again, err := res.Type.Append(nil, o, codec.Media{})
	if err != nil || string(again) != text {
		t.Errorf("encoded again: got %s, %v\nwant %s", again, err, text)
	}
}
