package corev1

// PersistentVolumeSource tells where the storage of a volume is. One member must be set. References
// to secrets have a namespace here, because a volume has none.
type PersistentVolumeSource struct {
	// A Google Compute Engine disk. Deprecated: served by a CSI driver.
	GCEPersistentDisk *GCEPersistentDiskVolumeSource `json:"gcePersistentDisk,omitempty" pb:"1"`
	// An AWS disk. Deprecated: served by a CSI driver.
	AWSElasticBlockStore *AWSElasticBlockStoreVolumeSource `json:"awsElasticBlockStore,omitempty" pb:"2"`
	// A directory of the node; for tests on one node only.
	HostPath *HostPathVolumeSource `json:"hostPath,omitempty" pb:"3"`
	// A Glusterfs mount. Deprecated.
	Glusterfs *GlusterfsPersistentVolumeSource `json:"glusterfs,omitempty" pb:"4"`
	// An NFS mount.
	NFS *NFSVolumeSource `json:"nfs,omitempty" pb:"5"`
	// A Rados block device. Deprecated.
	RBD *RBDPersistentVolumeSource `json:"rbd,omitempty" pb:"6"`
	// An iSCSI disk.
	ISCSI *ISCSIPersistentVolumeSource `json:"iscsi,omitempty" pb:"7"`
	// An OpenStack volume. Deprecated: served by a CSI driver.
	Cinder *CinderPersistentVolumeSource `json:"cinder,omitempty" pb:"8"`
	// A Ceph file system. Deprecated.
	CephFS *CephFSPersistentVolumeSource `json:"cephfs,omitempty" pb:"9"`
	// A Fibre Channel disk.
	FC *FCVolumeSource `json:"fc,omitempty" pb:"10"`
	// A Flocker volume. Deprecated.
	Flocker *FlockerVolumeSource `json:"flocker,omitempty" pb:"11"`
	// A volume of an exec plugin. Deprecated.
	FlexVolume *FlexPersistentVolumeSource `json:"flexVolume,omitempty" pb:"12"`
	// An Azure file share. Deprecated: served by a CSI driver.
	AzureFile *AzureFilePersistentVolumeSource `json:"azureFile,omitempty" pb:"13"`
	// A vSphere volume. Deprecated: served by a CSI driver.
	VsphereVolume *VsphereVirtualDiskVolumeSource `json:"vsphereVolume,omitempty" pb:"14"`
	// A Quobyte mount. Deprecated.
	Quobyte *QuobyteVolumeSource `json:"quobyte,omitempty" pb:"15"`
	// An Azure data disk. Deprecated: served by a CSI driver.
	AzureDisk *AzureDiskVolumeSource `json:"azureDisk,omitempty" pb:"16"`
	// A Photon Controller disk. Deprecated.
	PhotonPersistentDisk *PhotonPersistentDiskVolumeSource `json:"photonPersistentDisk,omitempty" pb:"17"`
	// A Portworx volume. Deprecated: served by a CSI driver.
	PortworxVolume *PortworxVolumeSource `json:"portworxVolume,omitempty" pb:"18"`
	// A ScaleIO volume. Deprecated.
	ScaleIO *ScaleIOPersistentVolumeSource `json:"scaleIO,omitempty" pb:"19"`
	// A disk or directory that is attached to one node, which node affinity must name.
	Local *LocalVolumeSource `json:"local,omitempty" pb:"20"`
	// A StorageOS volume. Deprecated.
	StorageOS *StorageOSPersistentVolumeSource `json:"storageos,omitempty" pb:"21"`
	// A volume of a CSI driver.
	CSI *CSIPersistentVolumeSource `json:"csi,omitempty" pb:"22"`
}

// SecretReference is the name of a secret and of its namespace.
type SecretReference struct {
	_ struct{} `struct:"atomic"`

	// Name of the secret.
	Name string `json:"name,omitempty" pb:"1"`
	// Namespace of the secret.
	Namespace string `json:"namespace,omitempty" pb:"2"`
}

// CSIPersistentVolumeSource names a volume of a CSI driver.
type CSIPersistentVolumeSource struct {
	// CSI driver that has the volume, by the name that it registers.
	Driver string `json:"driver" pb:"1"`
	// What the driver calls the volume.
	VolumeHandle string `json:"volumeHandle" pb:"2"`
	// Attach the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"3"`
	// File system type to mount, such as "ext4" or "xfs"; a default of the driver if empty.
	FSType string `json:"fsType,omitempty" pb:"4"`
	// Attributes that the driver gave the volume.
	VolumeAttributes map[string]string `json:"volumeAttributes,omitempty" pb:"5"`
	// Secret handed to the driver when it attaches or detaches the volume.
	ControllerPublishSecretRef *SecretReference `json:"controllerPublishSecretRef,omitempty" pb:"6"`
	// Secret handed to the driver when it stages the volume on a node.
	NodeStageSecretRef *SecretReference `json:"nodeStageSecretRef,omitempty" pb:"7"`
	// Secret handed to the driver when it mounts the volume for a pod.
	NodePublishSecretRef *SecretReference `json:"nodePublishSecretRef,omitempty" pb:"8"`
	// Secret handed to the driver when it expands the volume. Can be set later, once.
	ControllerExpandSecretRef *SecretReference `json:"controllerExpandSecretRef,omitempty" pb:"9"`
	// Secret handed to the driver when it expands the volume on a node.
	NodeExpandSecretRef *SecretReference `json:"nodeExpandSecretRef,omitempty" pb:"10"`
}

