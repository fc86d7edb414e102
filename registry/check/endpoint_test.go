package check_test

import (
	"testing"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/field"
)

func TestEndpointIP(t *testing.T) {
	p := field.NewPath("ip")
	for text, want := range map[string]string{
		"10.0.0.1": "", "010.0.0.1": "", "2001:db8::1": "", "224.1.0.1": "",
		"nowhere":          `ip: Invalid value: "nowhere": must be a valid IP address`,
		"":                 `ip: Invalid value: "": must be a valid IP address`,
		"0.0.0.0":          `ip: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)`,
		"::":               `ip: Invalid value: "::": may not be unspecified (::)`,
		"127.0.0.1":        `ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`,
		"::ffff:127.0.0.1": `ip: Invalid value: "::ffff:127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`,
		"169.254.0.1":      `ip: Invalid value: "169.254.0.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)`,
		"ff02::1":          `ip: Invalid value: "ff02::1": may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)`,
	} {
		checktest.Want(t, check.EndpointIP(p, text), want)
	}
}

func TestFullDomain(t *testing.T) {
	p := field.NewPath("name")
	for text, want := range map[string]string{
		"a.b": "", "a.b.": "",
		"":      `name: Required value`,
		"a":     `name: Invalid value: "a": should be a domain with at least two segments separated by dots`,
		"a.":    `name: Invalid value: "a": should be a domain with at least two segments separated by dots`,
		"A.b":   `name: Invalid value: "A.b": ` + checktest.Subdomain,
		"a.b..": `name: Invalid value: "a.b.": ` + checktest.Subdomain,
	} {
		checktest.Want(t, check.FullDomain(p, text), want)
	}
}

func TestFullDomainLabels(t *testing.T) {
	long := "a123456789a123456789a123456789a123456789a123456789a123456789abcd"
	checktest.Want(t, check.FullDomain(field.NewPath("n"), long+".b"), `n: Invalid value: "`+long+`": must be no more than 63 characters`)
}

func TestCounts(t *testing.T) {
	p, three := field.NewPath("status"), int32(3)
	counts := []check.Number{check.Count("a", &three), check.Count[int32]("b", nil), {"c", -1}}
	checktest.Want(t, check.NotNegative(p, counts...), "status.c: Invalid value: -1: must be greater than or equal to 0")
	checktest.Want(t, check.AtMost(p, 3, "more", counts...), "")
	checktest.Want(t, check.AtMost(p, -1, "x", counts...), "status.a: Invalid value: 3: cannot be greater than x\nstatus.b: Invalid value: 0: cannot be greater than x")
}
