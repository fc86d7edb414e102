// Package pods has the loops that look after pods, budgets and finished jobs, and the views of pods
// and nodes that other loops share. The loops do the work of three controllers of
// kube-controller-manager: pod-garbage-collector-controller (PodGC), disruption-controller
// (Disruption) and ttl-after-finished-controller (FinishedJobs).
//
// Words: a View is the part of a pod that an Informer keeps, and a NodeView that of a node. A pod
// has ended if its phase is none of Pending, Running and Unknown. A budget is a
// PodDisruptionBudget. An eviction charges a budget: in the budget's status, it lowers
// disruptionsAllowed and enters the pod in disruptedPods. A count is one computation of a budget's
// status.
//
// Laws:
//   - All loops of a run share one Informer of pods and one of nodes (PodInformer, NodeInformer).
//   - A pod or job is read again before it is deleted, and its UID is a precondition of the delete,
//     so a newer object of the same name is never deleted.
//   - A budget whose pods cannot be counted allows no disruption.
//
// Package server makes the loops for each run, fills in their exported fields, and calls Run of
// each once, in a goroutine of its own. Other loops (server/loops/endpoints, server/loops/volumes)
// use PodInformer, NodeInformer and the views.
//
// Not here: the eviction of pods, which charges budgets (registry/core). Pods are created,
// scheduled and run by programs outside of this server: workload controllers, schedulers and
// kubelets.
//
// Read: pods.go, nodes.go; podgc.go, finishedjobs.go; disruption.go, podscale.go.
package pods
