package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// Volume is storage that containers of a pod can mount.
type Volume struct {
	// Name of the volume, a DNS label that is unique within the pod.
	Name string `json:"name" pb:"1"`
	// Where the content comes from; an empty directory by default.
	VolumeSource `json:",inline" pb:"2"`
}

// VolumeSource tells where a volume comes from. One member may be set.
type VolumeSource struct {
	// A file or directory of the node.
	HostPath *HostPathVolumeSource `json:"hostPath,omitempty" pb:"1"`
	// A directory that is empty at first and lives as long as the pod.
	EmptyDir *EmptyDirVolumeSource `json:"emptyDir,omitempty" pb:"2"`
	// A Google Compute Engine disk. Deprecated: served by a CSI driver.
	GCEPersistentDisk *GCEPersistentDiskVolumeSource `json:"gcePersistentDisk,omitempty" pb:"3"`
	// An AWS disk. Deprecated: served by a CSI driver.
	AWSElasticBlockStore *AWSElasticBlockStoreVolumeSource `json:"awsElasticBlockStore,omitempty" pb:"4"`
	// A git repository at some revision. Deprecated.
	GitRepo *GitRepoVolumeSource `json:"gitRepo,omitempty" pb:"5"`
	// The data of a secret, as files.
	Secret *SecretVolumeSource `json:"secret,omitempty" pb:"6"`
	// An NFS mount.
	NFS *NFSVolumeSource `json:"nfs,omitempty" pb:"7"`
	// An iSCSI disk.
	ISCSI *ISCSIVolumeSource `json:"iscsi,omitempty" pb:"8"`
	// A Glusterfs mount. Deprecated.
	Glusterfs *GlusterfsVolumeSource `json:"glusterfs,omitempty" pb:"9"`
	// A persistent volume claim in the same namespace.
	PersistentVolumeClaim *PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty" pb:"10"`
	// A Rados block device. Deprecated.
	RBD *RBDVolumeSource `json:"rbd,omitempty" pb:"11"`
	// A volume of an exec plugin. Deprecated.
	FlexVolume *FlexVolumeSource `json:"flexVolume,omitempty" pb:"12"`
	// An OpenStack volume. Deprecated: served by a CSI driver.
	Cinder *CinderVolumeSource `json:"cinder,omitempty" pb:"13"`
	// A Ceph file system. Deprecated.
	CephFS *CephFSVolumeSource `json:"cephfs,omitempty" pb:"14"`
	// A Flocker volume. Deprecated.
	Flocker *FlockerVolumeSource `json:"flocker,omitempty" pb:"15"`
	// Facts about the pod, as files.
	DownwardAPI *DownwardAPIVolumeSource `json:"downwardAPI,omitempty" pb:"16"`
	// A Fibre Channel disk.
	FC *FCVolumeSource `json:"fc,omitempty" pb:"17"`
	// An Azure file share. Deprecated: served by a CSI driver.
	AzureFile *AzureFileVolumeSource `json:"azureFile,omitempty" pb:"18"`
	// The data of a config map, as files.
	ConfigMap *ConfigMapVolumeSource `json:"configMap,omitempty" pb:"19"`
	// A vSphere volume. Deprecated: served by a CSI driver.
	VsphereVolume *VsphereVirtualDiskVolumeSource `json:"vsphereVolume,omitempty" pb:"20"`
	// A Quobyte mount. Deprecated.
	Quobyte *QuobyteVolumeSource `json:"quobyte,omitempty" pb:"21"`
	// An Azure data disk. Deprecated: served by a CSI driver.
	AzureDisk *AzureDiskVolumeSource `json:"azureDisk,omitempty" pb:"22"`
	// A Photon Controller disk. Deprecated.
	PhotonPersistentDisk *PhotonPersistentDiskVolumeSource `json:"photonPersistentDisk,omitempty" pb:"23"`
	// Several sources in one directory.
	Projected *ProjectedVolumeSource `json:"projected,omitempty" pb:"26"`
	// A Portworx volume. Deprecated: served by a CSI driver.
	PortworxVolume *PortworxVolumeSource `json:"portworxVolume,omitempty" pb:"24"`
	// A ScaleIO volume. Deprecated.
	ScaleIO *ScaleIOVolumeSource `json:"scaleIO,omitempty" pb:"25"`
	// A StorageOS volume. Deprecated.
	StorageOS *StorageOSVolumeSource `json:"storageos,omitempty" pb:"27"`
	// A volume that a CSI driver makes for this pod.
	CSI *CSIVolumeSource `json:"csi,omitempty" pb:"28"`
	// A claim that is made from a template and lives as long as the pod.
	Ephemeral *EphemeralVolumeSource `json:"ephemeral,omitempty" pb:"29"`
	// The content of an image, read-only.
	Image *ImageVolumeSource `json:"image,omitempty" pb:"30"`
}

