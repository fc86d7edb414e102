// Package resource knows what is special about the resources of resource.k8s.io: slices of devices,
// device classes, claims to devices and templates of claims.
//
// Resources returns the declarations that a server makes stores from. Messages are those of
// kube-apiserver, in its order. Of expressions only the length is checked; they are taken as they
// are.
//
// Not here: the verbs (registry), types and defaults (scheme/api/resourcev1), who allocates
// devices.
//
// Read: class.go as the plainest kind; claim.go, request.go and allocation.go for claims; slice.go,
// device.go and capacity.go for slices.
package resource

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Resources returns the resources of the group.
func Resources() []registry.Resource {
	return []registry.Resource{classes(), claims(), claimTemplates(), deviceSlices()}
}

func resource(name string) meta.GroupResource {
	return meta.GroupResource{Group: resourcev1.GroupVersion.Group, Resource: name}
}
