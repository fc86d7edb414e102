package check

import (
	"fmt"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// AddressWarning tells of a valid address that has leading zeros, is of IPv4 in the form of IPv6, or is not canonical. It
// is empty if there is nothing to tell.
func AddressWarning(p *field.Path, text string) string {
	ip, msgs := names.ParseIP(text, false)
	if len(msgs) > 0 {
		return ""
	}
	switch _, msgs := names.ParseIP(text, true); {
	case len(msgs) > 0:
		return fmt.Sprintf("%s: non-standard IP address %q is invalid: use %q", p, text, ip)
	case ip.Is6() && ip.String() != text:
		return fmt.Sprintf("%s: IPv6 address %q should be in RFC 5952 canonical format (%q)", p, text, ip)
	}
	return ""
}

// RangeWarning tells of a range of IPv6 that is not canonical. What else is odd about ranges is refused.
func RangeWarning(p *field.Path, text string) string {
	if prefix, _ := names.ParseCIDR(text, true); prefix.Addr().Is6() && prefix.String() != text {
		return fmt.Sprintf("%s: IPv6 CIDR value %q should be in RFC 5952 canonical format (%q)", p, text, prefix)
	}
	return ""
}

// maxWarnings are more of a list than a client is sent: see request.Info.
const maxWarnings = 100

// Warnings returns what warning tells of the elements of a list.
func Warnings(p *field.Path, list []string, warning func(p *field.Path, text string) string) []string {
	var warnings []string
	for i, text := range list {
		if len(warnings) == maxWarnings {
			break
		}
		if w := warning(p.Index(i), text); w != "" {
			warnings = append(warnings, w)
		}
	}
	return warnings
}
