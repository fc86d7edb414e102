package names

import (
	"net/netip"
	"strconv"
	"strings"
)

const (
	ipMessage   = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
	cidrMessage = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
)

// IsValidIP checks an IP address in its canonical form, the rule for new API fields.
func IsValidIP(value string) []string {
	ip, errs := ParseIP(value, true)
	if len(errs) == 0 && ip.String() != value {
		errs = append(errs, "must be in canonical form ("+strconv.Quote(ip.String())+")")
	}
	return errs
}

// IsValidLegacyIP checks an IP address for fields older than the canonical rule. With strict,
// leading zeros and IPv4-mapped IPv6 addresses are refused; values that are stored already are
// checked without.
func IsValidLegacyIP(value string, strict bool) []string {
	_, errs := ParseIP(value, strict)
	return errs
}

// IsValidCIDR checks an address range in its canonical form, the rule for new API fields.
func IsValidCIDR(value string) []string {
	p, errs := ParseCIDR(value, true)
	if len(errs) == 0 && p.String() != value {
		errs = append(errs, "must be in canonical form ("+strconv.Quote(p.String())+")")
	}
	return errs
}

// IsValidLegacyCIDR checks an address range for fields older than the canonical rule; see
// IsValidLegacyIP for strict, which here refuses bits beyond the prefix, too.
func IsValidLegacyCIDR(value string, strict bool) []string {
	_, errs := ParseCIDR(value, strict)
	return errs
}

// ParseIP reads an address as IsValidLegacyIP checks it. IPv4-mapped IPv6 addresses come back as
// IPv4.
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

// ParseCIDR reads a range as IsValidLegacyCIDR checks it. The address keeps the bits beyond the
// prefix.
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

// trimZeros drops leading zeros from the numbers of an IPv4 address, alone or at the end of an IPv6
// address, and from IPv6 groups of more than four digits. Both have long been accepted here, and
// stored objects have them; netip refuses them.
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

// trimEach drops leading zeros from each part of s that has more than width digits.
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
