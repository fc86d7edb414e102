package storagev1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "storage.k8s.io", Version: "v1"}

// Scheme registers the kinds and their defaults.
var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion,
		&StorageClass{}, &StorageClassList{},
		&VolumeAttributesClass{}, &VolumeAttributesClassList{},
		&VolumeAttachment{}, &VolumeAttachmentList{},
		&CSIDriver{}, &CSIDriverList{},
		&CSINode{}, &CSINodeList{},
		&CSIStorageCapacity{}, &CSIStorageCapacityList{},
	)
	scheme.AddDefaulting(s, defaultStorageClass, "reclaimPolicy", "volumeBindingMode")
	scheme.AddDefaulting(s, defaultDriver)
	addStored(s)
})
