package storagev1

import "github.com/coracle-project/coracle/scheme/meta"

// CSIDriver tells how the volumes of a CSI driver are handled. Its name is that of the driver.
type CSIDriver struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// What the driver needs and can do.
	Spec CSIDriverSpec `json:"spec" pb:"2"`
}

// CSIDriverList is a list of drivers.
type CSIDriverList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The drivers.
	Items []CSIDriver `json:"items" pb:"2"`
}

// CSIDriverSpec tells what a driver needs and can do.
type CSIDriverSpec struct {
	// Whether volumes must be attached to a node before they are mounted; true by default. Cannot
	// be changed.
	AttachRequired *bool `json:"attachRequired,omitempty" pb:"1"`
	// Whether the driver is told about the pod when it mounts a volume; false by default.
	PodInfoOnMount *bool `json:"podInfoOnMount,omitempty" pb:"2"`
	// What volumes can be: Persistent (the default), by claims, or Ephemeral, made for a pod.
	// Cannot be changed.
	VolumeLifecycleModes []VolumeLifecycleMode `json:"volumeLifecycleModes,omitempty" pb:"3" list:"set"`
	// Whether the scheduler looks at the capacity that the driver reports; false by default.
	StorageCapacity *bool `json:"storageCapacity,omitempty" pb:"4"`
	// When the owner and mode of a volume's files follow the fsGroup of the pod: File (always),
	// None, or ReadWriteOnceWithFSType (the default), for such volumes with a file system.
	FSGroupPolicy *FSGroupPolicy `json:"fsGroupPolicy,omitempty" pb:"5"`
	// Tokens of the pod's service account that the driver gets when it mounts a volume; each for
	// another audience.
	TokenRequests []TokenRequest `json:"tokenRequests,omitempty" pb:"6" list:"atomic"`
	// Whether the driver is asked again and again to mount a volume, so that it can refresh its
	// content; false by default.
	RequiresRepublish *bool `json:"requiresRepublish,omitempty" pb:"7"`
	// Whether volumes can be mounted with the SELinux label of the pod; false by default.
	SELinuxMount *bool `json:"seLinuxMount,omitempty" pb:"8"`
	// Seconds between updates of how many volumes a node can have; at least 10. Without it they are
	// not updated.
	NodeAllocatableUpdatePeriodSeconds *int64 `json:"nodeAllocatableUpdatePeriodSeconds,omitempty" pb:"9"`
	// Whether tokens are handed to the driver among the secrets (true) or among the attributes of
	// the volume (false, the default). Needs tokenRequests.
	ServiceAccountTokenInSecrets *bool `json:"serviceAccountTokenInSecrets,omitempty" pb:"10"`
	// Whether pods wait for a node that the driver runs on. Alpha: not kept.
	PreventPodSchedulingIfMissing *bool `json:"preventPodSchedulingIfMissing,omitempty" pb:"11"`
}

// FSGroupPolicy tells when the files of a volume follow the fsGroup of the pod.
type FSGroupPolicy string

// Values of FSGroupPolicy.
const (
	FileFSGroupPolicy                    FSGroupPolicy = "File"
	NoneFSGroupPolicy                    FSGroupPolicy = "None"
	ReadWriteOnceWithFSTypeFSGroupPolicy FSGroupPolicy = "ReadWriteOnceWithFSType"
)

// VolumeLifecycleMode tells whether a volume lives as long as its pod, or longer.
type VolumeLifecycleMode string

// Values of VolumeLifecycleMode.
const (
	VolumeLifecycleEphemeral  VolumeLifecycleMode = "Ephemeral"
	VolumeLifecyclePersistent VolumeLifecycleMode = "Persistent"
)

// TokenRequest describes a token of a service account.
type TokenRequest struct {
	// Whom the token is for; the API server if empty.
	Audience string `json:"audience" pb:"1"`
	// Lifetime in seconds, from 600 to 2^32.
	ExpirationSeconds *int64 `json:"expirationSeconds,omitempty" pb:"2"`
}

// CSINode tells which CSI drivers run on a node. Its name is that of the node, whose kubelet writes
// it.
type CSINode struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The drivers on the node.
	Spec CSINodeSpec `json:"spec" pb:"2"`
}

// CSINodeList is a list of CSINodes.
type CSINodeList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The nodes.
	Items []CSINode `json:"items" pb:"2"`
}

// CSINodeSpec holds the drivers on a node.
type CSINodeSpec struct {
	// The drivers, each once. May be empty.
	Drivers []CSINodeDriver `json:"drivers" pb:"1" list:"map,key=name" patch:"merge,key=name"`
}

// CSINodeDriver is a driver on a node.
type CSINodeDriver struct {
	// Name of the driver.
	Name string `json:"name" pb:"1"`
	// What the driver calls the node; at most 256 characters.
	NodeID string `json:"nodeID" pb:"2"`
	// Labels of the node by which the driver tells places apart.
	TopologyKeys []string `json:"topologyKeys" pb:"3" check:"optional" list:"atomic"`
	// What the node has room for.
	Allocatable *VolumeNodeResources `json:"allocatable,omitempty" pb:"4"`
}

// VolumeNodeResources tells how many volumes a node has room for.
type VolumeNodeResources struct {
	// Most volumes of the driver that can be in use on the node; no limit if unset.
	Count *int32 `json:"count,omitempty" pb:"1"`
}

// CSIStorageCapacity tells how much storage a CSI driver has left for a storage class, as seen from
// some nodes.
type CSIStorageCapacity struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Nodes that can reach the storage: all if it is empty, none if it is unset. Cannot be changed.
	NodeTopology *meta.LabelSelector `json:"nodeTopology,omitempty" pb:"2"`
	// Name of the storage class. Cannot be changed.
	StorageClassName string `json:"storageClassName" pb:"3"`
	// Bytes that are left; unknown if unset.
	Capacity *meta.Quantity `json:"capacity,omitempty" pb:"4"`
	// Bytes that the largest volume can have; unknown if unset.
	MaximumVolumeSize *meta.Quantity `json:"maximumVolumeSize,omitempty" pb:"5"`
}

// CSIStorageCapacityList is a list of capacities.
type CSIStorageCapacityList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The capacities.
	Items []CSIStorageCapacity `json:"items" pb:"2"`
}
