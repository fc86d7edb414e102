package core

import (
	"slices"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file declares services, and says which type of service uses what: cluster IPs, node ports,
// the port for health checks. Allocation is in servicereserve.go and the files that it names,
// validation in servicecheck.go, IP families in servicefamilies.go.
//
// The order of a write: reserveService completes the object and takes addresses and ports; then
// prepareService, checkService and dropInternalPolicy run; after the store has answered, the
// reservations are settled.

// services declares services. Complete repairs what older servers stored: see
// families.completeStored.
func services(c Config) registry.Resource {
	return registry.Typed(registry.ResourceOf[*corev1.Service]{
		GroupResource: meta.GroupResource{Resource: "services"},
		Kind:          "Service", ShortNames: []string{"svc"}, Categories: []string{"all"},
		Namespaced: true,
		Complete:   familiesOf(c.ServiceRanges).completeStored,
		CompleteNeeds: []string{
			"spec: clusterIP is clusterIPs[0]", "spec.ipFamilies | spec.type=ExternalName",
			"!spec.internalTrafficPolicy | spec.type=ClusterIP | spec.type=NodePort | spec.type=LoadBalancer",
		},
		Strategy: registry.StrategyOf[*corev1.Service]{
			Metadata:                 registry.MetaChange,
			ValidateName:             names.DNSLabelName,
			Prepare:                  prepareService,
			Validate:                 checkService,
			Warnings:                 serviceWarnings,
			Canonicalize:             dropInternalPolicy,
			AllowCreateOnUpdate:      true,
			AllowUnconditionalUpdate: true,
		},
		Reserve: reserveService(familiesOf(c.ServiceRanges),
			reserveAddresses(newAddressPool(&c)), reservePorts(c.NodePorts), takeEndpoints(c.Stores)),
		Status: &registry.StatusOf[*corev1.Service]{Validate: checkServiceStatus, Warnings: serviceStatusWarnings},
		Fields: []registry.FieldValue{
			{Label: "spec.clusterIP", Path: "spec.clusterIP"}, {Label: "spec.type", Path: "spec.type"},
		},
		Table:          serviceTable,
		ReturnsDeleted: true,
	})
}

// prepareService clears the fields that only the old type of the service used, if an update changes
// the type; see dropUseless.
func prepareService(_ *registry.Request, svc, old *corev1.Service) {
	if old != nil {
		dropUseless(svc, old)
	}
}

// dropInternalPolicy removes internalTrafficPolicy from an ExternalName, which has no traffic in
// the cluster. Early releases set it there by default, so manifests may have it (KEP-2086).
func dropInternalPolicy(svc *corev1.Service) {
	if svc.Spec.Type == corev1.ServiceTypeExternalName {
		svc.Spec.InternalTrafficPolicy = nil
	}
}

// What each type of service uses.

// usesClusterIP reports whether a service has cluster IPs or is headless, as all but ExternalName.
func usesClusterIP(svc *corev1.Service) bool { return svc.Spec.Type != corev1.ServiceTypeExternalName }

// usesNodePorts reports whether each port of a service must have a node port. A load balancer can
// go without them (allocateLoadBalancerNodePorts, KEP-1864); allocatesPorts is true for such a load
// balancer, too, because its client may ask for node ports.
func usesNodePorts(svc *corev1.Service) bool {
	switch svc.Spec.Type {
	case corev1.ServiceTypeNodePort:
		return true
	case corev1.ServiceTypeLoadBalancer:
		allocate := svc.Spec.AllocateLoadBalancerNodePorts
		return allocate == nil || *allocate
	}
	return false
}

// usesHealthCheckPort reports whether a service has a port for health checks: the load balancer
// asks each node on that port whether the node has endpoints of the service.
func usesHealthCheckPort(svc *corev1.Service) bool {
	return svc.Spec.Type == corev1.ServiceTypeLoadBalancer &&
		svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// clusterIPNone is the cluster IP of a headless service, which wants no address.
const clusterIPNone = "None"

// isHeadless reports whether a service has refused cluster IPs.
func isHeadless(svc *corev1.Service) bool {
	return len(svc.Spec.ClusterIPs) > 0 && svc.Spec.ClusterIPs[0] == clusterIPNone
}

// keepAllocated fills in the addresses and ports that an update leaves out and old has, if both
// types use them. So a client can update a service from a manifest that has never had them.
func keepAllocated(svc, old *corev1.Service) {
	spec, was := &svc.Spec, &old.Spec
	if usesClusterIP(svc) && usesClusterIP(old) {
		if spec.ClusterIP == "" {
			spec.ClusterIP = was.ClusterIP
		}
		if len(spec.ClusterIPs) == 0 {
			spec.ClusterIPs = slices.Clone(was.ClusterIPs)
		}
	}
	if usesNodePorts(svc) && usesNodePorts(old) {
		keepNodePorts(spec.Ports, was.Ports)
	}
	if usesHealthCheckPort(svc) && usesHealthCheckPort(old) && spec.HealthCheckNodePort == 0 {
		spec.HealthCheckNodePort = was.HealthCheckNodePort
	}
}

// keepNodePorts gives each port without a node port the node port that the old port of the same
// name had, unless another port asks for that node port.
func keepNodePorts(ports, old []corev1.ServicePort) {
	byName, used := make(map[string]int32), make(map[int32]bool)
	for _, p := range old {
		byName[p.Name] = p.NodePort
	}
	for _, p := range ports {
		used[p.NodePort] = p.NodePort != 0
	}
	for i := range ports {
		if p := &ports[i]; p.NodePort == 0 && !used[byName[p.Name]] {
			p.NodePort = byName[p.Name]
		}
	}
}

// completeClusterIPs makes clusterIPs follow clusterIP if the client knows only the latter, which
// is older (KEP-563). old is nil on create. If the client changed clusterIP alone, clusterIPs
// becomes that address; if it changed both, checkClusterIPs compares them.
func completeClusterIPs(svc, old *corev1.Service) {
	spec := &svc.Spec
	switch {
	case old == nil || spec.ClusterIP == old.Spec.ClusterIP:
		if len(spec.ClusterIPs) > 0 || spec.ClusterIP == "" {
			return
		}
		spec.ClusterIPs = []string{spec.ClusterIP}
		if old != nil {
			spec.ClusterIPs = slices.Clone(old.Spec.ClusterIPs)
		}
	case !slices.Equal(spec.ClusterIPs, old.Spec.ClusterIPs): // the client changed both
	case spec.ClusterIP == "":
		spec.ClusterIPs = nil
	default:
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
}

// dropUseless clears what the old type used and the new type does not, if the client left it
// unchanged. A changed value stays: validation refuses it. The status of a load balancer is cleared
// with the type, although the balancer itself may forward traffic for a while.
func dropUseless(svc, old *corev1.Service) {
	spec, was := &svc.Spec, &old.Spec
	if usesClusterIP(old) && !usesClusterIP(svc) {
		if spec.ClusterIP == was.ClusterIP && slices.Equal(spec.ClusterIPs, was.ClusterIPs) {
			spec.ClusterIP, spec.ClusterIPs = "", nil
		}
		if slices.Equal(spec.IPFamilies, was.IPFamilies) {
			spec.IPFamilies = nil
		}
		dropSame(&spec.IPFamilyPolicy, was.IPFamilyPolicy)
		dropSame(&spec.InternalTrafficPolicy, was.InternalTrafficPolicy)
	}
	if allocatesPorts(old) && !allocatesPorts(svc) && sameNodePorts(spec.Ports, was.Ports) {
		for i := range spec.Ports {
			spec.Ports[i].NodePort = 0
		}
	}
	if usesHealthCheckPort(old) && !usesHealthCheckPort(svc) && spec.HealthCheckNodePort == was.HealthCheckNodePort {
		spec.HealthCheckNodePort = 0
	}
	if was.Type == corev1.ServiceTypeLoadBalancer && spec.Type != corev1.ServiceTypeLoadBalancer {
		dropSame(&spec.AllocateLoadBalancerNodePorts, was.AllocateLoadBalancerNodePorts)
		dropSame(&spec.LoadBalancerClass, was.LoadBalancerClass)
	}
	if corev1.ExternallyAccessible(old) && !corev1.ExternallyAccessible(svc) &&
		spec.ExternalTrafficPolicy == was.ExternalTrafficPolicy {
		spec.ExternalTrafficPolicy = ""
	}
	if spec.Type != corev1.ServiceTypeLoadBalancer {
		svc.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	}
}

// dropSame clears *p if it equals old.
func dropSame[T comparable](p **T, old *T) {
	if *p != nil && old != nil && **p == *old {
		*p = nil
	}
}

// sameNodePorts reports whether two lists of ports have the same set of node ports.
func sameNodePorts(a, b []corev1.ServicePort) bool {
	set := func(ports []corev1.ServicePort) []int32 {
		var list []int32
		for _, p := range ports {
			if p.NodePort != 0 {
				list = append(list, p.NodePort)
			}
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	return slices.Equal(set(a), set(b))
}
