// Package policy declares the resource of the group policy: poddisruptionbudgets. A budget says how
// many of the pods that it selects must stay available while others are evicted.
//
// Laws: the rules are pure functions; messages and their order are those of kube-apiserver.
//
// A server calls Resources once. Its functions may be called at once.
//
// Not here: the verbs (registry); types (scheme/api/policyv1); the disruption controller, which
// counts the pods (server/loops/pods); the eviction of pods, which charges budgets (registry/core,
// podeviction.go).
package policy

import "github.com/coracle-project/coracle/registry"

// Resources returns the declaration of poddisruptionbudgets, from which a server makes a store.
func Resources() []registry.Resource {
	return []registry.Resource{disruptionBudgets()}
}
