package resource

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/field"
)

func TestNames(t *testing.T) {
	const notUUID = "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters"
	full := func(p *field.Path, name string) field.ErrorList {
		return checkFullName(p, resourcev1.FullyQualifiedName(name))
	}
	address := func(p *field.Path, text string) field.ErrorList { return checkInterface(p, &text) }
	domain := strings.Repeat("a", maxDomain)
	for _, tt := range []struct {
		rule       func(*field.Path, string) field.ErrorList
		name, want string
	}{
		{checkPool, "a.b/c/d", ``},
		{checkPool, "", `p: Required value`},
		{checkPool, "A//b", `
p: Invalid value: "A": ` + checktest.Subdomain + `
p: Invalid value: "": ` + checktest.Subdomain},
		{checkPool, strings.Repeat("a/", 126) + "a", ``},
		{checkPool, strings.Repeat("a/", 126) + "ab", `p: Too long: may not be more than 253 bytes`},
		{checkQualifiedName, "_a1", ``},
		{checkQualifiedName, "D.a/_a1", ``},
		{checkQualifiedName, "a/b/c d", ``},
		{checkQualifiedName, "1-a", `p: Invalid value: "1-a": ` + identifier},
		{checkQualifiedName, "", `p: Invalid value: "": ` + identifier},
		{checkQualifiedName, strings.Repeat("a", maxIdentifier), ``},
		{checkQualifiedName, strings.Repeat("a", maxIdentifier+1), `p: Too long: may not be more than 32 bytes`},
		{checkQualifiedName, domain + "/a", ``},
		{checkQualifiedName, domain + "a/a", `p: Too long: may not be more than 63 bytes`},
		{checkQualifiedName, "/", `
p: Invalid value: "": the domain must not be empty
p: Invalid value: "": the name must not be empty`},
		{checkQualifiedName, "a_/1", `
p: Invalid value: "a_": ` + checktest.Subdomain + `
p: Invalid value: "1": ` + identifier},
		{full, "a/b", ``},
		{full, "b-", `
p: Invalid value: "b-": ` + identifier + `
p: Invalid value: "b-": a fully qualified name must be a domain and a name separated by a slash`},
		{checkUUID, "123e4567-e89b-12d3-a456-426614174000", ``},
		{checkUUID, "123E4567-e89b-12d3-a456-426614174000", `p: Invalid value: "123E4567-e89b-12d3-a456-426614174000": ` + notUUID},
		{checkUUID, "123e4567e89b12d3a456426614174000", `p: Invalid value: "123e4567e89b12d3a456426614174000": ` + notUUID},
		{checkUUID, "1", `p: Invalid value: "1": error validating uid: invalid UUID length: 1`},
		{address, "192.0.2.5/24", ``},
		{address, "2001:db8::1/64", ``},
		{address, "192.0.2.5", `p: Invalid value: "192.0.2.5": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)`},
		{address, "2001:DB8::0:1/64", `p: Invalid value: "2001:DB8::0:1/64": must be in canonical form ("2001:db8::1/64")`},
		{address, "::ffff:192.0.2.5/120", `p: Invalid value: "::ffff:192.0.2.5/120": must be in canonical form ("192.0.2.5/24")`},
	} {
		checktest.Want(t, tt.rule(field.NewPath("p"), tt.name), tt.want)
	}
}

func TestShortened(t *testing.T) {
	longest := strings.Repeat("a", 48) + strings.Repeat("b", 48)
	for name, want := range map[string]string{
		"": "", longest: longest, longest + "c": strings.Repeat("a", 47) + "..." + strings.Repeat("b", 45) + "c",
	} {
		if got := shortened(name); got != want {
			t.Errorf("shortened(%q): got %q, want %q", name, got, want)
		}
	}
}
