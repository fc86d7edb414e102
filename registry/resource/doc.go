// Package resource knows what is special about the resources of resource.k8s.io: slices of devices, device classes, claims to devices
// and templates of claims.
//
// Resources returns the declarations that a server makes stores from. Selectors in CEL are checked for their length, and taken as
// they are.
//
// Not here: the verbs (registry), types and defaults (scheme/api/resourcev1), who allocates devices.
//
// Read: class.go as the plainest kind; request.go and allocation.go for claims, device.go for slices.
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
