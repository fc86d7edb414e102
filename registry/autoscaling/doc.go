// Package autoscaling declares the resource of the group autoscaling: horizontalpodautoscalers,
// which are stored as autoscaling/v2.
//
// Words: an autoscaler changes the replicas of its target, any object with the subresource scale,
// between minReplicas and maxReplicas. It measures metrics; the source of a metric says where its
// value comes from, the target what the value should be.
//
// Laws:
//   - The rules are pure functions of the new and the old autoscaler; messages and their order are
//     those of kube-apiserver.
//   - An invalid apiVersion, and minReplicas of 0, may stay if the old autoscaler has them: they
//     were stored under other rules.
//
// A server calls Resources once. Its functions may be called at once.
//
// Not here: the verbs (registry); types, defaults and the conversion of autoscaling/v1
// (scheme/api/autoscalingv2 and scheme/api/autoscalingv1); the subresource scale of other groups
// (registry/scale); the controller that measures and scales (kube-controller-manager).
//
// Read: autoscaler.go, check.go, metric.go.
package autoscaling

import "github.com/coracle-project/coracle/registry"

// Resources returns the declaration of horizontalpodautoscalers, from which a server makes a store.
func Resources() []registry.Resource {
	return []registry.Resource{autoscalers()}
}
