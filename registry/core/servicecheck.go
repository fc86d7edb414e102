package core

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file validates services after their addresses and ports were allocated. services declares
// checkService for the object and checkServiceStatus for the status. checkClusterIPs runs earlier:
// families.complete calls it before addresses are taken.
//
// Addresses and ranges are checked strictly if they are new. A text that the old object has may
// stay as it is, even with leading zeros or with bits set behind the prefix length (KEP-4858).

// checkService checks a service, and its change if old is not nil. Whether addresses fit the
// families has been checked before they were allocated.
func checkService(svc, old *corev1.Service) field.ErrorList {
	var errs field.ErrorList
	if old != nil {
		errs = checkServiceUpdate(svc, old)
	}
	return append(errs, checkServiceSpec(svc, old)...)
}

// The new and the old name of the annotation that keeps traffic within a zone (KEP-2433).
const (
	topologyMode  = "service.kubernetes.io/topology-mode"
	topologyHints = "service.kubernetes.io/topology-aware-hints"
)

// checkServiceSpec checks a service; old is nil if it is new.
func checkServiceSpec(svc, old *corev1.Service) field.ErrorList {
	spec, p := &svc.Spec, field.NewPath("spec")
	var errs field.ErrorList
	mode, ok := svc.Annotations[topologyMode]
	if hints, both := svc.Annotations[topologyHints]; ok && both && mode != hints {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "annotations").Key(topologyMode), mode,
			"must match annotations["+topologyHints+"] when both are specified"))
	}
	if len(spec.Ports) == 0 && !isHeadless(svc) && spec.Type != corev1.ServiceTypeExternalName {
		errs = append(errs, field.Required(p.Child("ports"), ""))
	}
	errs = append(errs, checkServiceType(p, svc)...)
	seen := check.Duplicates{}
	for i, port := range field.Each(&errs, spec.Ports) {
		errs = append(errs, checkServicePort(p.Child("ports").Index(i), port, len(spec.Ports) > 1, seen)...)
	}
	errs = append(errs, meta.ValidateLabels(spec.Selector, p.Child("selector"))...)
	errs = append(errs, check.OneOf(p.Child("sessionAffinity"), spec.SessionAffinity,
		corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone)...)
	errs = append(errs, checkAffinityConfig(p.Child("sessionAffinityConfig"), spec)...)
	had := check.Duplicates{}
	if old != nil {
		for _, text := range old.Spec.ExternalIPs {
			had.Add(text)
		}
	}
	for i, text := range field.Each(&errs, spec.ExternalIPs) {
		errs = append(errs, checkEndpointIP(p.Child("externalIPs").Index(i), *text, !had[*text])...)
	}
	errs = append(errs, check.OneOf(p.Child("type"), spec.Type,
		corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName, corev1.ServiceTypeLoadBalancer,
		corev1.ServiceTypeNodePort)...)
	errs = append(errs, checkPortNumbers(p.Child("ports"), spec)...)
	errs = append(errs, checkSourceRanges(p.Child("LoadBalancerSourceRanges"), svc, old)...)
	if spec.AllocateLoadBalancerNodePorts != nil && spec.Type != corev1.ServiceTypeLoadBalancer {
		errs = append(errs, field.Forbidden(p.Child("allocateLoadBalancerNodePorts"),
			"may only be used when `type` is 'LoadBalancer'"))
	}
	errs = append(errs, checkBalancerClass(p.Child("loadBalancerClass"), spec)...)
	return append(errs, checkTraffic(p, svc)...)
}

// checkServiceType checks what a type requires or forbids.
func checkServiceType(p *field.Path, svc *corev1.Service) field.ErrorList {
	spec := &svc.Spec
	var errs field.ErrorList
	switch spec.Type {
	case corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
		if isHeadless(svc) {
			errs = append(errs, field.Invalid(p.Child("clusterIPs").Index(0), spec.ClusterIPs[0],
				fmt.Sprintf("may not be set to 'None' for %s services", spec.Type)))
		}
	case corev1.ServiceTypeExternalName:
		errs = append(errs, check.Forbidden(p, "may not be set for ExternalName services", []check.Setting{
			{"clusterIPs", len(spec.ClusterIPs) > 0},
			{"ipFamilies", len(spec.IPFamilies) > 0},
			{"ipFamilyPolicy", spec.IPFamilyPolicy != nil},
		})...)
		errs = append(errs, check.Needed(p.Child("externalName"), strings.TrimSuffix(spec.ExternalName, "."),
			check.DNSSubdomain)...)
	}
	return errs
}

