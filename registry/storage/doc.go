// Package storage knows what is special about the resources of storage.k8s.io: the classes of
// storage and of volume attributes, the attachment of volumes, and what CSI drivers tell of
// themselves.
//
// Resources returns the declarations that a server makes stores from. Messages are those of
// kube-apiserver, in its order.
//
// Not here: the verbs (registry), types and defaults (scheme/api/storagev1), volumes and claims
// (registry/core), the rules for the spec of a volume (registry/podspec).
//
// Read: class.go as the plainest kinds.
package storage

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Resources returns the resources of the group.
func Resources() []registry.Resource {
	return []registry.Resource{
		storageClasses(), volumeAttributesClasses(), volumeAttachments(), csiDrivers(), csiNodes(), csiStorageCapacities(),
	}
}

func resource(name string) meta.GroupResource {
	return meta.GroupResource{Group: storagev1.GroupVersion.Group, Resource: name}
}
