package check_test

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/field"
)

func TestNoIP(t *testing.T) {
	p := field.NewPath("h")
	checktest.Want(t, check.NoIP(p, "a.b"), "")
	for _, ip := range []string{"1.2.3.4", "01.2.3.4", "::1"} {
		checktest.Want(t, check.NoIP(p, ip), `h: Invalid value: "`+ip+`": must be a DNS name, not an IP address`)
	}
}

func TestAddressWarnings(t *testing.T) {
	p := field.NewPath("a")
	for _, tt := range []struct {
		of         func(*field.Path, string) []string
		text, want string
	}{
		{check.IPWarnings, "nothing", ""},
		{check.IPWarnings, "1.2.3.4", ""},
		{check.IPWarnings, "fe80::1", ""},
		{check.IPWarnings, "01.2.3.4", `a: non-standard IP address "01.2.3.4" is invalid: use "1.2.3.4"`},
		{check.IPWarnings, "::ffff:1.2.3.4", `a: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"`},
		{check.IPWarnings, "fe80:0::1", `a: IPv6 address "fe80:0::1" should be in RFC 5952 canonical format ("fe80::1")`},
		{check.CIDRWarnings, "nothing", ""},
		{check.CIDRWarnings, "10.0.0.0/8", ""},
		{check.CIDRWarnings, "fe80::/64", ""},
		{check.CIDRWarnings, "10.0.0.1/8", `a: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)`},
		{check.CIDRWarnings, "010.0.0.0/8", `a: non-standard CIDR value "010.0.0.0/8" is invalid: use "10.0.0.0/8"`},
		{check.CIDRWarnings, "10.0.0.0/08", `a: non-standard CIDR value "10.0.0.0/08" is invalid: use "10.0.0.0/8"`},
		{check.CIDRWarnings, "::ffff:10.0.0.0/104", `a: non-standard CIDR value "::ffff:10.0.0.0/104" is invalid: use "10.0.0.0/8"`},
		{check.CIDRWarnings, "010.0.0.1/8", `a: CIDR value "010.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)
a: non-standard CIDR value "010.0.0.1/8" is invalid: use "10.0.0.0/8"`},
		{check.CIDRWarnings, "fe80:0::/64", `a: IPv6 CIDR value "fe80:0::/64" should be in RFC 5952 canonical format ("fe80::/64")`},
		{check.CIDRWarnings, "fe80:0::1/64", `a: CIDR value "fe80:0::1/64" is ambiguous in this context (should be "fe80::/64" or "fe80::1/128"?)`},
	} {
		if got := strings.Join(tt.of(p, tt.text), "\n"); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.text, got, tt.want)
		}
	}
	list := make([]string, 2*check.MaxAddressWarnings)
	for i := range list {
		list[i] = "01.2.3.4"
	}
	got := check.AddressWarnings(p, list, check.IPWarnings)
	if len(got) != check.MaxAddressWarnings || !strings.HasPrefix(got[1], "a[1]: ") {
		t.Errorf("got %d warnings, such as %q, want %d, each of its element", len(got), got[1], check.MaxAddressWarnings)
	}
}
