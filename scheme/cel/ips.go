package cel

import (
	"fmt"
	"net/netip"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// ipType is the type of addresses, which ip() makes of strings.
var ipType = &valueType[netip.Addr]{
	Type:     cel.OpaqueType("net.IP"),
	short:    "IP",
	text:     netip.Addr.String,
	equal:    func(a, b netip.Addr) bool { return a == b },
	converts: true,
}

// An ipValue is an address. Its size is its length in bytes; the cost of != follows from it.
type ipValue struct{ *value[netip.Addr] }

// Size implements traits.Sizer.
func (v ipValue) Size() ref.Val { return types.Int(v.v.BitLen() / 8) }

// Equal implements ref.Val.
func (v ipValue) Equal(other ref.Val) ref.Val {
	if o, ok := other.(ipValue); ok {
		return v.value.Equal(o.value)
	}
	return types.MaybeNoSuchOverloadErr(other)
}

// ips returns the declarations of the IP library: ip(), isIP() and the properties of an address.
func ips() []cel.EnvOption {
	is := func(name, id string, holds func(netip.Addr) bool) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload(id, []*cel.Type{ipType.Type}, cel.BoolType,
			cel.UnaryBinding(on(func(ip netip.Addr) ref.Val { return types.Bool(holds(ip)) }))))
	}
	text := []*cel.Type{cel.StringType}
	return []cel.EnvOption{
		cel.Types(ipType.Type),
		cel.Function("ip", cel.Overload("string_to_ip", text, ipType.Type, cel.UnaryBinding(on(toIP)))),
		cel.Function("isIP", cel.Overload("is_ip", text, cel.BoolType, cel.UnaryBinding(on(isIP)))),
		cel.Function("ip.isCanonical", cel.Overload("ip_is_canonical", text, cel.BoolType,
			cel.UnaryBinding(on(isCanonicalIP)))),
		cel.Function("string", cel.Overload("ip_to_string", []*cel.Type{ipType.Type}, cel.StringType,
			cel.UnaryBinding(on(func(ip netip.Addr) ref.Val { return types.String(ip.String()) })))),
		cel.Function("family", cel.MemberOverload("ip_family", []*cel.Type{ipType.Type}, cel.IntType,
			cel.UnaryBinding(on(family)))),
		is("isUnspecified", "ip_is_unspecified", netip.Addr.IsUnspecified),
		is("isLoopback", "ip_is_loopback", netip.Addr.IsLoopback),
		is("isLinkLocalMulticast", "ip_is_link_local_multicast", netip.Addr.IsLinkLocalMulticast),
		is("isLinkLocalUnicast", "ip_is_link_local_unicast", netip.Addr.IsLinkLocalUnicast),
		is("isGlobalUnicast", "ip_is_global_unicast", netip.Addr.IsGlobalUnicast),
	}
}

// parseIP parses an address. It refuses zones and IPv4 addresses written as IPv6, so that each
// address has one meaning.
func parseIP(s string) (netip.Addr, error) {
	ip, err := netip.ParseAddr(s)
	switch {
	case err != nil:
		return ip, fmt.Errorf("IP Address %q parse error during conversion from string: %v", s, err)
	case ip.Zone() != "":
		return ip, fmt.Errorf("IP address %q with zone value is not allowed", s)
	case ip.Is4In6():
		return ip, fmt.Errorf("IPv4-mapped IPv6 address %q is not allowed", s)
	}
	return ip, nil
}

func toIP(s string) ref.Val {
	ip, err := parseIP(s)
	if err != nil {
		return types.WrapErr(err)
	}
	return ipOf(ip)
}

// ipOf returns the CEL value of an address.
func ipOf(ip netip.Addr) ref.Val { return ipValue{ipType.of(ip)} }

func isIP(s string) ref.Val {
	_, err := parseIP(s)
	return types.Bool(err == nil)
}

func isCanonicalIP(s string) ref.Val {
	ip, err := parseIP(s)
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Bool(ip.String() == s)
}

func family(ip netip.Addr) ref.Val {
	if ip.Is4() {
		return types.Int(4)
	}
	return types.Int(6)
}
