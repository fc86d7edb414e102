// Package discovery knows what is special about the resources of discovery.k8s.io: endpoint slices.
//
// Resources returns the declarations that a server makes stores from.
//
// Not here: the verbs (registry), types and defaults (scheme/api/discoveryv1), who makes the slices
// of a service.
package discovery

import "github.com/coracle-project/coracle/registry"

// Resources returns the resources of the group.
func Resources() []registry.Resource { return []registry.Resource{endpointSlices()} }
