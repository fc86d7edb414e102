// Package services has the loops that every API server needs for services: one keeps the Service
// "kubernetes", and two keep ServiceCIDRs, the ranges from which services get their cluster IPs
// (KEP-1880).
//
// KubernetesService and DefaultServiceCIDR do what kube-apiserver does in its post-start hooks, so
// each server runs both. ServiceCIDR is the service-cidr-controller of kube-controller-manager, so
// only one of several servers runs it.
//
// Words: an address of a ServiceCIDR is blocked if a service has it and no other ServiceCIDR
// contains it. The default ServiceCIDR has the ranges of the server's configuration
// (--service-cluster-ip-range) and usually the name "kubernetes".
//
// Laws:
//   - A ServiceCIDR that is being deleted keeps its finalizer while an address of it is blocked.
//   - The default ServiceCIDR exists again soon after it was deleted, and so does the Service
//     "kubernetes".
//   - Only Withdraw removes the last server from the Endpoints of the Service "kubernetes".
//   - Ranges that an administrator set in the default ServiceCIDR are never overwritten.
//
// Package server/addresses makes KubernetesService and DefaultServiceCIDR, and package server makes
// ServiceCIDR. Calls of the methods of one value must not overlap, because the value has fields
// without a lock.
//
// Not here: the allocation of cluster IPs and node ports, and the record of live servers
// (server/addresses); the endpoints of other services (server/loops/endpoints).
//
// Read: servicecidr.go, defaultservicecidr.go, kubernetesservice.go.
package services
