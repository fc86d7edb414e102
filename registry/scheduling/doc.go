// Package scheduling knows what is special about the resources of scheduling.k8s.io: priority
// classes.
//
// Resources returns the declarations that a server makes stores from.
//
// Not here: the verbs (registry), types and defaults (scheme/api/schedulingv1), the priority of
// pods (registry/admission).
package scheduling

import "github.com/coracle-project/coracle/registry"

// Resources returns the resources of the group.
func Resources() []registry.Resource {
	return []registry.Resource{priorityClasses()}
}
