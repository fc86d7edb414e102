package core

import (
	"fmt"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// serviceWarnings tells of deprecated fields, fields that the type ignores, and addresses that are
// not canonical. The order is that of kube-apiserver.
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
		warnings = append(warnings, check.AddressWarnings(p.Child("clusterIPs"), spec.ClusterIPs, check.IPWarnings)...)
	}
	add(headless && spec.LoadBalancerIP != "", "spec.loadBalancerIP is ignored for headless services")
	add(headless && external, "spec.externalIPs is ignored for headless services")
	add(headless && spec.SessionAffinity != corev1.ServiceAffinityNone,
		"spec.SessionAffinity is ignored for headless services")
	warnings = append(warnings, check.AddressWarnings(p.Child("externalIPs"), spec.ExternalIPs, check.IPWarnings)...)
	add(external && !headless && !named,
		"spec.externalIPs is deprecated and may no longer be implemented in some clusters")
	if spec.LoadBalancerIP != "" {
		warnings = append(warnings, check.IPWarnings(p.Child("loadBalancerIP"), spec.LoadBalancerIP)...)
	}
	warnings = append(warnings, check.AddressWarnings(p.Child("loadBalancerSourceRanges"),
		spec.LoadBalancerSourceRanges, check.CIDRWarnings)...)
	add(named && external, "spec.externalIPs is ignored when spec.type is %q", corev1.ServiceTypeExternalName)
	add(!named && spec.ExternalName != "", "spec.externalName is ignored when spec.type is not %q",
		corev1.ServiceTypeExternalName)
	if d := spec.TrafficDistribution; d != nil {
		add(*d == "PreferClose", "spec.trafficDistribution: %q is deprecated; use %q", *d, "PreferSameZone")
	}
	return warnings
}

// serviceStatusWarnings tells of addresses of a load balancer that are not canonical.
func serviceStatusWarnings(svc, _ *corev1.Service) []string {
	ips := make([]string, len(svc.Status.LoadBalancer.Ingress))
	for i := range ips {
		ips[i] = svc.Status.LoadBalancer.Ingress[i].IP
	}
	return check.AddressWarnings(field.NewPath("status", "loadBalancer", "ingress"), ips, check.IPWarnings)
}
