// Package pods looks after pods: it deletes those that nobody else will, counts how many
// disruptions their budgets allow, and deletes jobs that have ended for long enough. View and Node
// are what loops know of pods and nodes.
//
// It guarantees that all loops of a run share one Informer of pods and one of nodes, and that a pod
// is deleted only if it is the pod that was judged, by its UID.
//
// Read: pods.go, podgc.go, disruption.go.
package pods