// LocalVolumeSource names a disk or directory that is attached to one node.
type LocalVolumeSource struct {
	// Path on the node; must not contain "..".
	Path string `json:"path" pb:"1"`
	// File system type to mount if the path is that of a block device, such as "ext4"; found out by
	// default.
	FSType *string `json:"fsType,omitempty" pb:"2"`
}

// ISCSIPersistentVolumeSource names an iSCSI disk.
type ISCSIPersistentVolumeSource struct {
	// Portal of the target, as address:port; port 3260 by default.
	TargetPortal string `json:"targetPortal" pb:"1"`
	// Qualified name of the target.
	IQN string `json:"iqn" pb:"2"`
	// Logical unit number.
	Lun int32 `json:"lun" pb:"3"`
	// Interface that carries the transport; default (tcp) by default.
	ISCSIInterface string `json:"iscsiInterface,omitempty" pb:"4" default:"default"`
	// File system type to mount, such as "ext4" or "xfs"; a default of the driver if empty.
	FSType string `json:"fsType,omitempty" pb:"5"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"6"`
	// Further portals of the target.
	Portals []string `json:"portals,omitempty" pb:"7" list:"atomic"`
	// Authenticate discovery by CHAP.
	DiscoveryCHAPAuth bool `json:"chapAuthDiscovery,omitempty" pb:"8"`
	// Authenticate the session by CHAP.
	SessionCHAPAuth bool `json:"chapAuthSession,omitempty" pb:"11"`
	// Secret with the CHAP credentials.
	SecretRef *SecretReference `json:"secretRef,omitempty" pb:"10"`
	// Name of the initiator; a new interface is made for the connection if it is set.
	InitiatorName *string `json:"initiatorName,omitempty" pb:"12"`
}

// GlusterfsPersistentVolumeSource names a Glusterfs volume.
type GlusterfsPersistentVolumeSource struct {
	// Endpoints object with the servers.
	EndpointsName string `json:"endpoints" pb:"1"`
	// Name of the volume.
	Path string `json:"path" pb:"2"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"3"`
	// Namespace of the endpoints; that of the claim by default.
	EndpointsNamespace *string `json:"endpointsNamespace,omitempty" pb:"4"`
}

// RBDPersistentVolumeSource names a block device that is an image in Ceph.
type RBDPersistentVolumeSource struct {
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
	SecretRef *SecretReference `json:"secretRef,omitempty" pb:"7"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"8"`
}

// CinderPersistentVolumeSource names an OpenStack volume.
type CinderPersistentVolumeSource struct {
	// Id of the volume.
	VolumeID string `json:"volumeID" pb:"1"`
	// File system type to mount, such as "ext4" or "xfs"; a default of the driver if empty.
	FSType string `json:"fsType,omitempty" pb:"2"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"3"`
	// Secret with the connection parameters.
	SecretRef *SecretReference `json:"secretRef,omitempty" pb:"4"`
}

// CephFSPersistentVolumeSource names a Ceph file system.
type CephFSPersistentVolumeSource struct {
	// Addresses of Ceph monitors.
	Monitors []string `json:"monitors" pb:"1" list:"atomic"`
	// Path to mount; / by default.
	Path string `json:"path,omitempty" pb:"2"`
	// User; admin by default.
	User string `json:"user,omitempty" pb:"3"`
	// Path of the key ring; /etc/ceph/user.secret by default.
	SecretFile string `json:"secretFile,omitempty" pb:"4"`
	// Secret with the user's key; wins over secretFile.
	SecretRef *SecretReference `json:"secretRef,omitempty" pb:"5"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"6"`
}

// FlexPersistentVolumeSource names a volume of an exec plugin.
type FlexPersistentVolumeSource struct {
	// Driver that mounts the volume, as vendor/name.
	Driver string `json:"driver" pb:"1"`
	// File system type to mount, such as "ext4" or "xfs"; a default of the driver if empty.
	FSType string `json:"fsType,omitempty" pb:"2"`
	// Secret handed to the plugin.
	SecretRef *SecretReference `json:"secretRef,omitempty" pb:"3"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"4"`
	// Options for the plugin.
	Options map[string]string `json:"options,omitempty" pb:"5"`
}

// AzureFilePersistentVolumeSource names an Azure file share.
type AzureFilePersistentVolumeSource struct {
	// Secret with the storage account and its key.
	SecretName string `json:"secretName" pb:"1"`
	// Name of the share.
	ShareName string `json:"shareName" pb:"2"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"3"`
	// Namespace of the secret; that of the pod by default.
	SecretNamespace *string `json:"secretNamespace" pb:"4" check:"optional"`
}

// ScaleIOPersistentVolumeSource names a ScaleIO volume.
type ScaleIOPersistentVolumeSource struct {
	// Address of the API gateway.
	Gateway string `json:"gateway" pb:"1"`
	// Storage system in ScaleIO, by name.
	System string `json:"system" pb:"2"`
	// Secret with the user's credentials.
	SecretRef *SecretReference `json:"secretRef" pb:"3"`
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

// StorageOSPersistentVolumeSource names a StorageOS volume.
type StorageOSPersistentVolumeSource struct {
	// Name of the volume, unique within its namespace.
	VolumeName string `json:"volumeName,omitempty" pb:"1"`
	// StorageOS namespace of the volume; that of the pod by default.
	VolumeNamespace string `json:"volumeNamespace,omitempty" pb:"2"`
	// File system type to mount, such as "ext4" or "xfs"; a default of the driver if empty.
	FSType string `json:"fsType,omitempty" pb:"3"`
	// Mount the volume read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"4"`
	// Secret with the API credentials.
	SecretRef *ObjectReference `json:"secretRef,omitempty" pb:"5"`
}
