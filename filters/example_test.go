package filters

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/filters/authz"
)

// What follows is the filter of docs/extending.md, in a chain that is as short as its settings.

// Region names the region of the server in each answer. There is no such filter without a name.
// Order: before the first filter that may answer by itself. Cost: a map entry, no allocation.
func Region(name string) Filter {
	if name == "" {
		return nil
	}
	value := []string{name}
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header()["X-Region"] = value
			next(w, r)
		}
	}
}

type regional struct {
	Config
	Region string // value of X-Region; "": not sent
}

func (c regional) Steps() []Step {
	return append([]Step{
		{"region", "before info, the first filter that may answer by itself", Region(c.Region)},
	}, c.Config.Steps()...)
}

// ExampleFilter shows a filter, its place in the chain, its setting and a request that passes it.
func ExampleFilter() {
	c := regional{Config{Fail: fail, Authenticator: authn.Anonymous(nil), Authorizer: authz.AlwaysAllow()}, "north"}
	w := httptest.NewRecorder()
	Chain(http.NotFoundHandler(), c.Steps()...).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	fmt.Println(w.Code, w.Header().Get("X-Region"))
	// Output: 404 north
}

// TestExampleIsDocumented: the code in docs/extending.md is the code above.
func TestExampleIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/extending.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	indent := regexp.MustCompile(`(?m)^\s+`)
	code := indent.ReplaceAllString(string(source), "")
	_, section, _ := strings.Cut(string(page), "\n## A filter\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := strings.Split(section, "```go\n")[1:]
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		if !strings.Contains(code, indent.ReplaceAllString(block, "")) {
			t.Errorf("this is not in example_test.go:\n%s", block)
		}
	}
	if len(blocks) == 0 {
		t.Error("docs/extending.md has no code of a filter")
	}
}
