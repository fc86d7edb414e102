package storagev1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// addStored registers the versions in which objects may be stored although nobody is served in
// them. They have the fields and defaults of v1.
func addStored(s *scheme.Scheme) {
	add := func(version, kind string, obj meta.Typed) {
		s.AddStored(meta.GroupVersionKind{Group: GroupVersion.Group, Version: version, Kind: kind},
			GroupVersion.WithKind(kind).GroupKind(), obj)
	}
	add("v1beta1", "StorageClass", &StorageClass{})
	add("v1beta1", "CSIDriver", &CSIDriver{})
	add("v1beta1", "CSINode", &CSINode{})
	for _, version := range []string{"v1beta1", "v1alpha1"} {
		add(version, "CSIStorageCapacity", &CSIStorageCapacity{})
		add(version, "VolumeAttachment", &VolumeAttachment{})
		add(version, "VolumeAttributesClass", &VolumeAttributesClass{})
	}
}
