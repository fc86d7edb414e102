package check

import (
	"fmt"
	"net/netip"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// NoIP reports an IP address where a DNS name is required.
func NoIP(p *field.Path, text string) field.ErrorList {
	if _, msgs := names.ParseIP(text, false); len(msgs) > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(p, text, "must be a DNS name, not an IP address")}
}

// MaxAddressWarnings bounds the warnings that are made for a list of addresses. It is more than a
// client is sent (see request.Info.Warn), so no warning that would be sent is lost.
const MaxAddressWarnings = 100

// AddressWarnings returns the warnings about a list of addresses or ranges, at least the first
// MaxAddressWarnings of them. The function warnings (IPWarnings or CIDRWarnings) returns those
// about one element.
func AddressWarnings(p *field.Path, list []string, warnings func(p *field.Path, text string) []string) []string {
	var all []string
	for i, text := range list {
		if len(all) >= MaxAddressWarnings {
			break
		}
		all = append(all, warnings(p.Index(i), text)...)
	}
	return all
}

// IPWarnings returns a warning if a valid address has leading zeros, is an IPv4 address in IPv6
// form, or is not in the canonical form of RFC 5952.
func IPWarnings(p *field.Path, text string) []string {
	ip, msgs := names.ParseIP(text, false)
	if len(msgs) > 0 {
		return nil
	}
	switch _, msgs := names.ParseIP(text, true); {
	case len(msgs) > 0:
		return []string{fmt.Sprintf("%s: non-standard IP address %q is invalid: use %q", p, text, ip)}
	case ip.Is6() && ip.String() != text:
		return []string{fmt.Sprintf("%s: IPv6 address %q should be in RFC 5952 canonical format (%q)", p, text, ip)}
	}
	return nil
}

// CIDRWarnings returns warnings if a valid range is not written with its first address, has leading
// zeros, is an IPv4 range in IPv6 form, or is not in the canonical form of RFC 5952.
func CIDRWarnings(p *field.Path, text string) []string {
	given, msgs := names.ParseCIDR(text, false)
	if len(msgs) > 0 {
		return nil
	}
	addr, all := given.Addr(), unmapped(given.Masked())
	var warnings []string
	if given.Masked() != given {
		warnings = append(warnings, fmt.Sprintf("%s: CIDR value %q is ambiguous in this context (should be %q or \"%s/%d\"?)",
			p, text, all, addr.Unmap(), addr.BitLen()))
	}
	if _, err := netip.ParsePrefix(text); err != nil || addr.Is4In6() {
		warnings = append(warnings, fmt.Sprintf("%s: non-standard CIDR value %q is invalid: use %q", p, text, all))
	}
	if len(warnings) == 0 && addr.Is6() && given.String() != text {
		warnings = append(
			warnings,
			fmt.Sprintf("%s: IPv6 CIDR value %q should be in RFC 5952 canonical format (%q)", p, text, given),
		)
	}
	return warnings
}

// unmapped returns an IPv4 range that is written in IPv6 form as an IPv4 range, and any other range
// unchanged.
func unmapped(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}
