// Package scheduling declares the resource of the group scheduling.k8s.io: priorityclasses. A class
// gives a name to a priority, the number by which the scheduler orders pods.
//
// Laws: the rules are pure functions; messages and their order are those of kube-apiserver. The two
// classes of the system, system-node-critical and system-cluster-critical, always have their values
// and cannot be deleted one by one.
//
// A server calls Resources once. Its functions may be called at once.
//
// Not here: the verbs (registry); types, defaults and the classes of the system
// (scheme/api/schedulingv1); the admission plugin that gives pods the priority of their class
// (registry/admission).
package scheduling

import "github.com/coracle-project/coracle/registry"

// Resources returns the declaration of priorityclasses, from which a server makes a store.
func Resources() []registry.Resource {
	return []registry.Resource{priorityClasses()}
}