// HostPathVolumeSource names a file or directory of the node.
type HostPathVolumeSource struct {
	// Path on the node; must not contain "..".
	Path string `json:"path" pb:"1"`
	// What must be at the path: Directory, File, Socket, CharDevice or BlockDevice.
	// DirectoryOrCreate and FileOrCreate make it if it is missing. Empty, the default, checks
	// nothing.
	Type *HostPathType `json:"type,omitempty" pb:"2" enum:",BlockDevice,CharDevice,Directory,DirectoryOrCreate,File,FileOrCreate,Socket"`
}

// HostPathType tells what must be at a host path.
type HostPathType string

// EmptyDirVolumeSource describes a directory that lives as long as the pod.
type EmptyDirVolumeSource struct {
	// Where it is kept: on the node's disk (empty, the default), in Memory, or in HugePages or
	// HugePages-<size>.
	Medium StorageMedium `json:"medium,omitempty" pb:"1"`
	// Most that it may hold; a pod that exceeds it is evicted. No limit by default.
	SizeLimit *meta.Quantity `json:"sizeLimit,omitempty" pb:"2"`
}

// StorageMedium is what an empty directory is kept on.
type StorageMedium string

// GCEPersistentDiskVolumeSource names a Google Compute Engine disk.
type GCEPersistentDiskVolumeSource struct {
	// Name of the disk.
	PDName string `json:"pdName" pb:"1"`
	// File system type to mount, such as "ext4" or "xfs"; a default of the driver if empty.
	FSType string `json:"fsType,omitempty" pb:"2"`
	// Partition to mount; the whole disk if 0.
	Partition int32 `json:"partition,omitempty" pb:"3"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"4"`
}

// AWSElasticBlockStoreVolumeSource names an AWS disk.
type AWSElasticBlockStoreVolumeSource struct {
	// Id of the disk.
	VolumeID string `json:"volumeID" pb:"1"`
	// File system type to mount, such as "ext4" or "xfs"; a default of the driver if empty.
	FSType string `json:"fsType,omitempty" pb:"2"`
	// Partition to mount; the whole disk if 0.
	Partition int32 `json:"partition,omitempty" pb:"3"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"4"`
}

// GitRepoVolumeSource names a git repository. Deprecated: clone it in an init container.
type GitRepoVolumeSource struct {
	// URL of the repository.
	Repository string `json:"repository" pb:"1"`
	// Commit to check out.
	Revision string `json:"revision,omitempty" pb:"2"`
	// Directory to clone into; must not contain "..".
	Directory string `json:"directory,omitempty" pb:"3"`
}

// SecretVolumeSource makes files from the data of a secret.
type SecretVolumeSource struct {
	// Secret to take the data from, in the namespace of the pod.
	SecretName string `json:"secretName,omitempty" pb:"1"`
	// Keys to show, with their paths; all keys if empty.
	Items []KeyToPath `json:"items,omitempty" pb:"2" list:"atomic"`
	// Mode bits of created files that set none of their own, between 0000 and 0777; 0644 by
	// default.
	DefaultMode *int32 `json:"defaultMode,omitempty" pb:"3"`
	// Whether the secret, or a key that items names, may be missing; false by default.
	Optional *bool `json:"optional,omitempty" pb:"4"`
}

// KeyToPath shows a key as a file.
type KeyToPath struct {
	// Key whose value the file holds.
	Key string `json:"key" pb:"1"`
	// Path of the file below that of the volume; must not contain "..".
	Path string `json:"path" pb:"2"`
	// Mode bits of this file, between 0000 and 0777; the volume's default mode if unset.
	Mode *int32 `json:"mode,omitempty" pb:"3"`
}

// NFSVolumeSource names an NFS export.
type NFSVolumeSource struct {
	// Host name or address of the server.
	Server string `json:"server" pb:"1"`
	// Path that the server exports.
	Path string `json:"path" pb:"2"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"3"`
}

