package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// PersistentVolumeClaim asks for storage, and is bound to the volume that provides it.
type PersistentVolumeClaim struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Storage that is asked for.
	Spec PersistentVolumeClaimSpec `json:"spec,omitempty" pb:"2"`
	// What became of the claim. Read-only.
	Status PersistentVolumeClaimStatus `json:"status,omitempty" pb:"3"`
}

// PersistentVolumeClaimList is a list of claims.
type PersistentVolumeClaimList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The claims.
	Items []PersistentVolumeClaim `json:"items" pb:"2"`
}

// PersistentVolumeClaimSpec describes the storage that is asked for.
type PersistentVolumeClaimSpec struct {
	// How the volume is to be used: ReadWriteOnce (by one node), ReadOnlyMany, ReadWriteMany, or
	// ReadWriteOncePod (by one pod) alone; at least one.
	AccessModes []PersistentVolumeAccessMode `json:"accessModes,omitempty" pb:"1" itemEnum:"ReadOnlyMany,ReadWriteMany,ReadWriteOnce,ReadWriteOncePod" list:"atomic"`
	// Labels of the volumes that fit.
	Selector *meta.LabelSelector `json:"selector,omitempty" pb:"4"`
	// How much storage is needed: requests.storage is required.
	Resources VolumeResourceRequirements `json:"resources,omitempty" pb:"2"`
	// Volume that the claim is bound to.
	VolumeName string `json:"volumeName,omitempty" pb:"3"`
	// Storage class that the claim asks for; "" asks for a volume without one.
	StorageClassName *string `json:"storageClassName,omitempty" pb:"5"`
	// Filesystem (the default) or Block.
	VolumeMode *PersistentVolumeMode `json:"volumeMode,omitempty" pb:"6" enum:"Block,Filesystem"`
	// Snapshot or claim to take the content from; kept equal to dataSourceRef where both can say
	// it.
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

// PersistentVolumeClaimStatus describes what became of a claim.
type PersistentVolumeClaimStatus struct {
	// Pending until the claim is bound to a volume, then Bound; Lost once the volume is gone.
	Phase PersistentVolumeClaimPhase `json:"phase,omitempty" pb:"1" enum:"Bound,Lost,Pending"`
	// How the volume that was bound can be used.
	AccessModes []PersistentVolumeAccessMode `json:"accessModes,omitempty" pb:"2" itemEnum:"ReadOnlyMany,ReadWriteMany,ReadWriteOnce,ReadWriteOncePod" list:"atomic"`
	// Amounts that the volume has.
	Capacity ResourceList `json:"capacity,omitempty" pb:"3"`
	// What is going on with the claim, such as Resizing.
	Conditions []PersistentVolumeClaimCondition `json:"conditions,omitempty" pb:"4" list:"map,key=type" patch:"merge,key=type"`
	// Amounts that are set aside for the claim, maybe more than the capacity while the volume is
	// being expanded: storage, and resources with a domain of their own.
	AllocatedResources ResourceList `json:"allocatedResources,omitempty" pb:"5"`
	// State of the expansion of each resource; unset if there is none. Names are those of
	// allocatedResources.
	AllocatedResourceStatuses map[ResourceName]ClaimResourceStatus `json:"allocatedResourceStatuses,omitempty" pb:"7" itemEnum:"ControllerResizeInProgress,ControllerResizeInfeasible,NodeResizeInProgress,NodeResizeInfeasible,NodeResizePending" map:"granular"`
	// Volume attributes class that is in effect; unset if none is.
	CurrentVolumeAttributesClassName *string `json:"currentVolumeAttributesClassName,omitempty" pb:"8"`
	// State of the change to another volume attributes class; unset if there is none.
	ModifyVolumeStatus *ModifyVolumeStatus `json:"modifyVolumeStatus,omitempty" pb:"9"`
}

// PersistentVolumeClaimPhase tells what became of a claim.
type PersistentVolumeClaimPhase string

// Values of PersistentVolumeClaimPhase.
const (
	ClaimBound   PersistentVolumeClaimPhase = "Bound"
	ClaimLost    PersistentVolumeClaimPhase = "Lost"
	ClaimPending PersistentVolumeClaimPhase = "Pending"
)

// PersistentVolumeClaimCondition is one thing that is going on with a claim.
type PersistentVolumeClaimCondition struct {
	// Name of the condition, such as Resizing or FileSystemResizePending.
	Type PersistentVolumeClaimConditionType `json:"type" pb:"1"`
	// True, False or Unknown.
	Status ConditionStatus `json:"status" pb:"2"`
	// When the condition was last looked at.
	LastProbeTime meta.Time `json:"lastProbeTime,omitempty" pb:"3"`
	// When the status last changed.
	LastTransitionTime meta.Time `json:"lastTransitionTime,omitempty" pb:"4"`
	// Reason of the last change, one CamelCase word for programs.
	Reason string `json:"reason,omitempty" pb:"5"`
	// Details of the last change, for people.
	Message string `json:"message,omitempty" pb:"6"`
}

// PersistentVolumeClaimConditionType names a condition of a claim.
type PersistentVolumeClaimConditionType string

// ClaimResourceStatus is the state of the expansion of one resource.
type ClaimResourceStatus string

// Values of ClaimResourceStatus: whether the controller or the node expands the volume, and how far
// it is.
const (
	ClaimControllerResizeInProgress ClaimResourceStatus = "ControllerResizeInProgress"
	ClaimControllerResizeInfeasible ClaimResourceStatus = "ControllerResizeInfeasible"
	ClaimNodeResizePending          ClaimResourceStatus = "NodeResizePending"
	ClaimNodeResizeInProgress       ClaimResourceStatus = "NodeResizeInProgress"
	ClaimNodeResizeInfeasible       ClaimResourceStatus = "NodeResizeInfeasible"
)

// ModifyVolumeStatus is the state of the change to another volume attributes class.
type ModifyVolumeStatus struct {
	// Class that the volume is being changed to.
	TargetVolumeAttributesClassName string `json:"targetVolumeAttributesClassName,omitempty" pb:"1"`
	// Pending while something is missing, InProgress, or Infeasible if the driver refused the
	// class.
	Status PersistentVolumeClaimModifyVolumeStatus `json:"status" pb:"2" enum:"InProgress,Infeasible,Pending"`
}

// PersistentVolumeClaimModifyVolumeStatus is a state of a change to another volume attributes
// class.
type PersistentVolumeClaimModifyVolumeStatus string
