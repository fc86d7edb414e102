package core

import (
	"fmt"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// maxAddressWarnings are more of a list of addresses than a client is sent: see request.Info.
const maxAddressWarnings = 100

func serviceWarnings(svc, _ *corev1.Service) []string {
	spec, p := &svc.Spec, field.NewPath("spec")
	var warnings []string
	add := func(is bool, format string, args ...any) {
		if is {
			warnings = append(warnings, fmt.Sprintf(format, args...))
		}
	}
	_, hints := svc.Annotations[topologyHints]
	add(hints, "annotation %s is deprecated, please use %s instead", topologyHints, topologyMode)
	headless := spec.Type == corev1.ServiceTypeClusterIP && spec.ClusterIP == clusterIPNone
	external, named := len(spec.ExternalIPs) > 0, spec.Type == corev1.ServiceTypeExternalName
	if spec.ClusterIP != clusterIPNone {
		warnings = append(warnings, addressWarnings(p.Child("clusterIPs"), spec.ClusterIPs, addressWarning)...)
	}
	add(headless && spec.LoadBalancerIP != "", "spec.loadBalancerIP is ignored for headless services")
	add(headless && external, "spec.externalIPs is ignored for headless services")
	add(headless && spec.SessionAffinity != corev1.ServiceAffinityNone, "spec.SessionAffinity is ignored for headless services")
	warnings = append(warnings, addressWarnings(p.Child("externalIPs"), spec.ExternalIPs, addressWarning)...)
	add(external && !headless && !named, "spec.externalIPs is deprecated and may no longer be implemented in some clusters")
	if spec.LoadBalancerIP != "" {
		warnings = append(warnings, addressWarning(p.Child("loadBalancerIP"), spec.LoadBalancerIP)...)
	}
	warnings = append(warnings, addressWarnings(p.Child("loadBalancerSourceRanges"), spec.LoadBalancerSourceRanges, rangeWarning)...)
	add(named && external, "spec.externalIPs is ignored when spec.type is %q", corev1.ServiceTypeExternalName)
	add(!named && spec.ExternalName != "", "spec.externalName is ignored when spec.type is not %q", corev1.ServiceTypeExternalName)
	if d := spec.TrafficDistribution; d != nil {
		add(*d == "PreferClose", "spec.trafficDistribution: %q is deprecated; use %q", *d, "PreferSameZone")
	}
	return warnings
}

func serviceStatusWarnings(svc, _ *corev1.Service) []string {
	ips := make([]string, len(svc.Status.LoadBalancer.Ingress))
	for i := range ips {
		ips[i] = svc.Status.LoadBalancer.Ingress[i].IP
	}
	return addressWarnings(field.NewPath("status", "loadBalancer", "ingress"), ips, addressWarning)
}

// addressWarnings tells of the addresses or ranges of a list that are not written as they should be, which is what warning
// says of each.
func addressWarnings(p *field.Path, list []string, warning func(p *field.Path, text string) []string) []string {
	var warnings []string
	for i, text := range list {
		if len(warnings) == maxAddressWarnings {
			break
		}
		warnings = append(warnings, warning(p.Index(i), text)...)
	}
	return warnings
}

// addressWarning tells of a valid address that has leading zeros, is of IPv4 in the form of IPv6, or is not canonical.
func addressWarning(p *field.Path, text string) []string {
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

// rangeWarning tells of a range of IPv6 that is not canonical. What else is odd about ranges is refused.
func rangeWarning(p *field.Path, text string) []string {
	if prefix, _ := names.ParseCIDR(text, true); prefix.Addr().Is6() && prefix.String() != text {
		return []string{fmt.Sprintf("%s: IPv6 CIDR value %q should be in RFC 5952 canonical format (%q)", p, text, prefix)}
	}
	return nil
}