// ISCSIVolumeSource names an iSCSI disk.
type ISCSIVolumeSource struct {
	// Address of the target, with port if it is not 3260.
	TargetPortal string `json:"targetPortal" pb:"1"`
	// Qualified name of the target.
	IQN string `json:"iqn" pb:"2"`
	// Logical unit number.
	Lun int32 `json:"lun" pb:"3"`
	// Interface to use; "default" by default.
	ISCSIInterface string `json:"iscsiInterface,omitempty" pb:"4" default:"default"`
	// File system type to mount, such as "ext4" or "xfs"; a default of the driver if empty.
	FSType string `json:"fsType,omitempty" pb:"5"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"6"`
	// Further addresses of the target.
	Portals []string `json:"portals,omitempty" pb:"7" list:"atomic"`
	// Whether discovery uses CHAP.
	DiscoveryCHAPAuth bool `json:"chapAuthDiscovery,omitempty" pb:"8"`
	// Whether sessions use CHAP.
	SessionCHAPAuth bool `json:"chapAuthSession,omitempty" pb:"11"`
	// Secret with the CHAP credentials.
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" pb:"10"`
	// Qualified name of the initiator; makes an interface of its own.
	InitiatorName *string `json:"initiatorName,omitempty" pb:"12"`
}

// GlusterfsVolumeSource names a Glusterfs volume.
type GlusterfsVolumeSource struct {
	// Endpoints object with the servers.
	EndpointsName string `json:"endpoints" pb:"1"`
	// Name of the volume.
	Path string `json:"path" pb:"2"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"3"`
}

// PersistentVolumeClaimVolumeSource names a claim.
type PersistentVolumeClaimVolumeSource struct {
	// Name of the claim, in the same namespace.
	ClaimName string `json:"claimName" pb:"1"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"2"`
}

// RBDVolumeSource names a block device that is an image in Ceph.
type RBDVolumeSource struct {
	// Addresses of Ceph monitors.
	CephMonitors []string `json:"monitors" pb:"1" list:"atomic"`
	// Name of the image.
	RBDImage string `json:"image" pb:"2"`
	// File system type to mount, such as "ext4" or "xfs"; a default of the driver if empty.
	FSType string `json:"fsType,omitempty" pb:"3"`
	// Name of the pool; "rbd" by default.
	RBDPool string `json:"pool,omitempty" pb:"4" default:"rbd"`
	// User; "admin" by default.
	RadosUser string `json:"user,omitempty" pb:"5" default:"admin"`
	// Path of the key ring; /etc/ceph/keyring by default.
	Keyring string `json:"keyring,omitempty" pb:"6" default:"/etc/ceph/keyring"`
	// Secret with the user's key; wins over keyring.
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" pb:"7"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"8"`
}

// FlexVolumeSource names a volume of an exec plugin.
type FlexVolumeSource struct {
	// Driver that mounts the volume, as vendor/name.
	Driver string `json:"driver" pb:"1"`
	// File system type to mount, such as "ext4" or "xfs"; a default of the driver if empty.
	FSType string `json:"fsType,omitempty" pb:"2"`
	// Secret handed to the plugin.
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" pb:"3"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"4"`
	// Options for the plugin.
	Options map[string]string `json:"options,omitempty" pb:"5"`
}

// CinderVolumeSource names an OpenStack volume.
type CinderVolumeSource struct {
	// Id of the volume.
	VolumeID string `json:"volumeID" pb:"1"`
	// File system type to mount, such as "ext4" or "xfs"; a default of the driver if empty.
	FSType string `json:"fsType,omitempty" pb:"2"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"3"`
	// Secret with the connection parameters.
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" pb:"4"`
}

// CephFSVolumeSource names a Ceph file system.
type CephFSVolumeSource struct {
	// Addresses of Ceph monitors.
	Monitors []string `json:"monitors" pb:"1" list:"atomic"`
	// Path to mount; / by default.
	Path string `json:"path,omitempty" pb:"2"`
	// User; admin by default.
	User string `json:"user,omitempty" pb:"3"`
	// Path of the key ring; /etc/ceph/user.secret by default.
	SecretFile string `json:"secretFile,omitempty" pb:"4"`
	// Secret with the user's key; wins over secretFile.
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" pb:"5"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"6"`
}

