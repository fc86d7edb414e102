// Package node declares the resource of the group node.k8s.io: runtimeclasses. A runtime class
// names a configuration of the container runtime, its handler, and what pods of the class cost and
// where they run (KEP-585). Nodes themselves are in registry/core.
//
// Laws: the rules are pure functions; messages and their order are those of kube-apiserver.
//
// A server calls Resources once. Its functions may be called at once.
//
// Not here: the verbs (registry); types (scheme/api/nodev1); the admission plugin that gives pods
// the overhead and scheduling of their class.
package node

import "github.com/coracle-project/coracle/registry"

// Resources returns the declaration of runtimeclasses, from which a server makes a store.
func Resources() []registry.Resource {
	return []registry.Resource{runtimeClasses()}
}
