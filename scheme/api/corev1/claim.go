package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// PersistentVolumeClaimSpec describes the storage that is asked for.
type PersistentVolumeClaimSpec struct {
	// How the volume must be mountable.
	AccessModes []PersistentVolumeAccessMode `json:"accessModes,omitempty" pb:"1" itemEnum:"ReadOnlyMany,ReadWriteMany,ReadWriteOnce,ReadWriteOncePod" list:"atomic"`
	// Labels of the volumes that fit.
	Selector *meta.LabelSelector `json:"selector,omitempty" pb:"4"`
	// How much storage is needed.
	Resources VolumeResourceRequirements `json:"resources,omitempty" pb:"2"`
	// Volume that the claim is bound to.
	VolumeName string `json:"volumeName,omitempty" pb:"3"`
	// Storage class that the claim asks for.
	StorageClassName *string `json:"storageClassName,omitempty" pb:"5"`
	// Filesystem (the default) or Block.
	VolumeMode *PersistentVolumeMode `json:"volumeMode,omitempty" pb:"6" enum:"Block,Filesystem"`
	// Snapshot or claim to take the content from; kept equal to dataSourceRef where both can say it.
	DataSource *TypedLocalObjectReference `json:"dataSource,omitempty" pb:"7"`
	// Object to take the content from, of any kind that a populator serves.
	DataSourceRef *TypedObjectReference `json:"dataSourceRef,omitempty" pb:"8"`
	// Volume attributes class that the claim asks for; unlike the storage class it can be changed.
	VolumeAttributesClassName *string `json:"volumeAttributesClassName,omitempty" pb:"9"`
}

// PersistentVolumeAccessMode tells how a volume can be mounted.
type PersistentVolumeAccessMode string

// VolumeResourceRequirements tells how much storage is needed.
type VolumeResourceRequirements struct {
	// Most that may be used.
	Limits ResourceList `json:"limits,omitempty" pb:"1"`
	// Least that is needed; the limit by default.
	Requests ResourceList `json:"requests,omitempty" pb:"2"`
}

// PersistentVolumeMode tells whether a volume holds a file system or is a raw device.
type PersistentVolumeMode string
