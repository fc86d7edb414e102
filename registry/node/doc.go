// Package node knows what is special about the resources of node.k8s.io: runtime classes. Nodes
// themselves are in registry/core.
//
// Resources returns the declarations that a server makes stores from.
//
// Not here: the verbs (registry), types (scheme/api/nodev1), what pods take over from their class.
package node

import "github.com/coracle-project/coracle/registry"

// Resources returns the resources of the group.
func Resources() []registry.Resource {
	return []registry.Resource{runtimeClasses()}
}
