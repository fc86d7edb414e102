// Package coordination knows what is special about the resources of coordination.k8s.io: leases.
// They may be created by PUT, and are replaced only by those who have seen the latest version, as a
// lease is what parties compete for.
//
// Not here: the verbs (registry), the types (scheme/api/coordinationv1).
package coordination

import "github.com/coracle-project/coracle/registry"

// Resources returns the resources of the group.
func Resources() []registry.Resource {
	return []registry.Resource{leases()}
}
