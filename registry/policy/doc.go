// Package policy knows what is special about the resources of policy: budgets, which say how many
// of some pods must be left when others are evicted.
//
// Resources returns the declarations that a server makes stores from.
//
// Not here: the verbs (registry), types (scheme/api/policyv1), who counts the pods
// (server/controller), and who evicts them (registry/core).
package policy

import "github.com/coracle-project/coracle/registry"

// Resources returns the resources of the group.
func Resources() []registry.Resource {
	return []registry.Resource{disruptionBudgets()}
}
