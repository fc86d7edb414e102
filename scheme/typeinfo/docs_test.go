package typeinfo_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api"
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

var documentedSource = strings.ReplaceAll(`package typeinfo

// documented is a type
// on two lines.
//
// And a second paragraph:
//   - one
//   - two
//
//nolint:unused
type documented struct {
	// Embedded.
	meta.Preconditions 'json:",inline"'
	// Name of it.
	Name string
	Other string // behind
	None string
	// Two of them.
	First, Second string
	Tagged string 'json:"tagged"' // behind a tag
	// Nested.
	Nested struct {
		// Of something else.
		None string
	}
	// Apart.

	Apart string
}

func none() {
	type documented struct {
		None string // of another type
	}
}

type (
	// grouped is in a group.
	grouped string
	// several is, too.
	several struct {
		// Field in a group.
		Field string
	}
)
`, "'", "`")

type several struct{}

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
		{typeinfo.FieldDoc(typ, "First"), "Two of them."},
		{typeinfo.FieldDoc(typ, "Second"), "Two of them."},
		{typeinfo.FieldDoc(typ, "Tagged"), "behind a tag"},
		{typeinfo.FieldDoc(typ, "Nested"), "Nested."},
		{typeinfo.FieldDoc(typ, "Apart"), ""},
		{typeinfo.Doc(reflect.TypeFor[several]()), "several is, too."},
		{typeinfo.FieldDoc(reflect.TypeFor[several](), "Field"), "Field in a group."},
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

// TestDocsAreThoseOfAParser checks that for every type of every group, Doc and FieldDoc return the
// comments that go/parser finds.
func TestDocsAreThoseOfAParser(t *testing.T) {
	s := scheme.New()
	api.AddToScheme(s)
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	parsed := map[string]map[string]string{}
	want := func(t reflect.Type, field string) string {
		if parsed[t.PkgPath()] == nil {
			parsed[t.PkgPath()] = parseDocs(path.Base(t.PkgPath()))
		}
		return parsed[t.PkgPath()][t.Name()+field]
	}
	seen := map[*typeinfo.Type]bool{}
	var visit func(*typeinfo.Type)
	visit = func(typ *typeinfo.Type) {
		if typ == nil || seen[typ] {
			return
		}
		seen[typ] = true
		if typ.Name != "" {
			if got, want := oneLine(typeinfo.Doc(typ.Go)), want(typ.Go, ""); got != want {
				t.Errorf("Doc(%v): got %q, want %q", typ.Go, got, want)
			}
		}
		for _, f := range typ.Fields {
			if got, want := oneLine(typeinfo.FieldDoc(f.Owner, f.GoName)), want(f.Owner, "."+f.GoName); got != want {
				t.Errorf("FieldDoc(%v, %s): got %q, want %q", f.Owner, f.GoName, got, want)
			}
			visit(f.Type)
		}
		visit(typ.Elem)
	}
	for _, kind := range s.AllKinds() {
		visit(s.Type(kind))
	}
	if len(seen) < 500 {
		t.Errorf("visited %d types, want those of all groups", len(seen))
	}
}

// parseDocs returns the comments of the types of a package of this module, by "Type" and
// "Type.Field", in one line each.
func parseDocs(pkg string) map[string]string {
	docs := map[string]string{}
	files, _ := filepath.Glob(filepath.Join("..", "api", pkg, "*.go"))
	if len(files) == 0 {
		files, _ = filepath.Glob(filepath.Join("..", pkg, "*.go"))
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			decl, ok := n.(*ast.GenDecl)
			if !ok || decl.Tok != token.TYPE {
				return true
			}
			typ := decl.Specs[0].(*ast.TypeSpec)
			docs[typ.Name.Name] = oneLine(decl.Doc.Text())
			if st, ok := typ.Type.(*ast.StructType); ok {
				for _, f := range st.Fields.List {
					name := types.ExprString(f.Type)
					name = name[strings.LastIndexAny(name, "*.")+1:] // of an embedded one
					if len(f.Names) > 0 {
						name = f.Names[0].Name
					}
					docs[typ.Name.Name+"."+name] = oneLine(f.Doc.Text() + f.Comment.Text())
				}
			}
			return false
		})
	}
	return docs
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

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