// checkServicePort checks one port. seen collects the names so far. named says that the port needs
// a name, because it has siblings.
func checkServicePort(p *field.Path, port *corev1.ServicePort, named bool, seen check.Duplicates) field.ErrorList {
	var errs field.ErrorList
	switch {
	case port.Name == "" && named:
		errs = append(errs, field.Required(p.Child("name"), ""))
	case port.Name != "":
		errs = append(errs, check.DNSLabel(p.Child("name"), port.Name)...)
		if !seen.Add(port.Name) {
			errs = append(errs, field.Duplicate(p.Child("name"), port.Name))
		}
	}
	errs = append(errs, check.PortNumber(p.Child("port"), port.Port)...)
	errs = append(errs, check.OneOf(p.Child("protocol"), port.Protocol, podspec.Protocols...)...)
	errs = append(errs, check.PortReference(p.Child("targetPort"), port.TargetPort)...)
	if port.AppProtocol != nil {
		errs = append(errs, check.QualifiedName(p.Child("appProtocol"), *port.AppProtocol)...)
	}
	return errs
}

// maxAffinitySeconds is the longest session affinity: one day. The message says "less than" it,
// although it is allowed; the words are Kubernetes'.
const maxAffinitySeconds = 86400

// checkAffinityConfig checks that the timeout is there exactly if the affinity is by client IP.
func checkAffinityConfig(p *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	config := spec.SessionAffinityConfig
	switch spec.SessionAffinity {
	case corev1.ServiceAffinityNone:
		if config != nil {
			return field.ErrorList{field.Forbidden(p, "must not be set when session affinity is None")}
		}
	case corev1.ServiceAffinityClientIP:
		if config == nil {
			return field.ErrorList{field.Required(p, "when session affinity type is ClientIP")}
		}
		if config.ClientIP == nil {
			return field.ErrorList{field.Required(p.Child("clientIP"), "when session affinity type is ClientIP")}
		}
		at, seconds := p.Child("clientIP", "timeoutSeconds"), config.ClientIP.TimeoutSeconds
		if seconds == nil {
			return field.ErrorList{field.Required(at, "when session affinity type is ClientIP")}
		}
		if *seconds <= 0 || *seconds > maxAffinitySeconds {
			return field.ErrorList{field.Invalid(at, *seconds,
				fmt.Sprintf("must be greater than 0 and less than %d", maxAffinitySeconds))}
		}
	}
	return nil
}

// checkEndpointIP checks an address at which nodes accept traffic. strict refuses leading zeros and
// IPv4 addresses in the form of IPv6.
func checkEndpointIP(p *field.Path, text string, strict bool) field.ErrorList {
	if _, msgs := names.ParseIP(text, strict); len(msgs) > 0 {
		return check.Invalid(p, text, msgs)
	}
	return check.EndpointIP(p, text)
}

// checkPortNumbers checks that no two ports have the same number and protocol, and no two the same
// node port and protocol. TCP and UDP may share a number.
func checkPortNumbers(p *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	type key struct {
		protocol corev1.Protocol
		number   int32
	}
	var errs field.ErrorList
	if spec.Type == corev1.ServiceTypeClusterIP {
		for i, port := range field.Each(&errs, spec.Ports) {
			if port.NodePort != 0 {
				errs = append(errs, field.Forbidden(p.Index(i).Child("nodePort"),
					"may not be used when `type` is 'ClusterIP'"))
			}
		}
	}
	nodePorts, ports := make(map[key]bool), make(map[key]bool)
	for i, port := range field.Each(&errs, spec.Ports) {
		if port.NodePort == 0 {
			continue
		}
		k := key{port.Protocol, port.NodePort}
		if nodePorts[k] {
			errs = append(errs, field.Duplicate(p.Index(i).Child("nodePort"), port.NodePort))
		}
		nodePorts[k] = true
	}
	for i, port := range field.Each(&errs, spec.Ports) {
		k := key{port.Protocol, port.Port}
		if ports[k] {
			errs = append(errs, field.Duplicate(p.Index(i),
				govalue.JSON(corev1.ServicePort{Protocol: port.Protocol, Port: port.Port})))
		}
		ports[k] = true
	}
	return errs
}