// FlockerVolumeSource names a Flocker volume.
type FlockerVolumeSource struct {
	// Name of the dataset. Deprecated: use the UUID.
	DatasetName string `json:"datasetName,omitempty" pb:"1"`
	// The dataset, by its UUID.
	DatasetUUID string `json:"datasetUUID,omitempty" pb:"2"`
}

// FCVolumeSource names a Fibre Channel disk, by target and unit or by wwids.
type FCVolumeSource struct {
	// World wide names of the targets.
	TargetWWNs []string `json:"targetWWNs,omitempty" pb:"1" list:"atomic"`
	// Logical unit number.
	Lun *int32 `json:"lun,omitempty" pb:"2"`
	// File system type to mount, such as "ext4" or "xfs"; a default of the driver if empty.
	FSType string `json:"fsType,omitempty" pb:"3"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"4"`
	// World wide ids of the disk.
	WWIDs []string `json:"wwids,omitempty" pb:"5" list:"atomic"`
}

// AzureFileVolumeSource names an Azure file share.
type AzureFileVolumeSource struct {
	// Secret with the storage account and its key.
	SecretName string `json:"secretName" pb:"1"`
	// Name of the share.
	ShareName string `json:"shareName" pb:"2"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"3"`
}

// ConfigMapVolumeSource makes files from the data of a config map.
type ConfigMapVolumeSource struct {
	// Names the object to read, in the same namespace.
	LocalObjectReference `json:",inline" pb:"1"`
	// Keys to show, with their paths; all keys if empty.
	Items []KeyToPath `json:"items,omitempty" pb:"2" list:"atomic"`
	// Mode bits of created files that set none of their own, between 0000 and 0777; 0644 by
	// default.
	DefaultMode *int32 `json:"defaultMode,omitempty" pb:"3"`
	// Whether the config map, or a key that items names, may be missing; false by default.
	Optional *bool `json:"optional,omitempty" pb:"4"`
}

// VsphereVirtualDiskVolumeSource names a vSphere volume.
type VsphereVirtualDiskVolumeSource struct {
	// Path of the disk.
	VolumePath string `json:"volumePath" pb:"1"`
	// File system type to mount, such as "ext4" or "xfs"; a default of the driver if empty.
	FSType string `json:"fsType,omitempty" pb:"2"`
	// Name of the storage policy.
	StoragePolicyName string `json:"storagePolicyName,omitempty" pb:"3"`
	// Id of the storage policy.
	StoragePolicyID string `json:"storagePolicyID,omitempty" pb:"4"`
}

// QuobyteVolumeSource names a Quobyte volume.
type QuobyteVolumeSource struct {
	// Addresses of the registries, as host:port separated by commas.
	Registry string `json:"registry" pb:"1"`
	// Name of the volume.
	Volume string `json:"volume" pb:"2"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"3"`
	// User to map access to; the service account's by default.
	User string `json:"user,omitempty" pb:"4"`
	// Group to map access to; none by default.
	Group string `json:"group,omitempty" pb:"5"`
	// Tenant that owns the volume.
	Tenant string `json:"tenant,omitempty" pb:"6"`
}

// AzureDiskVolumeSource names a disk of Azure.
type AzureDiskVolumeSource struct {
	// Name of the disk.
	DiskName string `json:"diskName" pb:"1"`
	// URI of the disk.
	DataDiskURI string `json:"diskURI" pb:"2"`
	// Caching on the node: None, ReadOnly or ReadWrite.
	CachingMode *AzureDataDiskCachingMode `json:"cachingMode,omitempty" pb:"3" default:"ReadWrite" enum:"None,ReadOnly,ReadWrite"`
	// File system type to mount, such as "ext4" (the default) or "xfs".
	FSType *string `json:"fsType,omitempty" pb:"4" default:"ext4"`
	// Mount the volume read-only; false by default.
	ReadOnly *bool `json:"readOnly,omitempty" pb:"5" default:"false"`
	// Shared, Dedicated or Managed.
	Kind *AzureDataDiskKind `json:"kind,omitempty" pb:"6" default:"Shared" enum:"Dedicated,Managed,Shared"`
}

// AzureDataDiskCachingMode tells how an Azure disk is cached.
type AzureDataDiskCachingMode string

// AzureDataDiskKind tells how an Azure disk is kept.
type AzureDataDiskKind string

