// Package apps knows what is special about the resources of apps: deployments, replica sets,
// stateful sets, daemon sets and the revisions of the latter two.
//
// Resources returns the declarations that a server makes stores from. What all kinds with a pod
// template ask of it is in registry/podspec, what they have in common besides in replicas.go.
//
// Not here: the verbs (registry), types and defaults (scheme/api/appsv1), who makes the pods.
//
// Read: replicaset.go as the plainest kind.
package apps

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Resources returns the resources of the group.
func Resources(rules podspec.Rules) []registry.Resource {
	return []registry.Resource{
		controllerRevisions(), daemonSets(rules), deployments(rules), replicaSets(rules), statefulSets(rules),
	}
}

func resource(name string) meta.GroupResource {
	return meta.GroupResource{Group: appsv1.GroupVersion.Group, Resource: name}
}
