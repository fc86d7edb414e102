package typeinfo_test

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

type documented struct {
	meta.Preconditions `json:",inline"`
	Name               string `json:"name"`
	Other              string `json:"other"`
	None               string `json:"none"`
}

const documentedSource = `package typeinfo

// documented is a type
// on two lines.
//
// And a second paragraph:
//   - one
//   - two
type documented struct {
	// Embedded.
	meta.Preconditions ` + "`json:\",inline\"`" + `
	// Name of it.
	Name string
	Other string // behind
	None string
}

type (
	// grouped is in a group.
	grouped string
)
`

type grouped string

func TestDocs(t *testing.T) {
	typ := reflect.TypeFor[documented]()
	typeinfo.Package(typ.PkgPath(), "test.models", fstest.MapFS{
		"a.go": {Data: []byte(documentedSource)}, "broken.go": {Data: []byte("package (")}, "a_test.go": {Data: nil},
	})
	for _, tt := range []struct{ got, want string }{
		{typeinfo.Doc(typ), "documented is a type on two lines.\n\nAnd a second paragraph:\n  - one\n  - two"},
		{typeinfo.Doc(reflect.TypeFor[*grouped]()), "grouped is in a group."},
		{typeinfo.FieldDoc(typ, "Preconditions"), "Embedded."},
		{typeinfo.FieldDoc(typ, "Name"), "Name of it."},
		{typeinfo.FieldDoc(typ, "Other"), "behind"},
		{typeinfo.FieldDoc(typ, "None"), ""},
		{typeinfo.FieldDoc(typ, "Nope"), ""},
		{typeinfo.Doc(reflect.TypeFor[string]()), ""},
		{typeinfo.Doc(nil), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
	if got, want := typeinfo.Of(typ).Name, "test.models.documented"; got != want {
		t.Errorf("Name: got %q, want %q", got, want)
	}
}

func TestModelNames(t *testing.T) {
	for _, tt := range []struct {
		typ  reflect.Type
		want string
	}{
		{reflect.TypeFor[[]string](), ""},
		{reflect.TypeFor[corev1.Pod](), "io.k8s.api.core.v1.Pod"},
		{reflect.TypeFor[field.Omit](), "com.github.coracle-project.coracle.scheme.field.Omit"},
		{reflect.TypeFor[meta.ObjectMeta](), "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
		{reflect.TypeFor[meta.Time](), "io.k8s.apimachinery.pkg.apis.meta.v1.Time"},
		{reflect.TypeFor[meta.Quantity](), "io.k8s.apimachinery.pkg.api.resource.Quantity"},
		{reflect.TypeFor[meta.IntOrString](), "io.k8s.apimachinery.pkg.util.intstr.IntOrString"},
		{reflect.TypeFor[meta.RawExtension](), "io.k8s.apimachinery.pkg.runtime.RawExtension"},
	} {
		if got := typeinfo.Of(tt.typ).Name; got != tt.want {
			t.Errorf("Name of %v: got %q, want %q", tt.typ, got, tt.want)
		}
	}
	if typ, format, ok := typeinfo.For[meta.Time]().Model(); typ != "string" || format != "date-time" || !ok {
		t.Errorf("Model of Time: got %q, %q, %v", typ, format, ok)
	}
	if _, _, ok := typeinfo.For[meta.ObjectMeta]().Model(); ok {
		t.Error("Model of a struct: got true")
	}
	if doc := typeinfo.Doc(reflect.TypeFor[meta.ObjectMeta]()); !strings.HasPrefix(doc, "ObjectMeta") {
		t.Errorf("Doc of ObjectMeta: got %q", doc)
	}
}
