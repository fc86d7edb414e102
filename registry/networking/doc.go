// Package networking declares the resources of the group networking.k8s.io: ingresses and their
// classes, network policies, and the IP addresses and service CIDRs from which Services get their
// addresses.
//
// Words. A CIDR is a range of addresses, such as 10.0.0.0/8. The canonical form of an address or
// CIDR is the one in RFC 5952 for IPv6, and for IPv4 the one without leading zeros.
//
// Laws:
//   - Messages, paths and their order are those of kube-apiserver.
//   - An update may keep a value of the old object that older servers accepted: addresses that are
//     not in canonical form, names of secrets, and rules of wildcard hosts.
//   - An IPAddress exists once in a cluster, because its name is the address.
//
// Callers. Resources returns the declarations, from which a server makes a store for each resource.
// It is called once, and what it returns may be used by many goroutines.
//
// Not here: reading and writing (registry), types and defaults (scheme/api/networkingv1), the
// allocation of addresses to Services (registry/core), controllers of ingresses and policies.
//
// Read: ingressclass.go as the plainest kind, then ingress.go with ingresscheck.go,
// networkpolicy.go, servicecidr.go, ipaddress.go.
package networking

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Resources returns the declarations of all resources of the group.
func Resources() []registry.Resource {
	return []registry.Resource{ingressClasses(), ingresses(), ipAddresses(), networkPolicies(), serviceCIDRs()}
}

// resource returns the name of a resource together with its group.
func resource(name string) meta.GroupResource {
	return meta.GroupResource{Group: networkingv1.GroupVersion.Group, Resource: name}
}
