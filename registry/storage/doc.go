// Package storage declares the resources of storage.k8s.io: classes of storage and of volume
// attributes, attachments of volumes to nodes, and what CSI drivers publish about themselves, their
// nodes and their capacity.
//
// Words. A StorageClass names a provisioner, which makes volumes, and its parameters. A
// VolumeAttributesClass names parameters that can change after a volume has been made. A topology
// term is a set of node labels; volumes of a class are made where one of its terms matches.
//
// Law: errors are those of kube-apiserver 1.36, with their texts and in their order. Where these
// texts are wrong, they stay, and a comment says so.
//
// A server makes its stores from Resources. All other functions are called by the strategies in it:
// they read the objects of one write, and keep nothing.
//
// Not here: the verbs (registry), types and defaults (scheme/api/storagev1), volumes and claims
// (registry/core), the rules for the spec of a volume (registry/podspec), provisioning and
// attaching (controllers and CSI drivers outside the server).
//
// Read: class.go as the plainest kinds; attachment.go; driver.go, node.go and capacity.go for what
// CSI drivers publish.
package storage

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Resources returns the declarations of storageclasses, volumeattributesclasses, volumeattachments,
// csidrivers, csinodes and csistoragecapacities.
func Resources() []registry.Resource {
	return []registry.Resource{
		storageClasses(), volumeAttributesClasses(), volumeAttachments(),
		csiDrivers(), csiNodes(), csiStorageCapacities(),
	}
}

// resource returns a resource of the group by its plural name.
func resource(name string) meta.GroupResource {
	return meta.GroupResource{Group: storagev1.GroupVersion.Group, Resource: name}
}
