package request

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
)

// TestForbiddenQuotes: text from the client is quoted as strconv quotes it, with HTML escaped.
func TestForbiddenQuotes(t *testing.T) {
	markup := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	for _, sent := range []string{"", "/a b~", "/é", "/\xff", "/\t\x7f", `/"\`, "/&amp;", "<<>>&&", "/a<é>\"", strings.Repeat("<", 600)} {
		quoted := markup.Replace(fmt.Sprintf("%q", meta.Excerpt(sent)))
		path := Forbidden(&Attributes{User: &User{Name: sent}, Verb: "get", Path: sent}, "")
		if want := "forbidden: User " + quoted + " cannot get path " + quoted; path.Error() != want {
			t.Errorf("path %q:\ngot  %s\nwant %s", sent, path, want)
		}
		resource := Forbidden(&Attributes{Verb: "x&y", IsResource: true, Resource: "pods", Subresource: "log", Namespace: sent}, "<why>")
		want := `pods is forbidden: User "" cannot x&amp;y resource "pods/log" in API group "" `
		if sent == "" {
			want += "at the cluster scope: <why>"
		} else {
			want += "in the namespace " + quoted + ": <why>"
		}
		if resource.Error() != want {
			t.Errorf("namespace %q:\ngot  %s\nwant %s", sent, resource, want)
		}
	}
}

// TestForbiddenAllocs: a refusal allocates its message, and the error with its details in one
// piece; more only for long texts or markup.
func TestForbiddenAllocs(t *testing.T) {
	for path, want := range map[string]float64{"/usual": 2, "/" + strings.Repeat("<", 255): 6} {
		a := &Attributes{User: &User{Name: AnonymousUser}, Verb: "get", Path: path}
		got := testing.AllocsPerRun(200, func() {
			if Forbidden(a, "") == nil {
				t.Fatal("no error")
			}
		})
		if got > want {
			t.Errorf("path of %d bytes: got %v allocations, want at most %v", len(path), got, want)
		}
	}
}
