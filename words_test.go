package coracle

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Widths of lines in columns, where a tab counts 4. Longer may be struct tags, addresses, lines
// with a long string, which people search for, preformatted comments, and the tables of tests.
const (
	commentWidth = 100
	codeWidth    = 120
)

// longString is a string that stays on one line, so that it can be searched for.
var longString = regexp.MustCompile(`"[^"]{60,}"|` + "`[^`]{60,}`")

// riddles are constructions that a reader has to read twice: a condition by inversion, and pronouns
// in the place of a noun.
var riddles = regexp.MustCompile(`(^|[.;:] )(Is|Are|Has|Does) [^.?]*,|whosever|what it is not|of whom\b`)

// TestWords holds comments to their width and to sentences that are read once, and code to its
// width. The code of tests may be wider, because their tables have a case a line.
func TestWords(t *testing.T) {
	for _, p := range packages(t) {
		for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			file := filepath.Join(p.Dir, name)
			short := strings.TrimPrefix(p.ImportPath, module+"/") + "/" + name
			checkWords(t, file, short)
		}
	}
}

func checkWords(t *testing.T, file, short string) {
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	// The lines with struct tags, of strings that are longer than a line, and of the output of
	// examples.
	free := map[int]bool{}
	for _, group := range f.Comments {
		if strings.HasPrefix(group.Text(), "Output:") {
			for line := fset.Position(group.Pos()).Line; line <= fset.Position(group.End()).Line; line++ {
				free[line] = true
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok && field.Tag != nil {
			free[fset.Position(field.Tag.Pos()).Line] = true
		}
		if text, ok := n.(*ast.BasicLit); ok && strings.Contains(text.Value, "\n") {
			for line := fset.Position(text.Pos()).Line; line <= fset.Position(text.End()).Line; line++ {
				free[line] = true
			}
		}
		return true
	})
	isTest := strings.HasSuffix(file, "_test.go")
	for i, line := range strings.Split(string(src), "\n") {
		columns := len([]rune(strings.ReplaceAll(line, "\t", "    ")))
		switch comment := strings.HasPrefix(strings.TrimSpace(line), "//"); {
		case strings.Contains(line, "://") || free[i+1] || longString.MatchString(line):
		case strings.HasPrefix(line, "//go:") || strings.HasPrefix(line, "//\t"):
		case comment && columns > commentWidth:
			t.Errorf("%s:%d: a comment of %d columns, want at most %d", short, i+1, columns, commentWidth)
		case !comment && !isTest && columns > codeWidth:
			t.Errorf("%s:%d: code of %d columns, want at most %d", short, i+1, columns, codeWidth)
		}
	}
	for _, group := range f.Comments {
		if found := riddles.FindString(strings.ReplaceAll(group.Text(), "\n", " ")); found != "" {
			t.Errorf("%s:%d: say %q in another way", short, fset.Position(group.Pos()).Line, strings.TrimSpace(found))
		}
	}
}
