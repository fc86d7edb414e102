package corev1

import (
	"maps"
	"slices"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// NamespaceNameLabel is the label of every namespace that holds its name, so that selectors can
// pick it.
const NamespaceNameLabel = "kubernetes.io/metadata.name"

// DefaultAffinitySeconds is how long session affinity lasts by default.
const DefaultAffinitySeconds = 10800

// defaultNamespace gives a namespace its phase and, once it has a name, its name label.
func defaultNamespace(ns *Namespace) {
	scheme.SetDefault(&ns.Status.Phase, NamespaceActive)
	if ns.Name == "" {
		return
	}
	if ns.Labels == nil {
		ns.Labels = make(map[string]string, 1)
	}
	ns.Labels[NamespaceNameLabel] = ns.Name
}

// defaultSecret folds stringData into data, which it wins over, and sets the type.
func defaultSecret(s *Secret) {
	if len(s.StringData) > 0 && s.Data == nil {
		s.Data = make(map[string][]byte, len(s.StringData))
	}
	for k, v := range s.StringData {
		s.Data[k] = []byte(v)
	}
	s.StringData = nil
	scheme.SetDefault(&s.Type, SecretTypeOpaque)
}

// defaultNode makes podCIDR and podCIDRs agree (podCIDR decides) and takes capacity for
// allocatable.
func defaultNode(n *Node) {
	spec, status := &n.Spec, &n.Status
	spec.PodCIDRs = agree(spec.PodCIDR, spec.PodCIDRs)
	if len(spec.PodCIDRs) > 0 {
		spec.PodCIDR = spec.PodCIDRs[0]
	}
	roundResources(status.Capacity)
	roundResources(status.Allocatable)
	if status.Allocatable == nil && status.Capacity != nil {
		status.Allocatable = maps.Clone(status.Capacity)
	}
}

// agree returns the list that a single old field and its newer plural form mean together: the old
// one decides.
func agree(single string, plural []string) []string {
	if single != "" && (len(plural) == 0 || plural[0] != single) {
		return []string{single}
	}
	return plural
}

// defaultService sets what a service leaves open. Addresses and node ports are not defaults but
// allocated.
func defaultService(svc *Service) {
	spec := &svc.Spec
	scheme.SetDefault(&spec.SessionAffinity, ServiceAffinityNone)
	switch spec.SessionAffinity {
	case ServiceAffinityNone:
		spec.SessionAffinityConfig = nil
	case ServiceAffinityClientIP:
		if c := spec.SessionAffinityConfig; c == nil || c.ClientIP == nil || c.ClientIP.TimeoutSeconds == nil {
			spec.SessionAffinityConfig = &SessionAffinityConfig{
				ClientIP: &ClientIPConfig{TimeoutSeconds: new(int32(DefaultAffinitySeconds))},
			}
		}
	}
	scheme.SetDefault(&spec.Type, ServiceTypeClusterIP)
	if ExternallyAccessible(svc) {
		scheme.SetDefault(&spec.ExternalTrafficPolicy, ServiceExternalTrafficPolicyCluster)
	}
	if spec.InternalTrafficPolicy == nil && hasClusterIP(spec.Type) {
		spec.InternalTrafficPolicy = new(ServiceInternalTrafficPolicyCluster)
	}
	if spec.Type != ServiceTypeLoadBalancer {
		return
	}
	scheme.SetPointer(&spec.AllocateLoadBalancerNodePorts, true)
	for i := range svc.Status.LoadBalancer.Ingress {
		if ing := &svc.Status.LoadBalancer.Ingress[i]; ing.IP != "" {
			scheme.SetPointer(&ing.IPMode, LoadBalancerIPModeVIP)
		}
	}
}

// defaultServicePort targets the port of the pods that has the same number. Its protocol has a
// default of its own.
func defaultServicePort(p *ServicePort) {
	if p.TargetPort == meta.FromInt32(0) || p.TargetPort == meta.FromString("") {
		p.TargetPort = meta.FromInt32(p.Port)
	}
}

// ExternallyAccessible reports whether traffic from outside the cluster can reach a service, which
// is when its external traffic policy matters.
func ExternallyAccessible(svc *Service) bool {
	switch svc.Spec.Type {
	case ServiceTypeLoadBalancer, ServiceTypeNodePort:
		return true
	case ServiceTypeClusterIP:
		return len(svc.Spec.ExternalIPs) > 0
	}
	return false
}

func hasClusterIP(t ServiceType) bool {
	return slices.Contains([]ServiceType{ServiceTypeClusterIP, ServiceTypeNodePort, ServiceTypeLoadBalancer}, t)
}

func defaultEndpointPort(p *EndpointPort) { scheme.SetDefault(&p.Protocol, ProtocolTCP) }

// CompleteController sets the selector and the labels of rc, if they are empty, to the labels of
// its template.
func CompleteController(rc *ReplicationController) {
	if rc.Spec.Template == nil {
		return
	}
	labels := rc.Spec.Template.Labels
	if len(rc.Spec.Selector) == 0 && labels != nil {
		rc.Spec.Selector = maps.Clone(labels)
	}
	if len(rc.Labels) == 0 && labels != nil {
		rc.Labels = maps.Clone(labels)
	}
}

// defaultLimitRangeItem completes what containers get if they do not say: max is their limit, and
// their limit, or else min, is their request.
func defaultLimitRangeItem(item *LimitRangeItem) {
	if item.Type == LimitTypeContainer {
		addMissing(&item.Default, item.Max)
		addMissing(&item.DefaultRequest, item.Default)
		addMissing(&item.DefaultRequest, item.Min)
	}
	for _, list := range []ResourceList{
		item.Max, item.Min, item.Default, item.DefaultRequest, item.MaxLimitRequestRatio,
	} {
		roundResources(list)
	}
}

// addMissing adds the amounts of resources that a list does not have.
func addMissing(list *ResourceList, more ResourceList) {
	for name, q := range more {
		if _, ok := (*list)[name]; ok {
			continue
		}
		if *list == nil {
			*list = make(ResourceList, len(more))
		}
		(*list)[name] = q
	}
}

func defaultQuota(q *ResourceQuota) {
	for _, list := range []ResourceList{q.Spec.Hard, q.Status.Hard, q.Status.Used} {
		roundResources(list)
	}
}

// roundResources rounds amounts up to whole thousandths, the finest that the API keeps.
func roundResources(list ResourceList) {
	for name, q := range list {
		if rounded := q.RoundUp(-3); rounded != q {
			list[name] = rounded
		}
	}
}
