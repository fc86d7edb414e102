// Package autoscaling knows what is special about the resources of autoscaling: horizontal pod
// autoscalers, which are stored as autoscaling/v2.
//
// Not here: the verbs (registry), types, defaults and the conversion of autoscaling/v1
// (scheme/api/autoscalingv2 and scheme/api/autoscalingv1), the scales of other groups
// (registry/scale).
//
// Read: autoscaler.go, then check.go.
package autoscaling

import "github.com/coracle-project/coracle/registry"

// Resources returns the resources of the group.
func Resources() []registry.Resource {
	return []registry.Resource{autoscalers()}
}
