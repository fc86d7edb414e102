// Package networking knows what is special about the resources of networking.k8s.io: ingresses and
// their classes, network policies, IP addresses, and the ranges that the addresses of services are
// from.
//
// Resources returns the declarations that a server makes stores from.
//
// Not here: the verbs (registry), types and defaults (scheme/api/networkingv1), who gives addresses
// out.
package networking

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Resources returns the resources of the group.
func Resources() []registry.Resource {
	return []registry.Resource{ingressClasses(), ingresses(), ipAddresses(), networkPolicies(), serviceCIDRs()}
}

func resource(name string) meta.GroupResource {
	return meta.GroupResource{Group: networkingv1.GroupVersion.Group, Resource: name}
}
