// Package aggregation declares the resource apiservices of the group apiregistration.k8s.io. An
// APIService says which server has a version of an API group: this server (a local APIService,
// without a service), or a server behind it that is reached through a service.
//
// Laws: the texts and the order of errors are those of kube-aggregator. An update is held to the
// same rules as a new object, even where the old object breaks a rule.
//
// Resources returns the declaration. The server makes a store from it at its start.
//
// Not here: the verbs (registry), the Go types and their defaults (scheme/api/apiregistrationv1),
// the creation of the APIServices for this server's own groups, the availability of the servers
// behind, and the forwarding of requests to them (server).
//
// Reading order: apiservice.go, apiservicecheck.go.
package aggregation

import "github.com/coracle-project/coracle/registry"

// Resources returns the declarations of the resources of the group apiregistration.k8s.io. There is
// one: apiservices.
func Resources() []registry.Resource { return []registry.Resource{apiServices()} }
