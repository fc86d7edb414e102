package noderestriction_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// verbs matches the verbs of format strings.
var verbs = regexp.MustCompile(`%[a-zA-Z]`)

// eachRule finds all refusals in the source files that match pattern, and fails for each refusal
// that no test has caused. refused has the reasons that the tests got.
func eachRule(t *testing.T, pattern string, refused []string) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	all, rules := strings.Join(refused, "\n"), 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "Forbidden" {
				return true
			}
			literal, ok := call.Args[0].(*ast.BasicLit)
			if !ok {
				t.Errorf("%s: a refusal whose format is not a literal", fset.Position(call.Pos()))
				return true
			}
			format, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			rules++
			if strings.HasPrefix(format, "unexpected type ") {
				return true // a resource never has objects of another type, so that no request can cause this refusal
			}
			parts := verbs.Split(format, -1)
			for i, part := range parts {
				parts[i] = regexp.QuoteMeta(part)
			}
			if !regexp.MustCompile("(?m)^" + strings.Join(parts, ".*") + "$").MatchString(all) {
				t.Errorf("%s: no test is refused by %q", fset.Position(call.Pos()), format)
			}
			return true
		})
	}
	if rules == 0 {
		t.Errorf("found no refusals in %v", names)
	}
}
