// Package aggregation knows what is special about the resources of apiregistration.k8s.io: API
// services.
//
// Resources returns the declarations that a server makes stores from. Messages are those of
// kube-apiserver, in its order.
//
// Not here: the verbs (registry), types and defaults (scheme/api/apiregistrationv1), who makes the
// API services of what this server has itself, and who sends requests on to others (server).
package aggregation

import "github.com/coracle-project/coracle/registry"

// Resources returns the resources of the group.
func Resources() []registry.Resource { return []registry.Resource{apiServices()} }
