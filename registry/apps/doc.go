// Package apps declares the resources of the group apps: deployments, replica sets, stateful sets,
// daemon sets, and the controller revisions in which the last two keep old templates.
//
// Words. The owner of pods is one of the first four kinds; its template is the pod template in its
// spec. A cell is what a table shows of an object in one column.
//
// Laws:
//   - Messages, paths and their order are those of kube-apiserver.
//   - The selector of an owner never changes after creation: pods that it no longer selected would
//     run on without an owner.
//   - A client that updates an object cannot change status, and a controller that updates status
//     cannot change spec. Each file says what the status keeps beyond that.
//   - An update may keep what is wrong in the old template, as far as podspec.Rules allows.
//
// Callers. Resources returns the declarations, from which a server makes a store for each resource.
// It is called once, and what it returns may be used by many goroutines.
//
// Not here: reading and writing (registry), what all pod templates must be (registry/podspec),
// types and defaults (scheme/api/appsv1), the controllers that create pods.
//
// Read: replicaset.go as the plainest kind, replicas.go, then deployment.go, daemonset.go,
// statefulset.go with statefulsetcheck.go, controllerrevision.go.
package apps

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Resources returns the declarations of all resources of the group. rules are the rules for pod
// templates as the server is set up.
func Resources(rules podspec.Rules) []registry.Resource {
	return []registry.Resource{
		controllerRevisions(), daemonSets(rules), deployments(rules), replicaSets(rules), statefulSets(rules),
	}
}

// resource returns the name of a resource together with its group.
func resource(name string) meta.GroupResource {
	return meta.GroupResource{Group: appsv1.GroupVersion.Group, Resource: name}
}
