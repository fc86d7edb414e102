package networkingv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "networking.k8s.io", Version: "v1"}

// Scheme registers the kinds and their defaults.
var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion,
		&Ingress{}, &IngressList{},
		&IngressClass{}, &IngressClassList{},
		&NetworkPolicy{}, &NetworkPolicyList{},
		&IPAddress{}, &IPAddressList{},
		&ServiceCIDR{}, &ServiceCIDRList{},
	)
	scheme.AddDefaulting(s, defaultParameters, "scope")
	scheme.AddDefaulting(s, defaultNetworkPolicy, "spec.policyTypes")
	scheme.AddDefaulting(s, defaultPolicyPort, "protocol")
})