// PhotonPersistentDiskVolumeSource names a Photon Controller disk.
type PhotonPersistentDiskVolumeSource struct {
	// Id of the disk.
	PdID string `json:"pdID" pb:"1"`
	// File system type to mount, such as "ext4" or "xfs"; a default of the driver if empty.
	FSType string `json:"fsType,omitempty" pb:"2"`
}

// PortworxVolumeSource names a Portworx volume.
type PortworxVolumeSource struct {
	// Id of the volume.
	VolumeID string `json:"volumeID" pb:"1"`
	// File system type to mount, such as "ext4" or "xfs"; a default of the driver if empty.
	FSType string `json:"fsType,omitempty" pb:"2"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"3"`
}

// ScaleIOVolumeSource names a ScaleIO volume.
type ScaleIOVolumeSource struct {
	// Address of the API gateway.
	Gateway string `json:"gateway" pb:"1"`
	// Storage system in ScaleIO, by name.
	System string `json:"system" pb:"2"`
	// Secret with the user's credentials; required.
	SecretRef *LocalObjectReference `json:"secretRef" pb:"3"`
	// Whether the gateway is spoken to over TLS; false by default.
	SSLEnabled bool `json:"sslEnabled,omitempty" pb:"4"`
	// Name of the protection domain.
	ProtectionDomain string `json:"protectionDomain,omitempty" pb:"5"`
	// Name of the storage pool.
	StoragePool string `json:"storagePool,omitempty" pb:"6"`
	// ThickProvisioned or ThinProvisioned, the default.
	StorageMode string `json:"storageMode,omitempty" pb:"7" default:"ThinProvisioned"`
	// Name of the volume.
	VolumeName string `json:"volumeName,omitempty" pb:"8"`
	// File system type to mount, such as "ext4" or "xfs"; "xfs" by default.
	FSType string `json:"fsType,omitempty" pb:"9" default:"xfs"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"10"`
}

// StorageOSVolumeSource names a StorageOS volume.
type StorageOSVolumeSource struct {
	// Name of the volume, unique within its namespace.
	VolumeName string `json:"volumeName,omitempty" pb:"1"`
	// StorageOS namespace of the volume; that of the pod by default.
	VolumeNamespace string `json:"volumeNamespace,omitempty" pb:"2"`
	// File system type to mount, such as "ext4" or "xfs"; a default of the driver if empty.
	FSType string `json:"fsType,omitempty" pb:"3"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"4"`
	// Secret with the API credentials.
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" pb:"5"`
}

// CSIVolumeSource describes a volume that a CSI driver makes for the pod.
type CSIVolumeSource struct {
	// CSI driver that makes the volume, by the name that it registers.
	Driver string `json:"driver" pb:"1"`
	// Mount the volume read-only; false by default.
	ReadOnly *bool `json:"readOnly,omitempty" pb:"2"`
	// File system type to mount, such as "ext4" or "xfs"; a default of the driver if empty.
	FSType *string `json:"fsType,omitempty" pb:"3"`
	// Parameters for the driver.
	VolumeAttributes map[string]string `json:"volumeAttributes,omitempty" pb:"4"`
	// Secret handed to the driver when it publishes the volume.
	NodePublishSecretRef *LocalObjectReference `json:"nodePublishSecretRef,omitempty" pb:"5"`
}

// EphemeralVolumeSource describes a claim that lives as long as the pod.
type EphemeralVolumeSource struct {
	// What the claim is made from; required. Its name is pod name, dash, volume name.
	VolumeClaimTemplate *PersistentVolumeClaimTemplate `json:"volumeClaimTemplate,omitempty" pb:"1"`
}

// PersistentVolumeClaimTemplate is what a claim is made from.
type PersistentVolumeClaimTemplate struct {
	// Labels and annotations for the claim; other metadata is refused.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Spec of the claim, copied unchanged.
	Spec PersistentVolumeClaimSpec `json:"spec" pb:"2"`
}

// ImageVolumeSource names an image whose content is mounted.
type ImageVolumeSource struct {
	// Image reference; may be left empty where it is filled in later.
	Reference string `json:"reference,omitempty" pb:"1"`
	// When the image is pulled: Always (the default for the tag latest, which is also meant by no
	// tag), IfNotPresent (the default otherwise) or Never.
	PullPolicy PullPolicy `json:"pullPolicy,omitempty" pb:"2" enum:"Always,IfNotPresent,Never"`
}
