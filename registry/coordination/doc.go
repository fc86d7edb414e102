// Package coordination declares the resources of the group coordination.k8s.io: leases, by which
// processes elect a leader and kubelets show that they are alive.
//
// Law. A lease is what several parties compete for, so an update must name the resourceVersion that
// its client has seen. It may also be created by PUT.
//
// Callers. Resources returns the declarations, from which a server makes a store for each resource.
//
// Not here: reading and writing (registry), the types (scheme/api/coordinationv1), coordinated
// leader election (KEP-4355), which is not served.
package coordination

import "github.com/coracle-project/coracle/registry"

// Resources returns the declarations of all resources of the group.
func Resources() []registry.Resource {
	return []registry.Resource{leases()}
}