// sourceRangesAnnotation is the older form of spec.loadBalancerSourceRanges: ranges separated by
// commas.
const sourceRangesAnnotation = "service.beta.kubernetes.io/load-balancer-source-ranges"

// checkSourceRanges checks the ranges of clients that a load balancer lets in. The annotation
// counts only if the field is empty. A range that the old field has, and an annotation that has not
// changed, pass in any form. The path LoadBalancerSourceRanges is Kubernetes' own spelling.
func checkSourceRanges(p *field.Path, svc, old *corev1.Service) field.ErrorList {
	ranges, had := svc.Spec.LoadBalancerSourceRanges, check.Duplicates{}
	at := p.Index
	if annotation, ok := svc.Annotations[sourceRangesAnnotation]; ok && len(ranges) == 0 {
		p = field.NewPath("metadata", "annotations").Key(sourceRangesAnnotation)
		at = func(int) *field.Path { return p }
		same := old != nil && old.Annotations[sourceRangesAnnotation] == annotation
		if !same && strings.TrimSpace(annotation) != "" {
			ranges = strings.Split(annotation, ",")
		}
	} else if len(ranges) == 0 {
		return nil
	}
	var errs field.ErrorList
	if svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		errs = append(errs, field.Forbidden(p, "may only be used when `type` is 'LoadBalancer'"))
	}
	if old != nil {
		for _, text := range old.Spec.LoadBalancerSourceRanges {
			had.Add(strings.TrimSpace(text))
		}
	}
	for i, given := range field.Each(&errs, ranges) {
		text := strings.TrimSpace(*given) // Kubernetes has always accepted blanks around a range
		if !had[text] {
			errs = append(errs, check.Invalid(at(i), text, names.IsValidLegacyCIDR(text, true))...)
		}
	}
	return errs
}

// trafficDistributions are the values of spec.trafficDistribution (KEP-4444, KEP-3015). PreferClose
// is the old name of PreferSameZone.
var trafficDistributions = []string{"PreferClose", "PreferSameZone", "PreferSameNode"}

// checkTraffic checks the policies that choose endpoints: external and internal traffic policy,
// health check port and traffic distribution.
func checkTraffic(p *field.Path, svc *corev1.Service) field.ErrorList {
	spec := &svc.Spec
	var errs field.ErrorList
	external := p.Child("externalTrafficPolicy")
	if corev1.ExternallyAccessible(svc) {
		errs = append(errs, check.OneOf(external, spec.ExternalTrafficPolicy,
			corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal)...)
	} else if spec.ExternalTrafficPolicy != "" {
		errs = append(errs, field.Invalid(external, spec.ExternalTrafficPolicy,
			"may only be set for externally-accessible services"))
	}
	if port := spec.HealthCheckNodePort; port != 0 {
		at := p.Child("healthCheckNodePort")
		if usesHealthCheckPort(svc) {
			errs = append(errs, check.PortNumber(at, port)...)
		} else {
			errs = append(errs, field.Invalid(at, port,
				"may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"))
		}
	}
	errs = append(errs, check.OptionalOneOf(p.Child("internalTrafficPolicy"), spec.InternalTrafficPolicy,
		corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal)...)
	return append(errs, check.OptionalOneOf(p.Child("trafficDistribution"), spec.TrafficDistribution,
		trafficDistributions...)...)
}

