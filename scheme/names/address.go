package names

import (
	"net/netip"
	"strconv"
	"strings"
)

// address.go has the rules for IP addresses and address ranges. Kubernetes has two of each: a
// strict one with one spelling for each address, for new fields, and a legacy one for older fields,
// whose stored values must stay valid (KEP-4858).

const (
	ipMessage   = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
	cidrMessage = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
)

// IsValidIP checks that value is an IP address in its canonical form (RFC 5952 for IPv6), the rule
// for new API fields.
func IsValidIP(value string) []string {
	ip, errs := ParseIP(value, true)
	if len(errs) == 0 && ip.String() != value {
		errs = append(errs, "must be in canonical form ("+strconv.Quote(ip.String())+")")
	}
	return errs
}

// IsValidLegacyIP checks an IP address for fields that are older than the canonical rule. If strict
// is true, leading zeros and IPv4-mapped IPv6 addresses are errors. Values that are stored already
// are checked with strict false.
func IsValidLegacyIP(value string, strict bool) []string {
	_, errs := ParseIP(value, strict)
	return errs
}

// IsValidCIDR checks that value is an address range in its canonical form, the rule for new API
// fields.
func IsValidCIDR(value string) []string {
	p, errs := ParseCIDR(value, true)
	if len(errs) == 0 && p.String() != value {
		errs = append(errs, "must be in canonical form ("+strconv.Quote(p.String())+")")
	}
	return errs
}

// IsValidLegacyCIDR checks an address range for fields that are older than the canonical rule. If
// strict is true, leading zeros, IPv4-mapped IPv6 addresses and bits beyond the prefix are errors.
func IsValidLegacyCIDR(value string, strict bool) []string {
	_, errs := ParseCIDR(value, strict)
	return errs
}

// ParseIP reads an address, and returns the errors of IsValidLegacyIP. It returns an IPv4-mapped
// IPv6 address as IPv4. Errors of strict do not keep it from returning the address.
func ParseIP(value string, strict bool) (netip.Addr, []string) {
	ip, err := netip.ParseAddr(trimZeros(value))
	if err != nil || ip.Zone() != "" {
		return netip.Addr{}, []string{ipMessage}
	}
	var errs []string
	if strict {
		if trimZeros(value) != value {
			errs = append(errs, "must not have leading 0s")
		}
		if ip.Is4In6() {
			errs = append(errs, "must not be an IPv4-mapped IPv6 address")
		}
	}
	return ip.Unmap(), errs
}

// ParseCIDR reads a range, and returns the errors of IsValidLegacyCIDR. The address keeps its bits
// beyond the prefix. Errors of strict do not keep it from returning the range.
func ParseCIDR(value string, strict bool) (netip.Prefix, []string) {
	addr, size, _ := strings.Cut(value, "/")
	bits, err := strconv.Atoi(size)
	ip, ipErr := netip.ParseAddr(trimZeros(addr))
	if err != nil || !all(size, isDigit) || ipErr != nil || ip.Zone() != "" || bits > ip.BitLen() {
		return netip.Prefix{}, []string{cidrMessage}
	}
	p := netip.PrefixFrom(ip, bits)
	if strict {
		switch {
		case ip.Is4In6():
			return p, []string{"must not have an IPv4-mapped IPv6 address"}
		case trimZeros(addr) != addr, len(size) > 1 && size[0] == '0':
			return p, []string{"must not have leading 0s in IP or prefix length"}
		case p.Masked() != p:
			return p, []string{"must not have bits set beyond the prefix length"}
		}
	}
	return p, nil
}

// trimZeros removes leading zeros that netip refuses: from the numbers of an IPv4 address, also at
// the end of an IPv6 address, and from IPv6 groups of more than four digits. Kubernetes accepts
// them, because stored objects have them.
func trimZeros(s string) string {
	start := strings.LastIndexByte(s, ':') + 1
	if strings.Contains(s[start:], ".") {
		s = s[:start] + trimEach(s[start:], ".", 1)
		start--
	} else {
		start = len(s)
	}
	if start <= 4 {
		return s
	}
	return trimEach(s[:start], ":", 4) + s[start:]
}

// trimEach removes leading zeros from each part of s until the part has width digits.
func trimEach(s, sep string, width int) string {
	if !strings.Contains(s, "0") {
		return s
	}
	parts := strings.Split(s, sep)
	for i, p := range parts {
		for len(p) > width && p[0] == '0' {
			p = p[1:]
		}
		parts[i] = p
	}
	return strings.Join(parts, sep)
}
