package typeinfo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"strings"
)

// Doc returns the doc comment of a declared type (see Package) as one text: lines joined, paragraphs kept. It is
// empty for types of packages without source. The source is parsed when the first comment is asked for.
func Doc(t reflect.Type) string { return docOf(t, "") }

// FieldDoc returns the doc comment of a field of a struct, or the comment behind it. owner is the struct that
// declares the field (Field.Owner), goName its Go name.
func FieldDoc(owner reflect.Type, goName string) string { return docOf(owner, goName) }

func docOf(t reflect.Type, field string) string {
	if t == nil {
		return ""
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	found, ok := packages.Load(t.PkgPath())
	if !ok || t.Name() == "" {
		return ""
	}
	pkg := found.(*declared)
	pkg.parse.Do(func() { pkg.docs = readDocs(pkg.source) })
	if field == "" {
		return pkg.docs[t.Name()]
	}
	return pkg.docs[t.Name()+"."+field]
}

// readDocs collects the comments of all types in the Go files at the top of source. Files that do not parse are left
// out: a missing description is no reason to fail.
func readDocs(source fs.FS) map[string]string {
	docs := map[string]string{}
	if source == nil {
		return docs
	}
	files, err := fs.Glob(source, "*.go")
	if err != nil {
		return docs
	}
	for _, name := range files {
		text, err := fs.ReadFile(source, name)
		if err != nil || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, decl := range file.Decls {
			if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.TYPE {
				readDecl(docs, gen)
			}
		}
	}
	return docs
}

func readDecl(docs map[string]string, gen *ast.GenDecl) {
	for _, spec := range gen.Specs {
		typ := spec.(*ast.TypeSpec)
		comment := typ.Doc
		if comment == nil && len(gen.Specs) == 1 {
			comment = gen.Doc
		}
		docs[typ.Name.Name] = paragraphs(comment)
		if st, ok := typ.Type.(*ast.StructType); ok {
			for _, field := range st.Fields.List {
				readField(docs, typ.Name.Name, field)
			}
		}
	}
}

func readField(docs map[string]string, owner string, field *ast.Field) {
	comment := field.Doc
	if comment == nil {
		comment = field.Comment
	}
	text := paragraphs(comment)
	if text == "" {
		return
	}
	for _, name := range field.Names {
		docs[owner+"."+name.Name] = text
	}
	if len(field.Names) == 0 { // embedded
		docs[owner+"."+embeddedName(field.Type)] = text
	}
}

func embeddedName(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.StarExpr:
		return embeddedName(e.X)
	}
	return ""
}

// paragraphs joins the lines of each paragraph of a comment; indented lines (code, lists) stay lines.
func paragraphs(comment *ast.CommentGroup) string {
	var b strings.Builder
	gap := ""
	for line := range strings.SplitSeq(strings.TrimSpace(comment.Text()), "\n") {
		switch indented := line != strings.TrimLeft(line, " \t"); {
		case line == "":
			gap = "\n\n"
			continue
		case indented && gap == " ":
			gap = "\n"
		}
		b.WriteString(gap + strings.TrimRight(line, " \t"))
		gap = " "
	}
	return b.String()
}
