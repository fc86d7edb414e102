package cel

import (
	"fmt"
	"net/netip"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// cidrType is the type of network prefixes, which cidr() makes of strings.
var cidrType = &valueType[netip.Prefix]{
	Type:     cel.OpaqueType("net.CIDR"),
	short:    "CIDR",
	text:     netip.Prefix.String,
	equal:    func(a, b netip.Prefix) bool { return a == b },
	converts: true,
}

// A cidrValue is a network prefix. Its size is the length of the prefix in bytes; the costs of
// containsIP, containsCIDR and != follow from it.
type cidrValue struct{ *value[netip.Prefix] }

// Size implements traits.Sizer.
func (v cidrValue) Size() ref.Val { return types.Int((v.v.Bits() + 7) / 8) }

// Equal implements ref.Val.
func (v cidrValue) Equal(other ref.Val) ref.Val {
	if o, ok := other.(cidrValue); ok {
		return v.value.Equal(o.value)
	}
	return types.MaybeNoSuchOverloadErr(other)
}

// cidrs returns the declarations of the CIDR library: cidr(), isCIDR(), containsIP(),
// containsCIDR() and the parts of a prefix.
func cidrs() []cel.EnvOption {
	text, self := []*cel.Type{cel.StringType}, []*cel.Type{cidrType.Type}
	with := func(other *cel.Type) []*cel.Type { return []*cel.Type{cidrType.Type, other} }
	return []cel.EnvOption{
		cel.Types(cidrType.Type),
		cel.Function("cidr", cel.Overload("string_to_cidr", text, cidrType.Type, cel.UnaryBinding(on(toCIDR)))),
		cel.Function("isCIDR", cel.Overload("is_cidr", text, cel.BoolType, cel.UnaryBinding(on(isCIDR)))),
		cel.Function("string", cel.Overload("cidr_to_string", self, cel.StringType,
			cel.UnaryBinding(on(func(n netip.Prefix) ref.Val { return types.String(n.String()) })))),
		cel.Function("containsIP",
			cel.MemberOverload("cidr_contains_ip_string", with(cel.StringType), cel.BoolType,
				cel.BinaryBinding(on2(containsIPText))),
			cel.MemberOverload("cidr_contains_ip_ip", with(ipType.Type), cel.BoolType,
				cel.BinaryBinding(on2(containsIP)))),
		cel.Function("containsCIDR",
			cel.MemberOverload("cidr_contains_cidr_string", with(cel.StringType), cel.BoolType,
				cel.BinaryBinding(on2(containsCIDRText))),
			cel.MemberOverload("cidr_contains_cidr", with(cidrType.Type), cel.BoolType,
				cel.BinaryBinding(on2(containsCIDR)))),
		cel.Function("ip", cel.MemberOverload("cidr_ip", self, ipType.Type,
			cel.UnaryBinding(on(func(n netip.Prefix) ref.Val { return ipOf(n.Addr()) })))),
		cel.Function("prefixLength", cel.MemberOverload("cidr_prefix_length", self, cel.IntType,
			cel.UnaryBinding(on(func(n netip.Prefix) ref.Val { return types.Int(n.Bits()) })))),
		cel.Function("masked", cel.MemberOverload("cidr_masked", self, cidrType.Type,
			cel.UnaryBinding(on(func(n netip.Prefix) ref.Val { return cidrOf(n.Masked()) })))),
	}
}

// parseCIDR parses a prefix. IPv4 addresses written as IPv6 are refused, as in Kubernetes.
func parseCIDR(s string) (netip.Prefix, error) {
	n, err := netip.ParsePrefix(s)
	if err != nil {
		return n, fmt.Errorf("network address parse error during conversion from string: %v", err)
	}
	if n.Addr().Is4In6() {
		return n, fmt.Errorf("IPv4-mapped IPv6 address %q is not allowed", s)
	}
	return n, nil
}

func toCIDR(s string) ref.Val {
	n, err := parseCIDR(s)
	if err != nil {
		return types.NewErr("network address parse error during conversion from string: %v", err)
	}
	return cidrOf(n)
}

// cidrOf returns the CEL value of a prefix.
func cidrOf(n netip.Prefix) ref.Val { return cidrValue{cidrType.of(n)} }

func isCIDR(s string) ref.Val {
	_, err := parseCIDR(s)
	return types.Bool(err == nil)
}

func containsIP(n netip.Prefix, ip netip.Addr) ref.Val { return types.Bool(n.Contains(ip)) }

// containsIPText implements containsIP() for a string. If the string is no address, the error does
// not say why; kube-apiserver's does not either.
func containsIPText(n netip.Prefix, s string) ref.Val {
	ip, err := parseIP(s)
	if err != nil {
		return types.NoSuchOverloadErr()
	}
	return containsIP(n, ip)
}

// containsCIDR reports whether inner lies within n.
func containsCIDR(n, inner netip.Prefix) ref.Val {
	return types.Bool(n.Overlaps(inner) && n.Bits() <= inner.Bits())
}

func containsCIDRText(n netip.Prefix, s string) ref.Val {
	inner := toCIDR(s)
	if v, ok := inner.(cidrValue); ok {
		return containsCIDR(n, v.v)
	}
	return inner
}
