// Package resource declares the resources of resource.k8s.io (dynamic resource allocation,
// KEP-4381): what drivers offer, what pods claim, and what has been allocated.
//
// Words. A driver publishes devices in ResourceSlices; the slices of one pool together list all its
// devices. A DeviceClass names selectors and configuration that claims share. A ResourceClaim
// requests devices; its status holds the allocation, which is made by the scheduler, and the pods
// for which the devices are reserved. A ResourceClaimTemplate is a form from which a claim is made
// for each pod. A request names one device class, or a list of subrequests in order of preference.
//
// Laws:
//
//   - Errors are those of kube-apiserver 1.36, with their texts and in their order.
//   - The spec of a claim and of a claim template never changes. An allocation can be set and
//     cleared, but not changed.
//   - list.go has the bounds of lists. A list above its bound is one error, and its elements are
//     not checked.
//   - CEL expressions are stored as they are: only their length is checked.
//
// A server makes its stores from Resources. All other functions are called by the strategies in it:
// they read the objects of one write, and keep nothing.
//
// Not here: the verbs (registry), types and defaults (scheme/api/resourcev1), allocation (the
// scheduler), claims made from templates (a controller of kube-controller-manager).
//
// Read: class.go as the plainest kind; claim.go, request.go and allocation.go for claims; slice.go,
// device.go and capacity.go for slices; list.go and name.go for what they share.
package resource

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Resources returns the declarations of deviceclasses, resourceclaims, resourceclaimtemplates and
// resourceslices.
func Resources() []registry.Resource {
	return []registry.Resource{classes(), claims(), claimTemplates(), deviceSlices()}
}

// resource returns a resource of the group by its plural name.
func resource(name string) meta.GroupResource {
	return meta.GroupResource{Group: resourcev1.GroupVersion.Group, Resource: name}
}
