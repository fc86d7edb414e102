package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// PersistentVolume is storage that claims are bound to; it outlives the pods that use it.
type PersistentVolume struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// What the storage is, and who may use it.
	Spec PersistentVolumeSpec `json:"spec,omitempty" pb:"2"`
	// What became of the volume. Read-only.
	Status PersistentVolumeStatus `json:"status,omitempty" pb:"3"`
}

// PersistentVolumeList is a list of volumes.
type PersistentVolumeList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The volumes.
	Items []PersistentVolume `json:"items" pb:"2"`
}

// PersistentVolumeSpec describes a volume.
type PersistentVolumeSpec struct {
	// How much the volume holds: storage, and nothing else.
	Capacity ResourceList `json:"capacity,omitempty" pb:"1"`
	// Where the storage is. Cannot be changed.
	PersistentVolumeSource `json:",inline" pb:"2"`
	// How the storage can be used: ReadWriteOnce (by one node), ReadOnlyMany, ReadWriteMany, or
	// ReadWriteOncePod (by one pod) alone; at least one.
	AccessModes []PersistentVolumeAccessMode `json:"accessModes,omitempty" pb:"3" itemEnum:"ReadOnlyMany,ReadWriteMany,ReadWriteOnce,ReadWriteOncePod" list:"atomic"`
	// Claim that the volume is bound to, or kept for.
	ClaimRef *ObjectReference `json:"claimRef,omitempty" pb:"4" struct:"granular"`
	// What happens to the volume once its claim is gone: Retain (the default of volumes made by
	// hand), Delete (that of volumes made for a claim) or Recycle. Recycle is deprecated.
	PersistentVolumeReclaimPolicy PersistentVolumeReclaimPolicy `json:"persistentVolumeReclaimPolicy,omitempty" pb:"5" enum:"Delete,Recycle,Retain"`
	// Storage class of the volume; none if empty.
	StorageClassName string `json:"storageClassName,omitempty" pb:"6"`
	// Options to mount the volume with, such as "ro"; they are not checked.
	MountOptions []string `json:"mountOptions,omitempty" pb:"7" list:"atomic"`
	// Filesystem (the default) or Block. Cannot be changed.
	VolumeMode *PersistentVolumeMode `json:"volumeMode,omitempty" pb:"8" enum:"Block,Filesystem"`
	// Nodes from which the volume can be reached; all if unset.
	NodeAffinity *VolumeNodeAffinity `json:"nodeAffinity,omitempty" pb:"9"`
	// Volume attributes class that the volume was made or changed by; CSI volumes only. Set by the
	// system.
	VolumeAttributesClassName *string `json:"volumeAttributesClassName,omitempty" pb:"10"`
}

// VolumeNodeAffinity tells from which nodes a volume can be reached.
type VolumeNodeAffinity struct {
	// What nodes must fulfil; required.
	Required *NodeSelector `json:"required,omitempty" pb:"1"`
}

// PersistentVolumeReclaimPolicy tells what happens to a volume once its claim is gone.
type PersistentVolumeReclaimPolicy string

// Values of PersistentVolumeReclaimPolicy.
const (
	PersistentVolumeReclaimDelete  PersistentVolumeReclaimPolicy = "Delete"
	PersistentVolumeReclaimRecycle PersistentVolumeReclaimPolicy = "Recycle"
	PersistentVolumeReclaimRetain  PersistentVolumeReclaimPolicy = "Retain"
)

// PersistentVolumeStatus describes what became of a volume.
type PersistentVolumeStatus struct {
	// Pending until the volume can be used, Available until it is bound, then Bound; Released once
	// its claim is gone, Failed if it could not be reclaimed.
	Phase PersistentVolumePhase `json:"phase,omitempty" pb:"1" enum:"Available,Bound,Failed,Pending,Released"`
	// What people should know of the phase, such as why reclaiming failed.
	Message string `json:"message,omitempty" pb:"2"`
	// Why the volume failed, one CamelCase word for programs.
	Reason string `json:"reason,omitempty" pb:"3"`
	// When the phase last changed; set by the server.
	LastPhaseTransitionTime *meta.Time `json:"lastPhaseTransitionTime,omitempty" pb:"4"`
}

// PersistentVolumePhase tells what became of a volume.
type PersistentVolumePhase string

// Values of PersistentVolumePhase.
const (
	VolumeAvailable PersistentVolumePhase = "Available"
	VolumeBound     PersistentVolumePhase = "Bound"
	VolumeFailed    PersistentVolumePhase = "Failed"
	VolumePending   PersistentVolumePhase = "Pending"
	VolumeReleased  PersistentVolumePhase = "Released"
)

// Annotations of volumes and claims that fields have replaced. Deprecated.
const (
	BetaStorageClassAnnotation = "volume.beta.kubernetes.io/storage-class"
	MountOptionsAnnotation     = "volume.beta.kubernetes.io/mount-options"
)

// StorageClassOf returns the storage class of a volume or claim: what the beta annotation says,
// else the field of the spec. ok is false if neither is set. A class with the name "" means a
// volume without a class.
func StorageClassOf(m *meta.ObjectMeta, field *string) (name string, ok bool) {
	if name, ok := m.Annotations[BetaStorageClassAnnotation]; ok {
		return name, true
	}
	if field == nil {
		return "", false
	}
	return *field, true
}

// TopologySelectorTerm describes places by their labels, all of which must fit.
type TopologySelectorTerm struct {
	_ struct{} `struct:"atomic"`

	// Requirements on labels.
	MatchLabelExpressions []TopologySelectorLabelRequirement `json:"matchLabelExpressions,omitempty" pb:"1" list:"atomic"`
}

// TopologySelectorLabelRequirement relates a label to values, one of which it must have.
type TopologySelectorLabelRequirement struct {
	// Key of the label.
	Key string `json:"key" pb:"1"`
	// Values that fit; at least one.
	Values []string `json:"values" pb:"2" list:"atomic"`
}