// checkClusterIPs checks clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy against each other
// (KEP-563). old may be nil. It runs before addresses are allocated, so all of them may be missing.
func checkClusterIPs(svc, old *corev1.Service) field.ErrorList {
	if !usesClusterIP(svc) {
		return nil
	}
	spec, p := &svc.Spec, field.NewPath("spec")
	ips, families := p.Child("clusterIPs"), p.Child("ipFamilies")
	var errs field.ErrorList
	switch {
	case spec.ClusterIP != "" && len(spec.ClusterIPs) == 0:
		errs = append(errs, field.Required(ips, ""))
	case spec.ClusterIP == "" && len(spec.ClusterIPs) > 0:
		errs = append(errs, field.Invalid(ips, spec.ClusterIPs, "must be empty when `clusterIP` is not specified"))
	case len(spec.ClusterIPs) > 0 && spec.ClusterIPs[0] != spec.ClusterIP:
		errs = append(errs, field.Invalid(ips, spec.ClusterIPs, "first value must match `clusterIP`"))
	}
	seen := check.Duplicates{}
	for i, family := range field.Each(&errs, spec.IPFamilies) {
		errs = append(errs, check.Supported(families.Index(i), *family, corev1.IPv4Protocol, corev1.IPv6Protocol)...)
		if !seen.Add(string(*family)) {
			errs = append(errs, field.Duplicate(families.Index(i), *family))
		}
	}
	errs = append(errs, check.OptionalOneOf(p.Child("ipFamilyPolicy"), spec.IPFamilyPolicy,
		corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack,
		corev1.IPFamilyPolicySingleStack)...)
	var had []string
	if old != nil {
		had = old.Spec.ClusterIPs
	}
	addrs, bad := parseClusterIPs(ips, spec.ClusterIPs, had)
	errs = append(errs, bad...)
	if len(spec.ClusterIPs) > 2 {
		errs = append(errs, field.Invalid(ips, spec.ClusterIPs, "may only hold up to 2 values"))
	}
	if len(bad) > 0 {
		return errs
	}
	odd := slices.Index(addrs, netip.Addr{}) // an invalid text that old had, too
	if len(addrs) > 1 && odd >= 0 {
		errs = append(errs, field.InternalError(ips,
			fmt.Errorf("failed to check for dual stack with error:invalid IP[%d]: %s", odd, spec.ClusterIPs[odd])))
	}
	both := slices.ContainsFunc(addrs, netip.Addr.Is4) && slices.ContainsFunc(addrs, netip.Addr.Is6)
	if len(addrs) > 1 && (odd >= 0 || !both) {
		errs = append(errs, field.Invalid(ips, spec.ClusterIPs, "may specify no more than one IP for each IP family"))
	}
	// There are two families, so a wrong one is the other. A family that is neither has an error
	// already.
	for i, ip := range field.Each(&errs, addrs) {
		if i < len(spec.IPFamilies) && spec.IPFamilies[i] == familyOf(ip.Is6()) {
			errs = append(errs, field.Invalid(ips.Index(i), spec.ClusterIPs[i],
				fmt.Sprintf("expected an %s value as indicated by `ipFamilies[%d]`", spec.IPFamilies[i], i)))
		}
	}
	return errs
}

// parseClusterIPs parses the texts of clusterIPs. "None" must stand alone. An invalid text that is
// among had yields no error, only the zero address.
func parseClusterIPs(p *field.Path, ips, had []string) ([]netip.Addr, field.ErrorList) {
	var errs field.ErrorList
	var addrs []netip.Addr
	for i, given := range field.Each(&errs, ips) {
		text := *given
		if i == 0 && text == clusterIPNone {
			if len(ips) > 1 {
				errs = append(errs, field.Invalid(p, ips, "'None' must be the first and only value"))
			}
			continue
		}
		ip, msgs := names.ParseIP(text, true)
		if !slices.Contains(had, text) {
			errs = append(errs, check.Invalid(p.Index(i), text, msgs)...)
		}
		addrs = append(addrs, ip)
	}
	return addrs, errs
}

// checkServiceUpdate checks a change. While the service has cluster IPs, an address or family never
// changes; only a second one may be added or removed, and ipFamilyPolicy must allow that. If the
// type changes between one with cluster IPs and ExternalName, addresses and families may change.
func checkServiceUpdate(svc, old *corev1.Service) field.ErrorList {
	p := field.NewPath("spec")
	var errs field.ErrorList
	if usesClusterIP(svc) && usesClusterIP(old) {
		if !isHeadless(svc) || !isHeadless(old) {
			errs = append(errs, clusterIPsUpdate(p.Child("clusterIPs"), svc.Spec.ClusterIPs, old.Spec.ClusterIPs)...)
		}
		if !isHeadless(svc) && !isHeadless(old) {
			errs = append(errs, familiesUpdate(p.Child("ipFamilies").Index(0), &svc.Spec, old.Spec.IPFamilies)...)
		}
	}
	errs = append(errs, classUpdate(p.Child("loadBalancerClass"), svc, old)...)
	errs = append(errs, checkBalancerClass(p.Child("loadBalancerClass"), &svc.Spec)...) // as kube-apiserver, twice
	if usesHealthCheckPort(svc) && usesHealthCheckPort(old) &&
		svc.Spec.HealthCheckNodePort != old.Spec.HealthCheckNodePort {
		errs = append(errs, field.Forbidden(p.Child("healthCheckNodePort"), "field is immutable"))
	}
	return errs
}

