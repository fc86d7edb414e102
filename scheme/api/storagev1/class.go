package storagev1

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Annotations that, with the value "true", mark the class that claims get if they name none. The
// second is the name of an older release.
const (
	IsDefaultStorageClassAnnotation     = "storageclass.kubernetes.io/is-default-class"
	BetaIsDefaultStorageClassAnnotation = "storageclass.beta.kubernetes.io/is-default-class"
)

// StorageClass describes a sort of storage: claims name it, and volumes are made for them by it.
type StorageClass struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Name of what makes the volumes. Cannot be changed.
	Provisioner string `json:"provisioner" pb:"2"`
	// Parameters for the provisioner; at most 512, of at most 256 KiB. Cannot be changed.
	Parameters map[string]string `json:"parameters,omitempty" pb:"3"`
	// What happens to a volume once its claim is gone: Delete (the default) or Retain. Cannot be
	// changed.
	ReclaimPolicy *corev1.PersistentVolumeReclaimPolicy `json:"reclaimPolicy,omitempty" pb:"4" enum:"Delete,Recycle,Retain"`
	// Options to mount the volumes with, such as "ro"; they are not checked.
	MountOptions []string `json:"mountOptions,omitempty" pb:"5" list:"atomic"`
	// Whether volumes can be expanded; false by default.
	AllowVolumeExpansion *bool `json:"allowVolumeExpansion,omitempty" pb:"6"`
	// When a claim gets its volume: Immediate (the default), or WaitForFirstConsumer, once a pod
	// needs it. Cannot be changed.
	VolumeBindingMode *VolumeBindingMode `json:"volumeBindingMode,omitempty" pb:"7" enum:"Immediate,WaitForFirstConsumer"`
	// Places in which volumes may be made; everywhere if empty.
	AllowedTopologies []corev1.TopologySelectorTerm `json:"allowedTopologies,omitempty" pb:"8" list:"atomic"`
}

// IsDefault reports whether the class is marked as the default for claims that name no class.
func (c *StorageClass) IsDefault() bool {
	return c.Annotations[IsDefaultStorageClassAnnotation] == "true" ||
		c.Annotations[BetaIsDefaultStorageClassAnnotation] == "true"
}

// StorageClassList is a list of storage classes.
type StorageClassList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The storage classes.
	Items []StorageClass `json:"items" pb:"2"`
}

// VolumeBindingMode tells when a claim gets its volume.
type VolumeBindingMode string

// Values of VolumeBindingMode.
const (
	VolumeBindingImmediate            VolumeBindingMode = "Immediate"
	VolumeBindingWaitForFirstConsumer VolumeBindingMode = "WaitForFirstConsumer"
)

// VolumeAttributesClass describes attributes of volumes, such as their speed, that can be changed
// while the volumes are in use.
type VolumeAttributesClass struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Name of the CSI driver that knows the attributes. Cannot be changed.
	DriverName string `json:"driverName" pb:"2"`
	// The attributes; at least one, at most 512, of at most 256 KiB. Cannot be changed.
	Parameters map[string]string `json:"parameters,omitempty" pb:"3"`
}

// VolumeAttributesClassList is a list of classes of volume attributes.
type VolumeAttributesClassList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The classes.
	Items []VolumeAttributesClass `json:"items" pb:"2"`
}
