// Package checktest makes objects for tests of checks, and compares what is wrong with them with
// what a test expects.
package checktest

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/field"
)

// Want compares the messages of errs, in their order, with those of want, one a line. "" wants
// none.
func Want(tb testing.TB, errs field.ErrorList, want string) {
	tb.Helper()
	got := make([]string, len(errs))
	for i, e := range errs {
		got[i] = e.Error()
	}
	want = strings.TrimSpace(want)
	if text := strings.Join(got, "\n"); text != want {
		tb.Errorf(
			"errors:\ngot  %s\nwant %s", strings.ReplaceAll(text, "\n", "\n     "),
			strings.ReplaceAll(want, "\n", "\n     "),
		)
	}
}

// What is wrong with a DNS label, a DNS subdomain, and a qualified name.
const (
	Label = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and ` +
		`end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`
	Subdomain = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must ` +
		`start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is ` +
		`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`
	Qualified = `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric ` +
		`character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`
)
