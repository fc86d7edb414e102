package check_test

import (
	"strconv"
	"testing"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/field"
)

func TestJSONPath(t *testing.T) {
	for path, want := range map[string]string{
		`spec.validations[0].expression`: "",
		`.spec.containers[*].name`:       "",
		`$.a[-1:].b[1:2:3]['c.d'][0, 1]`: "",
		`..name`:                         "",
		`a..[0]..b`:                      "",
		`.metadata.annotations.a\.b\ c`:  "",
		`.a[?(@.b == "c)")].d`:           "",
		`.a[?(@.b)]`:                     "",
		`range .a} {"\t"} {'a\'b'} {end`: "",
		`@.a -1.5 +2`:                    "",
		`a}b{c`:                          "",
		"a\n":                            "unclosed action",
		"a\r":                            "unclosed action",
		"a\t":                            "unrecognized character in action: U+0009",
		`#`:                              "unrecognized character in action: U+0023 '#'",
		`....`:                           "invalid multiple recursive descent",
		`.. ..`:                          "invalid multiple recursive descent",
		`1.2.3`:                          "cannot parse number 1.2.3",
		`a[`:                             "unterminated array",
		"a[\n]":                          "unterminated array",
		`a[b]`:                           "invalid array index b",
		`a[1,b]`:                         "invalid array index b",
		`a[-]`:                           "array index - is not a number",
		`a[0:99999999999999999999]`:      "array index 99999999999999999999 is not a number",
		`a['b#']`:                        "",
		`a['[']`:                         "unterminated array",
		`a[?(b`:                          "unterminated filter",
		`a[?(b)`:                         "unclosed array expect ]",
		`a[?(#)]`:                        "unrecognized character in action: U+0023 '#'",
		`a[?(#==b)]`:                     "unrecognized character in action: U+0023 '#'",
		`a[?(b==#)]`:                     "unrecognized character in action: U+0023 '#'",
		`"a`:                             "unterminated quoted string",
		`'a\q'`:                          `unquote string 'a\q' error invalid syntax`,
	} {
		if want != "" {
			want = "p: Invalid value: " + strconv.Quote(path) + ": invalid JSONPath: " + want
		}
		checktest.Want(t, check.JSONPath(field.NewPath("p"), path), want)
	}
}
