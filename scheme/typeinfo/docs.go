package typeinfo

import (
	"io/fs"
	"reflect"
	"strings"
)

// docs.go takes the descriptions in OpenAPI from the comments of API types, so that they are
// written once. The program embeds the source of these types (see Package). scheme/openapi calls
// Doc and FieldDoc when it builds a document.

// Doc returns the doc comment of a declared type (see Package) as one text: the lines of a
// paragraph are joined, paragraphs are kept apart by an empty line. It is empty for types of
// packages without source. The source of a package is read at the first call for one of its types.
func Doc(t reflect.Type) string { return docOf(t, "") }

// FieldDoc returns the doc comment of a field of a struct, or else the comment at the end of the
// field's line, as one text like Doc. owner is the struct that declares the field (Field.Owner),
// goName the field's Go name.
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
	pkg.read.Do(func() { pkg.docs = readDocs(pkg.source) })
	if field == "" {
		return pkg.docs[t.Name()]
	}
	return pkg.docs[t.Name()+"."+field]
}

// docs holds the descriptions of one package by "Type" and "Type.Field".
type docs map[string]string

// readDocs collects the comments of all types in the Go files at the top of source. A file that
// cannot be read is left out: a missing description is no reason to fail.
func readDocs(source fs.FS) docs {
	d := docs{}
	if source == nil {
		return d
	}
	files, err := fs.Glob(source, "*.go")
	if err != nil {
		return d
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if text, err := fs.ReadFile(source, name); err == nil {
			d.file(string(text))
		}
	}
	return d
}

// file adds the descriptions in the source text of one file. It reads line by line: in source that
// gofmt has written, the first word of a line and the number of tabs before it tell whether the
// line declares a type or a field. go/parser takes eight times as long, so that it would need half
// of the time of the first OpenAPI document. A declaration in another form gets no description.
func (d docs) file(text string) {
	var (
		level   int      // tabs before a type's name: 1 in a type ( ... ) group, else 0
		owner   string   // the struct whose fields follow, "" outside of structs
		comment []string // the comment lines directly above this line
	)
	for line := range strings.SplitSeq(text, "\n") {
		bare := strings.TrimLeft(line, "\t")
		if above, ok := strings.CutPrefix(bare, "//"); ok {
			if above == "" || above[0] == ' ' || above[0] == '\t' { // else a directive, such as go:embed
				comment = append(comment, strings.TrimPrefix(above, " "))
			}
			continue
		}
		switch tabs := len(line) - len(bare); {
		case line == "type (":
			level = 1
		case line == ")":
			level = 0
		case tabs == level && bare == "}":
			owner = ""
		case tabs == level:
			if declared, ok := strings.CutPrefix(bare, "type "); ok || level == 1 {
				owner = d.declaration(declared, comment)
			}
		case tabs == level+1 && owner != "":
			d.field(owner, bare, comment)
		}
		comment = comment[:0]
	}
}

// declaration keeps the comment of a type. line is what follows the word type. declaration returns
// the type's name if fields follow, else "".
func (d docs) declaration(line string, comment []string) (owner string) {
	name, _, _ := strings.Cut(line, " ")
	d.add(name, comment)
	if strings.HasSuffix(line, " struct {") {
		return name
	}
	return ""
}

// field keeps the comment above a field, or else the one at the end of its line. One line may
// declare several fields: A, B string.
func (d docs) field(owner, line string, comment []string) {
	declared, behind, _ := strings.Cut(line, "//")
	if head, rest, ok := strings.Cut(line, "`"); ok {
		_, rest, _ = strings.Cut(rest, "`")
		_, behind, _ = strings.Cut(rest, "//")
		declared = head
	}
	if len(comment) == 0 {
		comment = []string{strings.TrimPrefix(behind, " ")}
	}
	words := strings.Fields(declared)
	if len(words) == 1 { // embedded
		d.add(owner+"."+words[0][strings.LastIndexAny(words[0], "*.")+1:], comment)
		return
	}
	for _, name := range words {
		name, more := strings.CutSuffix(name, ",")
		d.add(owner+"."+name, comment)
		if !more {
			return
		}
	}
}

// add keeps a comment under name. It joins the lines of each paragraph; an indented line (code, an
// entry of a list) stays a line of its own.
func (d docs) add(name string, comment []string) {
	var b strings.Builder
	gap := ""
	for _, line := range comment {
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
	if b.Len() > 0 {
		d[name] = b.String()
	}
}