// checkBalancerClass checks the class that says which controller implements a load balancer
// (KEP-1959).
func checkBalancerClass(p *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	switch {
	case spec.LoadBalancerClass == nil:
		return nil
	case spec.Type != corev1.ServiceTypeLoadBalancer:
		return field.ErrorList{field.Forbidden(p, "may only be used when `type` is 'LoadBalancer'")}
	}
	return check.QualifiedName(p, *spec.LoadBalancerClass)
}

// clusterIPsUpdate checks that the old addresses stay. dropSecondary and checkSingleStack have
// checked that their number changes only as the policy allows.
func clusterIPsUpdate(p *field.Path, now, was []string) field.ErrorList {
	var errs field.ErrorList
	for i := range field.Each(&errs, was[:min(len(now), len(was))]) {
		if now[i] != was[i] {
			errs = append(errs, field.Invalid(p.Index(i), now, "may not change once set"))
		}
	}
	return errs
}

// familiesUpdate checks that the old families stay. If their number changes, the error shows the
// addresses instead of the families, as in kube-apiserver.
func familiesUpdate(p *field.Path, spec *corev1.ServiceSpec, was []corev1.IPFamily) field.ErrorList {
	var errs field.ErrorList
	now := spec.IPFamilies
	if len(now) != len(was) {
		if len(now) > 0 && len(was) > 0 && now[0] != was[0] {
			errs = append(errs, field.Invalid(p, spec.ClusterIPs, "may not change once set"))
		}
		return errs
	}
	for i := range now {
		if now[i] != was[i] {
			errs = append(errs, field.Invalid(p, now, "may not change once set"))
		}
	}
	return errs
}

// classUpdate keeps the class of a load balancer while the service stays one: another controller
// would not clean up what the first has set up.
func classUpdate(p *field.Path, svc, old *corev1.Service) field.ErrorList {
	const lb = corev1.ServiceTypeLoadBalancer
	now, was := svc.Spec.LoadBalancerClass, old.Spec.LoadBalancerClass
	if old.Spec.Type != lb || svc.Spec.Type != lb || scheme.Equal(now, was) {
		return nil
	}
	return field.ErrorList{field.Invalid(p, now, "may not change once set")}
}

// checkServiceStatus checks the points at which traffic enters a load balancer, with the mode of
// their IPs (KEP-1860). Addresses that the old status has may stay in any form.
func checkServiceStatus(svc, old *corev1.Service) field.ErrorList {
	p := field.NewPath("status", "loadBalancer", "ingress")
	ingress := svc.Status.LoadBalancer.Ingress
	if svc.Spec.Type != corev1.ServiceTypeLoadBalancer && len(ingress) > 0 {
		return field.ErrorList{field.Forbidden(p, "may only be used when `spec.type` is 'LoadBalancer'")}
	}
	had := make(map[string]bool, len(old.Status.LoadBalancer.Ingress))
	for _, ing := range old.Status.LoadBalancer.Ingress {
		had[ing.IP] = true
	}
	var errs field.ErrorList
	for i, ing := range field.Each(&errs, ingress) {
		p := p.Index(i)
		if ing.IP != "" && !had[ing.IP] {
			errs = append(errs, check.Invalid(p.Child("ip"), ing.IP, names.IsValidLegacyIP(ing.IP, true))...)
		}
		mode := p.Child("ipMode")
		switch {
		case ing.IP != "" && ing.IPMode == nil:
			errs = append(errs, field.Required(mode, "must be specified when `ip` is set"))
		case ing.IP == "" && ing.IPMode != nil:
			errs = append(errs, field.Forbidden(mode, "may not be specified when `ip` is not set"))
		case ing.IPMode != nil:
			errs = append(errs, check.Supported(mode, *ing.IPMode, corev1.LoadBalancerIPModeProxy,
				corev1.LoadBalancerIPModeVIP)...)
		}
		if ing.Hostname != "" {
			errs = append(errs, check.DNSSubdomain(p.Child("hostname"), ing.Hostname)...)
			errs = append(errs, check.NoIP(p.Child("hostname"), ing.Hostname)...)
		}
	}
	return errs
}
