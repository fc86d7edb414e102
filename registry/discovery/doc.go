// Package discovery declares the resources of the group discovery.k8s.io: endpoint slices, the
// lists of addresses behind a Service (KEP-752).
//
// Words. An endpoint is a backend of a Service, with one or more addresses. A hint names a zone or
// node whose clients should use the endpoint.
//
// Laws:
//   - Messages, paths and their order are those of kube-apiserver.
//   - All addresses of a slice are of its addressType, which never changes.
//   - An update that leaves the endpoints as they are is not refused because of them.
//
// Callers. Resources returns the declarations, from which a server makes a store for each resource.
//
// Not here: reading and writing (registry), types and defaults (scheme/api/discoveryv1), the
// controllers that fill slices.
//
// Read: endpointslice.go, slicecheck.go.
package discovery

import "github.com/coracle-project/coracle/registry"

// Resources returns the declarations of all resources of the group.
func Resources() []registry.Resource { return []registry.Resource{endpointSlices()} }
