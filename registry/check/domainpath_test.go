package check_test

import (
	"testing"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/field"
)

func TestDomainPath(t *testing.T) {
	const shape = `: must be a domain-prefixed path (such as "acme.io/foo")`
	const invalid = ": Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"
	for name, want := range map[string]string{
		"":                           `f: Required value`,
		"a":                          `f: Invalid value: "a"` + shape,
		"/a":                         `f: Invalid value: "/a"` + shape,
		"a.b/":                       `f: Invalid value: "a.b/"` + shape,
		"a.b/c":                      ``,
		"A/c":                        `f: Invalid value: "A": ` + checktest.Subdomain,
		"a/b/c":                      ``,
		"a/azAZ09-._~%!$&'()*+,;=:/": ``,
		"a/b c":                      `f: Invalid value: "b c"` + invalid,
		"a/{":                        `f: Invalid value: "{"` + invalid,
		"a/@":                        `f: Invalid value: "@"` + invalid,
		"a/[":                        `f: Invalid value: "["` + invalid,
		"a/`":                        "f: Invalid value: \"`\"" + invalid,
		"a/?":                        `f: Invalid value: "?"` + invalid,
	} {
		checktest.Want(t, check.DomainPath(field.NewPath("f"), name), want)
	}
}
