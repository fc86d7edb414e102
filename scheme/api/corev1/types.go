package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// Namespace ...
type Namespace struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            NamespaceSpec   `json:"spec,omitempty" pb:"2"`
	Status          NamespaceStatus `json:"status,omitempty" pb:"3"`
}

// NamespaceSpec ...
type NamespaceSpec struct {
	Finalizers []FinalizerName `json:"finalizers,omitempty" pb:"1" list:"atomic"`
}

// FinalizerName ...
type FinalizerName string

// NamespaceStatus ...
type NamespaceStatus struct {
	Phase      NamespacePhase       `json:"phase,omitempty" pb:"1" enum:"Active,Terminating"`
	Conditions []NamespaceCondition `json:"conditions,omitempty" pb:"2" list:"map,key=type" patch:"merge,key=type"`
}

// NamespacePhase ...
type NamespacePhase string

// NamespaceCondition ...
type NamespaceCondition struct {
	Type               NamespaceConditionType `json:"type" pb:"1"`
	Status             ConditionStatus        `json:"status" pb:"2"`
	LastTransitionTime meta.Time              `json:"lastTransitionTime,omitempty" pb:"4"`
	Reason             string                 `json:"reason,omitempty" pb:"5"`
	Message            string                 `json:"message,omitempty" pb:"6"`
}

// NamespaceConditionType ...
type NamespaceConditionType string

// ConditionStatus ...
type ConditionStatus string

// NamespaceList ...
type NamespaceList struct {
	meta.TypeMeta `json:",inline"`
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	Items         []Namespace `json:"items" pb:"2"`
}

// ConfigMap ...
type ConfigMap struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Immutable       *bool             `json:"immutable,omitempty" pb:"4"`
	Data            map[string]string `json:"data,omitempty" pb:"2"`
	BinaryData      map[string][]byte `json:"binaryData,omitempty" pb:"3"`
}

// ConfigMapList ...
type ConfigMapList struct {
	meta.TypeMeta `json:",inline"`
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	Items         []ConfigMap `json:"items" pb:"2"`
}

// Secret ...
type Secret struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Immutable       *bool             `json:"immutable,omitempty" pb:"5"`
	Data            map[string][]byte `json:"data,omitempty" pb:"2"`
	StringData      map[string]string `json:"stringData,omitempty" pb:"4"`
	Type            SecretType        `json:"type,omitempty" pb:"3"`
}

// SecretType ...
type SecretType string

// SecretList ...
type SecretList struct {
	meta.TypeMeta `json:",inline"`
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	Items         []Secret `json:"items" pb:"2"`
}

// ServiceAccount ...
type ServiceAccount struct {
	meta.TypeMeta                `json:",inline"`
	meta.ObjectMeta              `json:"metadata,omitempty" pb:"1"`
	Secrets                      []ObjectReference      `json:"secrets,omitempty" pb:"2" list:"map,key=name" patch:"merge,key=name"`
	ImagePullSecrets             []LocalObjectReference `json:"imagePullSecrets,omitempty" pb:"3" list:"atomic"`
	AutomountServiceAccountToken *bool                  `json:"automountServiceAccountToken,omitempty" pb:"4"`
}

// ObjectReference ...
type ObjectReference struct {
	Kind            string   `json:"kind,omitempty" pb:"1"`
	Namespace       string   `json:"namespace,omitempty" pb:"2"`
	Name            string   `json:"name,omitempty" pb:"3"`
	UID             meta.UID `json:"uid,omitempty" pb:"4"`
	APIVersion      string   `json:"apiVersion,omitempty" pb:"5"`
	ResourceVersion string   `json:"resourceVersion,omitempty" pb:"6"`
	FieldPath       string   `json:"fieldPath,omitempty" pb:"7"`
}

// LocalObjectReference ...
type LocalObjectReference struct {
	Name string `json:"name,omitempty" pb:"1"`
}

// ServiceAccountList ...
type ServiceAccountList struct {
	meta.TypeMeta `json:",inline"`
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	Items         []ServiceAccount `json:"items" pb:"2"`
}

// Node ...
type Node struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            NodeSpec   `json:"spec,omitempty" pb:"2"`
	Status          NodeStatus `json:"status,omitempty" pb:"3"`
}

// NodeSpec ...
type NodeSpec struct {
	PodCIDR            string            `json:"podCIDR,omitempty" pb:"1"`
	PodCIDRs           []string          `json:"podCIDRs,omitempty" pb:"7" list:"set" patch:"merge"`
	ProviderID         string            `json:"providerID,omitempty" pb:"3"`
	Unschedulable      bool              `json:"unschedulable,omitempty" pb:"4"`
	Taints             []Taint           `json:"taints,omitempty" pb:"5" list:"atomic"`
	ConfigSource       *NodeConfigSource `json:"configSource,omitempty" pb:"6"`
	DoNotUseExternalID string            `json:"externalID,omitempty" pb:"2"`
}

// Taint ...
type Taint struct {
	Key       string      `json:"key" pb:"1"`
	Value     string      `json:"value,omitempty" pb:"2"`
	Effect    TaintEffect `json:"effect" pb:"3" enum:"NoExecute,NoSchedule,PreferNoSchedule"`
	TimeAdded *meta.Time  `json:"timeAdded,omitempty" pb:"4"`
}

// TaintEffect ...
type TaintEffect string

// NodeConfigSource ...
type NodeConfigSource struct {
	ConfigMap *ConfigMapNodeConfigSource `json:"configMap,omitempty" pb:"2"`
}

// ConfigMapNodeConfigSource ...
type ConfigMapNodeConfigSource struct {
	Namespace        string   `json:"namespace" pb:"1"`
	Name             string   `json:"name" pb:"2"`
	UID              meta.UID `json:"uid,omitempty" pb:"3"`
	ResourceVersion  string   `json:"resourceVersion,omitempty" pb:"4"`
	KubeletConfigKey string   `json:"kubeletConfigKey" pb:"5"`
}

// NodeStatus ...
type NodeStatus struct {
	Capacity         ResourceList         `json:"capacity,omitempty" pb:"1"`
	Allocatable      ResourceList         `json:"allocatable,omitempty" pb:"2"`
	Phase            NodePhase            `json:"phase,omitempty" pb:"3" enum:"Pending,Running,Terminated"`
	Conditions       []NodeCondition      `json:"conditions,omitempty" pb:"4" list:"map,key=type" patch:"merge,key=type"`
	Addresses        []NodeAddress        `json:"addresses,omitempty" pb:"5" list:"map,key=type" patch:"merge,key=type"`
	DaemonEndpoints  NodeDaemonEndpoints  `json:"daemonEndpoints,omitempty" pb:"6"`
	NodeInfo         NodeSystemInfo       `json:"nodeInfo,omitempty" pb:"7"`
	Images           []ContainerImage     `json:"images,omitempty" pb:"8" list:"atomic"`
	VolumesInUse     []UniqueVolumeName   `json:"volumesInUse,omitempty" pb:"9" list:"atomic"`
	VolumesAttached  []AttachedVolume     `json:"volumesAttached,omitempty" pb:"10" list:"atomic"`
	Config           *NodeConfigStatus    `json:"config,omitempty" pb:"11"`
	RuntimeHandlers  []NodeRuntimeHandler `json:"runtimeHandlers,omitempty" pb:"12" list:"atomic"`
	Features         *NodeFeatures        `json:"features,omitempty" pb:"13"`
	DeclaredFeatures []string             `json:"declaredFeatures,omitempty" pb:"14" list:"atomic"`
}

// ResourceList ...
type ResourceList map[ResourceName]meta.Quantity

// NodePhase ...
type NodePhase string

// NodeCondition ...
type NodeCondition struct {
	Type               NodeConditionType `json:"type" pb:"1"`
	Status             ConditionStatus   `json:"status" pb:"2"`
	LastHeartbeatTime  meta.Time         `json:"lastHeartbeatTime,omitempty" pb:"3"`
	LastTransitionTime meta.Time         `json:"lastTransitionTime,omitempty" pb:"4"`
	Reason             string            `json:"reason,omitempty" pb:"5"`
	Message            string            `json:"message,omitempty" pb:"6"`
}

// NodeConditionType ...
type NodeConditionType string

// NodeAddress ...
type NodeAddress struct {
	Type    NodeAddressType `json:"type" pb:"1"`
	Address string          `json:"address" pb:"2"`
}

// NodeAddressType ...
type NodeAddressType string

// NodeDaemonEndpoints ...
type NodeDaemonEndpoints struct {
	KubeletEndpoint DaemonEndpoint `json:"kubeletEndpoint,omitempty" pb:"1"`
}

// DaemonEndpoint ...
type DaemonEndpoint struct {
	Port int32 `json:"Port" pb:"1"`
}

// NodeSystemInfo ...
type NodeSystemInfo struct {
	MachineID               string          `json:"machineID" pb:"1"`
	SystemUUID              string          `json:"systemUUID" pb:"2"`
	BootID                  string          `json:"bootID" pb:"3"`
	KernelVersion           string          `json:"kernelVersion" pb:"4"`
	OSImage                 string          `json:"osImage" pb:"5"`
	ContainerRuntimeVersion string          `json:"containerRuntimeVersion" pb:"6"`
	KubeletVersion          string          `json:"kubeletVersion" pb:"7"`
	KubeProxyVersion        string          `json:"kubeProxyVersion" pb:"8"`
	OperatingSystem         string          `json:"operatingSystem" pb:"9"`
	Architecture            string          `json:"architecture" pb:"10"`
	Swap                    *NodeSwapStatus `json:"swap,omitempty" pb:"11"`
}

// NodeSwapStatus ...
type NodeSwapStatus struct {
	Capacity *int64 `json:"capacity,omitempty" pb:"1"`
}

// ContainerImage ...
type ContainerImage struct {
	Names     []string `json:"names" pb:"1" check:"optional" list:"atomic"`
	SizeBytes int64    `json:"sizeBytes,omitempty" pb:"2"`
}

// UniqueVolumeName ...
type UniqueVolumeName string

// AttachedVolume ...
type AttachedVolume struct {
	Name       UniqueVolumeName `json:"name" pb:"1"`
	DevicePath string           `json:"devicePath" pb:"2"`
}

// NodeConfigStatus ...
type NodeConfigStatus struct {
	Assigned      *NodeConfigSource `json:"assigned,omitempty" pb:"1"`
	Active        *NodeConfigSource `json:"active,omitempty" pb:"2"`
	LastKnownGood *NodeConfigSource `json:"lastKnownGood,omitempty" pb:"3"`
	Error         string            `json:"error,omitempty" pb:"4"`
}

// NodeRuntimeHandler ...
type NodeRuntimeHandler struct {
	Name     string                      `json:"name" pb:"1" check:"optional"`
	Features *NodeRuntimeHandlerFeatures `json:"features,omitempty" pb:"2"`
}

// NodeRuntimeHandlerFeatures ...
type NodeRuntimeHandlerFeatures struct {
	RecursiveReadOnlyMounts *bool `json:"recursiveReadOnlyMounts,omitempty" pb:"1"`
	UserNamespaces          *bool `json:"userNamespaces,omitempty" pb:"2"`
}

// NodeFeatures ...
type NodeFeatures struct {
	SupplementalGroupsPolicy *bool `json:"supplementalGroupsPolicy,omitempty" pb:"1"`
}

// NodeList ...
type NodeList struct {
	meta.TypeMeta `json:",inline"`
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	Items         []Node `json:"items" pb:"2"`
}

// Event ...
type Event struct {
	meta.TypeMeta       `json:",inline"`
	meta.ObjectMeta     `json:"metadata" pb:"1"`
	InvolvedObject      ObjectReference  `json:"involvedObject" pb:"2"`
	Reason              string           `json:"reason,omitempty" pb:"3"`
	Message             string           `json:"message,omitempty" pb:"4"`
	Source              EventSource      `json:"source,omitempty" pb:"5"`
	FirstTimestamp      meta.Time        `json:"firstTimestamp,omitempty" pb:"6"`
	LastTimestamp       meta.Time        `json:"lastTimestamp,omitempty" pb:"7"`
	Count               int32            `json:"count,omitempty" pb:"8"`
	Type                string           `json:"type,omitempty" pb:"9"`
	EventTime           meta.MicroTime   `json:"eventTime,omitempty" pb:"10"`
	Series              *EventSeries     `json:"series,omitempty" pb:"11"`
	Action              string           `json:"action,omitempty" pb:"12"`
	Related             *ObjectReference `json:"related,omitempty" pb:"13"`
	ReportingController string           `json:"reportingComponent" pb:"14" check:"optional"`
	ReportingInstance   string           `json:"reportingInstance" pb:"15" check:"optional"`
}

// EventSource ...
type EventSource struct {
	Component string `json:"component,omitempty" pb:"1"`
	Host      string `json:"host,omitempty" pb:"2"`
}

// EventSeries ...
type EventSeries struct {
	Count            int32          `json:"count,omitempty" pb:"1"`
	LastObservedTime meta.MicroTime `json:"lastObservedTime,omitempty" pb:"2"`
}

// EventList ...
type EventList struct {
	meta.TypeMeta `json:",inline"`
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	Items         []Event `json:"items" pb:"2"`
}

// Service ...
type Service struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            ServiceSpec   `json:"spec,omitempty" pb:"2"`
	Status          ServiceStatus `json:"status,omitempty" pb:"3"`
}

// ServiceSpec ...
type ServiceSpec struct {
	Ports                         []ServicePort                 `json:"ports,omitempty" pb:"1" list:"map,key=port,key=protocol" patch:"merge,key=port"`
	Selector                      map[string]string             `json:"selector,omitempty" pb:"2" map:"atomic"`
	ClusterIP                     string                        `json:"clusterIP,omitempty" pb:"3"`
	ClusterIPs                    []string                      `json:"clusterIPs,omitempty" pb:"18" list:"atomic"`
	Type                          ServiceType                   `json:"type,omitempty" pb:"4" enum:"ClusterIP,ExternalName,LoadBalancer,NodePort"`
	ExternalIPs                   []string                      `json:"externalIPs,omitempty" pb:"5" list:"atomic"`
	SessionAffinity               ServiceAffinity               `json:"sessionAffinity,omitempty" pb:"7" enum:"ClientIP,None"`
	LoadBalancerIP                string                        `json:"loadBalancerIP,omitempty" pb:"8"`
	LoadBalancerSourceRanges      []string                      `json:"loadBalancerSourceRanges,omitempty" pb:"9" list:"atomic"`
	ExternalName                  string                        `json:"externalName,omitempty" pb:"10"`
	ExternalTrafficPolicy         ServiceExternalTrafficPolicy  `json:"externalTrafficPolicy,omitempty" pb:"11" enum:"Cluster,Local"`
	HealthCheckNodePort           int32                         `json:"healthCheckNodePort,omitempty" pb:"12"`
	PublishNotReadyAddresses      bool                          `json:"publishNotReadyAddresses,omitempty" pb:"13"`
	SessionAffinityConfig         *SessionAffinityConfig        `json:"sessionAffinityConfig,omitempty" pb:"14"`
	IPFamilies                    []IPFamily                    `json:"ipFamilies,omitempty" pb:"19" itemEnum:",IPv4,IPv6" list:"atomic"`
	IPFamilyPolicy                *IPFamilyPolicy               `json:"ipFamilyPolicy,omitempty" pb:"17" enum:"PreferDualStack,RequireDualStack,SingleStack"`
	AllocateLoadBalancerNodePorts *bool                         `json:"allocateLoadBalancerNodePorts,omitempty" pb:"20"`
	LoadBalancerClass             *string                       `json:"loadBalancerClass,omitempty" pb:"21"`
	InternalTrafficPolicy         *ServiceInternalTrafficPolicy `json:"internalTrafficPolicy,omitempty" pb:"22" enum:"Cluster,Local"`
	TrafficDistribution           *string                       `json:"trafficDistribution,omitempty" pb:"23"`
}

// ServicePort ...
type ServicePort struct {
	Name        string           `json:"name,omitempty" pb:"1"`
	Protocol    Protocol         `json:"protocol,omitempty" pb:"2" default:"TCP" enum:"SCTP,TCP,UDP"`
	AppProtocol *string          `json:"appProtocol,omitempty" pb:"6"`
	Port        int32            `json:"port" pb:"3"`
	TargetPort  meta.IntOrString `json:"targetPort,omitempty" pb:"4"`
	NodePort    int32            `json:"nodePort,omitempty" pb:"5"`
}

// Protocol ...
type Protocol string

// ServiceType ...
type ServiceType string

// ServiceAffinity ...
type ServiceAffinity string

// ServiceExternalTrafficPolicy ...
type ServiceExternalTrafficPolicy string

// SessionAffinityConfig ...
type SessionAffinityConfig struct {
	ClientIP *ClientIPConfig `json:"clientIP,omitempty" pb:"1"`
}

// ClientIPConfig ...
type ClientIPConfig struct {
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty" pb:"1"`
}

// IPFamily ...
type IPFamily string

// IPFamilyPolicy ...
type IPFamilyPolicy string

// ServiceInternalTrafficPolicy ...
type ServiceInternalTrafficPolicy string

// ServiceStatus ...
type ServiceStatus struct {
	LoadBalancer LoadBalancerStatus `json:"loadBalancer,omitempty" pb:"1"`
	Conditions   []meta.Condition   `json:"conditions,omitempty" pb:"2" list:"map,key=type" patch:"merge,key=type"`
}

// LoadBalancerStatus ...
type LoadBalancerStatus struct {
	Ingress []LoadBalancerIngress `json:"ingress,omitempty" pb:"1" list:"atomic"`
}

// LoadBalancerIngress ...
type LoadBalancerIngress struct {
	IP       string              `json:"ip,omitempty" pb:"1"`
	Hostname string              `json:"hostname,omitempty" pb:"2"`
	IPMode   *LoadBalancerIPMode `json:"ipMode,omitempty" pb:"3"`
	Ports    []PortStatus        `json:"ports,omitempty" pb:"4" list:"atomic"`
}

// LoadBalancerIPMode ...
type LoadBalancerIPMode string

// PortStatus ...
type PortStatus struct {
	Port     int32    `json:"port" pb:"1"`
	Protocol Protocol `json:"protocol" pb:"2" enum:"SCTP,TCP,UDP"`
	Error    *string  `json:"error,omitempty" pb:"3"`
}

// ServiceList ...
type ServiceList struct {
	meta.TypeMeta `json:",inline"`
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	Items         []Service `json:"items" pb:"2"`
}

// Pod ...
type Pod struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            PodSpec   `json:"spec,omitempty" pb:"2"`
	Status          PodStatus `json:"status,omitempty" pb:"3"`
}

// PodSpec ...
type PodSpec struct {
	Volumes                       []Volume                   `json:"volumes,omitempty" pb:"1" list:"map,key=name" patch:"merge,retainKeys,key=name"`
	InitContainers                []Container                `json:"initContainers,omitempty" pb:"20" list:"map,key=name" patch:"merge,key=name"`
	Containers                    []Container                `json:"containers" pb:"2" list:"map,key=name" patch:"merge,key=name"`
	EphemeralContainers           []EphemeralContainer       `json:"ephemeralContainers,omitempty" pb:"34" list:"map,key=name" patch:"merge,key=name"`
	RestartPolicy                 RestartPolicy              `json:"restartPolicy,omitempty" pb:"3" enum:"Always,Never,OnFailure"`
	TerminationGracePeriodSeconds *int64                     `json:"terminationGracePeriodSeconds,omitempty" pb:"4"`
	ActiveDeadlineSeconds         *int64                     `json:"activeDeadlineSeconds,omitempty" pb:"5"`
	DNSPolicy                     DNSPolicy                  `json:"dnsPolicy,omitempty" pb:"6" enum:"ClusterFirst,ClusterFirstWithHostNet,Default,None"`
	NodeSelector                  map[string]string          `json:"nodeSelector,omitempty" pb:"7" map:"atomic"`
	ServiceAccountName            string                     `json:"serviceAccountName,omitempty" pb:"8"`
	DeprecatedServiceAccount      string                     `json:"serviceAccount,omitempty" pb:"9"`
	AutomountServiceAccountToken  *bool                      `json:"automountServiceAccountToken,omitempty" pb:"21"`
	NodeName                      string                     `json:"nodeName,omitempty" pb:"10"`
	HostNetwork                   bool                       `json:"hostNetwork,omitempty" pb:"11"`
	HostPID                       bool                       `json:"hostPID,omitempty" pb:"12"`
	HostIPC                       bool                       `json:"hostIPC,omitempty" pb:"13"`
	ShareProcessNamespace         *bool                      `json:"shareProcessNamespace,omitempty" pb:"27"`
	SecurityContext               *PodSecurityContext        `json:"securityContext,omitempty" pb:"14"`
	ImagePullSecrets              []LocalObjectReference     `json:"imagePullSecrets,omitempty" pb:"15" list:"map,key=name" patch:"merge,key=name"`
	Hostname                      string                     `json:"hostname,omitempty" pb:"16"`
	Subdomain                     string                     `json:"subdomain,omitempty" pb:"17"`
	Affinity                      *Affinity                  `json:"affinity,omitempty" pb:"18"`
	SchedulerName                 string                     `json:"schedulerName,omitempty" pb:"19"`
	Tolerations                   []Toleration               `json:"tolerations,omitempty" pb:"22" list:"atomic"`
	HostAliases                   []HostAlias                `json:"hostAliases,omitempty" pb:"23" list:"map,key=ip" patch:"merge,key=ip"`
	PriorityClassName             string                     `json:"priorityClassName,omitempty" pb:"24"`
	Priority                      *int32                     `json:"priority,omitempty" pb:"25"`
	DNSConfig                     *PodDNSConfig              `json:"dnsConfig,omitempty" pb:"26"`
	ReadinessGates                []PodReadinessGate         `json:"readinessGates,omitempty" pb:"28" list:"atomic"`
	RuntimeClassName              *string                    `json:"runtimeClassName,omitempty" pb:"29"`
	EnableServiceLinks            *bool                      `json:"enableServiceLinks,omitempty" pb:"30"`
	PreemptionPolicy              *PreemptionPolicy          `json:"preemptionPolicy,omitempty" pb:"31" enum:"Never,PreemptLowerPriority"`
	Overhead                      ResourceList               `json:"overhead,omitempty" pb:"32"`
	TopologySpreadConstraints     []TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty" pb:"33" list:"map,key=topologyKey,key=whenUnsatisfiable" patch:"merge,key=topologyKey"`
	SetHostnameAsFQDN             *bool                      `json:"setHostnameAsFQDN,omitempty" pb:"35"`
	OS                            *PodOS                     `json:"os,omitempty" pb:"36"`
	HostUsers                     *bool                      `json:"hostUsers,omitempty" pb:"37"`
	SchedulingGates               []PodSchedulingGate        `json:"schedulingGates,omitempty" pb:"38" list:"map,key=name" patch:"merge,key=name"`
	ResourceClaims                []PodResourceClaim         `json:"resourceClaims,omitempty" pb:"39" list:"map,key=name" patch:"merge,retainKeys,key=name"`
	Resources                     *ResourceRequirements      `json:"resources,omitempty" pb:"40"`
	HostnameOverride              *string                    `json:"hostnameOverride,omitempty" pb:"41"`
	SchedulingGroup               *PodSchedulingGroup        `json:"schedulingGroup,omitempty" pb:"43"`
}

// Volume ...
type Volume struct {
	Name         string `json:"name" pb:"1"`
	VolumeSource `json:",inline" pb:"2"`
}

// VolumeSource ...
type VolumeSource struct {
	HostPath              *HostPathVolumeSource              `json:"hostPath,omitempty" pb:"1"`
	EmptyDir              *EmptyDirVolumeSource              `json:"emptyDir,omitempty" pb:"2"`
	GCEPersistentDisk     *GCEPersistentDiskVolumeSource     `json:"gcePersistentDisk,omitempty" pb:"3"`
	AWSElasticBlockStore  *AWSElasticBlockStoreVolumeSource  `json:"awsElasticBlockStore,omitempty" pb:"4"`
	GitRepo               *GitRepoVolumeSource               `json:"gitRepo,omitempty" pb:"5"`
	Secret                *SecretVolumeSource                `json:"secret,omitempty" pb:"6"`
	NFS                   *NFSVolumeSource                   `json:"nfs,omitempty" pb:"7"`
	ISCSI                 *ISCSIVolumeSource                 `json:"iscsi,omitempty" pb:"8"`
	Glusterfs             *GlusterfsVolumeSource             `json:"glusterfs,omitempty" pb:"9"`
	PersistentVolumeClaim *PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty" pb:"10"`
	RBD                   *RBDVolumeSource                   `json:"rbd,omitempty" pb:"11"`
	FlexVolume            *FlexVolumeSource                  `json:"flexVolume,omitempty" pb:"12"`
	Cinder                *CinderVolumeSource                `json:"cinder,omitempty" pb:"13"`
	CephFS                *CephFSVolumeSource                `json:"cephfs,omitempty" pb:"14"`
	Flocker               *FlockerVolumeSource               `json:"flocker,omitempty" pb:"15"`
	DownwardAPI           *DownwardAPIVolumeSource           `json:"downwardAPI,omitempty" pb:"16"`
	FC                    *FCVolumeSource                    `json:"fc,omitempty" pb:"17"`
	AzureFile             *AzureFileVolumeSource             `json:"azureFile,omitempty" pb:"18"`
	ConfigMap             *ConfigMapVolumeSource             `json:"configMap,omitempty" pb:"19"`
	VsphereVolume         *VsphereVirtualDiskVolumeSource    `json:"vsphereVolume,omitempty" pb:"20"`
	Quobyte               *QuobyteVolumeSource               `json:"quobyte,omitempty" pb:"21"`
	AzureDisk             *AzureDiskVolumeSource             `json:"azureDisk,omitempty" pb:"22"`
	PhotonPersistentDisk  *PhotonPersistentDiskVolumeSource  `json:"photonPersistentDisk,omitempty" pb:"23"`
	Projected             *ProjectedVolumeSource             `json:"projected,omitempty" pb:"26"`
	PortworxVolume        *PortworxVolumeSource              `json:"portworxVolume,omitempty" pb:"24"`
	ScaleIO               *ScaleIOVolumeSource               `json:"scaleIO,omitempty" pb:"25"`
	StorageOS             *StorageOSVolumeSource             `json:"storageos,omitempty" pb:"27"`
	CSI                   *CSIVolumeSource                   `json:"csi,omitempty" pb:"28"`
	Ephemeral             *EphemeralVolumeSource             `json:"ephemeral,omitempty" pb:"29"`
	Image                 *ImageVolumeSource                 `json:"image,omitempty" pb:"30"`
}

// HostPathVolumeSource ...
type HostPathVolumeSource struct {
	Path string        `json:"path" pb:"1"`
	Type *HostPathType `json:"type,omitempty" pb:"2" enum:",BlockDevice,CharDevice,Directory,DirectoryOrCreate,File,FileOrCreate,Socket"`
}

// HostPathType ...
type HostPathType string

// EmptyDirVolumeSource ...
type EmptyDirVolumeSource struct {
	Medium    StorageMedium  `json:"medium,omitempty" pb:"1"`
	SizeLimit *meta.Quantity `json:"sizeLimit,omitempty" pb:"2"`
}

// StorageMedium ...
type StorageMedium string

// GCEPersistentDiskVolumeSource ...
type GCEPersistentDiskVolumeSource struct {
	PDName    string `json:"pdName" pb:"1"`
	FSType    string `json:"fsType,omitempty" pb:"2"`
	Partition int32  `json:"partition,omitempty" pb:"3"`
	ReadOnly  bool   `json:"readOnly,omitempty" pb:"4"`
}

// AWSElasticBlockStoreVolumeSource ...
type AWSElasticBlockStoreVolumeSource struct {
	VolumeID  string `json:"volumeID" pb:"1"`
	FSType    string `json:"fsType,omitempty" pb:"2"`
	Partition int32  `json:"partition,omitempty" pb:"3"`
	ReadOnly  bool   `json:"readOnly,omitempty" pb:"4"`
}

// GitRepoVolumeSource ...
type GitRepoVolumeSource struct {
	Repository string `json:"repository" pb:"1"`
	Revision   string `json:"revision,omitempty" pb:"2"`
	Directory  string `json:"directory,omitempty" pb:"3"`
}

// SecretVolumeSource ...
type SecretVolumeSource struct {
	SecretName  string      `json:"secretName,omitempty" pb:"1"`
	Items       []KeyToPath `json:"items,omitempty" pb:"2" list:"atomic"`
	DefaultMode *int32      `json:"defaultMode,omitempty" pb:"3"`
	Optional    *bool       `json:"optional,omitempty" pb:"4"`
}

// KeyToPath ...
type KeyToPath struct {
	Key  string `json:"key" pb:"1"`
	Path string `json:"path" pb:"2"`
	Mode *int32 `json:"mode,omitempty" pb:"3"`
}

// NFSVolumeSource ...
type NFSVolumeSource struct {
	Server   string `json:"server" pb:"1"`
	Path     string `json:"path" pb:"2"`
	ReadOnly bool   `json:"readOnly,omitempty" pb:"3"`
}

// ISCSIVolumeSource ...
type ISCSIVolumeSource struct {
	TargetPortal      string                `json:"targetPortal" pb:"1"`
	IQN               string                `json:"iqn" pb:"2"`
	Lun               int32                 `json:"lun" pb:"3"`
	ISCSIInterface    string                `json:"iscsiInterface,omitempty" pb:"4" default:"default"`
	FSType            string                `json:"fsType,omitempty" pb:"5"`
	ReadOnly          bool                  `json:"readOnly,omitempty" pb:"6"`
	Portals           []string              `json:"portals,omitempty" pb:"7" list:"atomic"`
	DiscoveryCHAPAuth bool                  `json:"chapAuthDiscovery,omitempty" pb:"8"`
	SessionCHAPAuth   bool                  `json:"chapAuthSession,omitempty" pb:"11"`
	SecretRef         *LocalObjectReference `json:"secretRef,omitempty" pb:"10"`
	InitiatorName     *string               `json:"initiatorName,omitempty" pb:"12"`
}

// GlusterfsVolumeSource ...
type GlusterfsVolumeSource struct {
	EndpointsName string `json:"endpoints" pb:"1"`
	Path          string `json:"path" pb:"2"`
	ReadOnly      bool   `json:"readOnly,omitempty" pb:"3"`
}

// PersistentVolumeClaimVolumeSource ...
type PersistentVolumeClaimVolumeSource struct {
	ClaimName string `json:"claimName" pb:"1"`
	ReadOnly  bool   `json:"readOnly,omitempty" pb:"2"`
}

// RBDVolumeSource ...
type RBDVolumeSource struct {
	CephMonitors []string              `json:"monitors" pb:"1" list:"atomic"`
	RBDImage     string                `json:"image" pb:"2"`
	FSType       string                `json:"fsType,omitempty" pb:"3"`
	RBDPool      string                `json:"pool,omitempty" pb:"4" default:"rbd"`
	RadosUser    string                `json:"user,omitempty" pb:"5" default:"admin"`
	Keyring      string                `json:"keyring,omitempty" pb:"6" default:"/etc/ceph/keyring"`
	SecretRef    *LocalObjectReference `json:"secretRef,omitempty" pb:"7"`
	ReadOnly     bool                  `json:"readOnly,omitempty" pb:"8"`
}

// FlexVolumeSource ...
type FlexVolumeSource struct {
	Driver    string                `json:"driver" pb:"1"`
	FSType    string                `json:"fsType,omitempty" pb:"2"`
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" pb:"3"`
	ReadOnly  bool                  `json:"readOnly,omitempty" pb:"4"`
	Options   map[string]string     `json:"options,omitempty" pb:"5"`
}

// CinderVolumeSource ...
type CinderVolumeSource struct {
	VolumeID  string                `json:"volumeID" pb:"1"`
	FSType    string                `json:"fsType,omitempty" pb:"2"`
	ReadOnly  bool                  `json:"readOnly,omitempty" pb:"3"`
	SecretRef *LocalObjectReference `json:"secretRef,omitempty" pb:"4"`
}

// CephFSVolumeSource ...
type CephFSVolumeSource struct {
	Monitors   []string              `json:"monitors" pb:"1" list:"atomic"`
	Path       string                `json:"path,omitempty" pb:"2"`
	User       string                `json:"user,omitempty" pb:"3"`
	SecretFile string                `json:"secretFile,omitempty" pb:"4"`
	SecretRef  *LocalObjectReference `json:"secretRef,omitempty" pb:"5"`
	ReadOnly   bool                  `json:"readOnly,omitempty" pb:"6"`
}

// FlockerVolumeSource ...
type FlockerVolumeSource struct {
	DatasetName string `json:"datasetName,omitempty" pb:"1"`
	DatasetUUID string `json:"datasetUUID,omitempty" pb:"2"`
}

// DownwardAPIVolumeSource ...
type DownwardAPIVolumeSource struct {
	Items       []DownwardAPIVolumeFile `json:"items,omitempty" pb:"1" list:"atomic"`
	DefaultMode *int32                  `json:"defaultMode,omitempty" pb:"2"`
}

// DownwardAPIVolumeFile ...
type DownwardAPIVolumeFile struct {
	Path             string                 `json:"path" pb:"1"`
	FieldRef         *ObjectFieldSelector   `json:"fieldRef,omitempty" pb:"2"`
	ResourceFieldRef *ResourceFieldSelector `json:"resourceFieldRef,omitempty" pb:"3"`
	Mode             *int32                 `json:"mode,omitempty" pb:"4"`
}

// ObjectFieldSelector ...
type ObjectFieldSelector struct {
	APIVersion string `json:"apiVersion,omitempty" pb:"1"`
	FieldPath  string `json:"fieldPath" pb:"2"`
}

// ResourceFieldSelector ...
type ResourceFieldSelector struct {
	ContainerName string        `json:"containerName,omitempty" pb:"1"`
	Resource      string        `json:"resource" pb:"2"`
	Divisor       meta.Quantity `json:"divisor,omitempty" pb:"3"`
}

// FCVolumeSource ...
type FCVolumeSource struct {
	TargetWWNs []string `json:"targetWWNs,omitempty" pb:"1" list:"atomic"`
	Lun        *int32   `json:"lun,omitempty" pb:"2"`
	FSType     string   `json:"fsType,omitempty" pb:"3"`
	ReadOnly   bool     `json:"readOnly,omitempty" pb:"4"`
	WWIDs      []string `json:"wwids,omitempty" pb:"5" list:"atomic"`
}

// AzureFileVolumeSource ...
type AzureFileVolumeSource struct {
	SecretName string `json:"secretName" pb:"1"`
	ShareName  string `json:"shareName" pb:"2"`
	ReadOnly   bool   `json:"readOnly,omitempty" pb:"3"`
}

// ConfigMapVolumeSource ...
type ConfigMapVolumeSource struct {
	LocalObjectReference `json:",inline" pb:"1"`
	Items                []KeyToPath `json:"items,omitempty" pb:"2" list:"atomic"`
	DefaultMode          *int32      `json:"defaultMode,omitempty" pb:"3"`
	Optional             *bool       `json:"optional,omitempty" pb:"4"`
}

// VsphereVirtualDiskVolumeSource ...
type VsphereVirtualDiskVolumeSource struct {
	VolumePath        string `json:"volumePath" pb:"1"`
	FSType            string `json:"fsType,omitempty" pb:"2"`
	StoragePolicyName string `json:"storagePolicyName,omitempty" pb:"3"`
	StoragePolicyID   string `json:"storagePolicyID,omitempty" pb:"4"`
}

// QuobyteVolumeSource ...
type QuobyteVolumeSource struct {
	Registry string `json:"registry" pb:"1"`
	Volume   string `json:"volume" pb:"2"`
	ReadOnly bool   `json:"readOnly,omitempty" pb:"3"`
	User     string `json:"user,omitempty" pb:"4"`
	Group    string `json:"group,omitempty" pb:"5"`
	Tenant   string `json:"tenant,omitempty" pb:"6"`
}

// AzureDiskVolumeSource ...
type AzureDiskVolumeSource struct {
	DiskName    string                    `json:"diskName" pb:"1"`
	DataDiskURI string                    `json:"diskURI" pb:"2"`
	CachingMode *AzureDataDiskCachingMode `json:"cachingMode,omitempty" pb:"3" default:"ReadWrite" enum:"None,ReadOnly,ReadWrite"`
	FSType      *string                   `json:"fsType,omitempty" pb:"4" default:"ext4"`
	ReadOnly    *bool                     `json:"readOnly,omitempty" pb:"5"`
	Kind        *AzureDataDiskKind        `json:"kind,omitempty" pb:"6" default:"Shared" enum:"Dedicated,Managed,Shared"`
}

// AzureDataDiskCachingMode ...
type AzureDataDiskCachingMode string

// AzureDataDiskKind ...
type AzureDataDiskKind string

// PhotonPersistentDiskVolumeSource ...
type PhotonPersistentDiskVolumeSource struct {
	PdID   string `json:"pdID" pb:"1"`
	FSType string `json:"fsType,omitempty" pb:"2"`
}

// ProjectedVolumeSource ...
type ProjectedVolumeSource struct {
	Sources     []VolumeProjection `json:"sources" pb:"1" check:"optional" list:"atomic"`
	DefaultMode *int32             `json:"defaultMode,omitempty" pb:"2"`
}

// VolumeProjection ...
type VolumeProjection struct {
	Secret              *SecretProjection              `json:"secret,omitempty" pb:"1"`
	DownwardAPI         *DownwardAPIProjection         `json:"downwardAPI,omitempty" pb:"2"`
	ConfigMap           *ConfigMapProjection           `json:"configMap,omitempty" pb:"3"`
	ServiceAccountToken *ServiceAccountTokenProjection `json:"serviceAccountToken,omitempty" pb:"4"`
	ClusterTrustBundle  *ClusterTrustBundleProjection  `json:"clusterTrustBundle,omitempty" pb:"5"`
	PodCertificate      *PodCertificateProjection      `json:"podCertificate,omitempty" pb:"6"`
}

// SecretProjection ...
type SecretProjection struct {
	LocalObjectReference `json:",inline" pb:"1"`
	Items                []KeyToPath `json:"items,omitempty" pb:"2" list:"atomic"`
	Optional             *bool       `json:"optional,omitempty" pb:"4"`
}

// DownwardAPIProjection ...
type DownwardAPIProjection struct {
	Items []DownwardAPIVolumeFile `json:"items,omitempty" pb:"1" list:"atomic"`
}

// ConfigMapProjection ...
type ConfigMapProjection struct {
	LocalObjectReference `json:",inline" pb:"1"`
	Items                []KeyToPath `json:"items,omitempty" pb:"2" list:"atomic"`
	Optional             *bool       `json:"optional,omitempty" pb:"4"`
}

// ServiceAccountTokenProjection ...
type ServiceAccountTokenProjection struct {
	Audience          string `json:"audience,omitempty" pb:"1"`
	ExpirationSeconds *int64 `json:"expirationSeconds,omitempty" pb:"2"`
	Path              string `json:"path" pb:"3"`
}

// ClusterTrustBundleProjection ...
type ClusterTrustBundleProjection struct {
	Name          *string             `json:"name,omitempty" pb:"1"`
	SignerName    *string             `json:"signerName,omitempty" pb:"2"`
	LabelSelector *meta.LabelSelector `json:"labelSelector,omitempty" pb:"3"`
	Optional      *bool               `json:"optional,omitempty" pb:"5"`
	Path          string              `json:"path" pb:"4"`
}

// PodCertificateProjection ...
type PodCertificateProjection struct {
	SignerName           string            `json:"signerName,omitempty" pb:"1" check:"required"`
	KeyType              string            `json:"keyType,omitempty" pb:"2" check:"required"`
	MaxExpirationSeconds *int32            `json:"maxExpirationSeconds,omitempty" pb:"3"`
	CredentialBundlePath string            `json:"credentialBundlePath,omitempty" pb:"4"`
	KeyPath              string            `json:"keyPath,omitempty" pb:"5"`
	CertificateChainPath string            `json:"certificateChainPath,omitempty" pb:"6"`
	UserAnnotations      map[string]string `json:"userAnnotations,omitempty" pb:"7"`
}

// PortworxVolumeSource ...
type PortworxVolumeSource struct {
	VolumeID string `json:"volumeID" pb:"1"`
	FSType   string `json:"fsType,omitempty" pb:"2"`
	ReadOnly bool   `json:"readOnly,omitempty" pb:"3"`
}

// ScaleIOVolumeSource ...
type ScaleIOVolumeSource struct {
	Gateway          string                `json:"gateway" pb:"1"`
	System           string                `json:"system" pb:"2"`
	SecretRef        *LocalObjectReference `json:"secretRef" pb:"3"`
	SSLEnabled       bool                  `json:"sslEnabled,omitempty" pb:"4"`
	ProtectionDomain string                `json:"protectionDomain,omitempty" pb:"5"`
	StoragePool      string                `json:"storagePool,omitempty" pb:"6"`
	StorageMode      string                `json:"storageMode,omitempty" pb:"7" default:"ThinProvisioned"`
	VolumeName       string                `json:"volumeName,omitempty" pb:"8"`
	FSType           string                `json:"fsType,omitempty" pb:"9" default:"xfs"`
	ReadOnly         bool                  `json:"readOnly,omitempty" pb:"10"`
}

// StorageOSVolumeSource ...
type StorageOSVolumeSource struct {
	VolumeName      string                `json:"volumeName,omitempty" pb:"1"`
	VolumeNamespace string                `json:"volumeNamespace,omitempty" pb:"2"`
	FSType          string                `json:"fsType,omitempty" pb:"3"`
	ReadOnly        bool                  `json:"readOnly,omitempty" pb:"4"`
	SecretRef       *LocalObjectReference `json:"secretRef,omitempty" pb:"5"`
}

// CSIVolumeSource ...
type CSIVolumeSource struct {
	Driver               string                `json:"driver" pb:"1"`
	ReadOnly             *bool                 `json:"readOnly,omitempty" pb:"2"`
	FSType               *string               `json:"fsType,omitempty" pb:"3"`
	VolumeAttributes     map[string]string     `json:"volumeAttributes,omitempty" pb:"4"`
	NodePublishSecretRef *LocalObjectReference `json:"nodePublishSecretRef,omitempty" pb:"5"`
}

// EphemeralVolumeSource ...
type EphemeralVolumeSource struct {
	VolumeClaimTemplate *PersistentVolumeClaimTemplate `json:"volumeClaimTemplate,omitempty" pb:"1"`
}

// PersistentVolumeClaimTemplate ...
type PersistentVolumeClaimTemplate struct {
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            PersistentVolumeClaimSpec `json:"spec" pb:"2"`
}

// PersistentVolumeClaimSpec ...
type PersistentVolumeClaimSpec struct {
	AccessModes               []PersistentVolumeAccessMode `json:"accessModes,omitempty" pb:"1" itemEnum:"ReadOnlyMany,ReadWriteMany,ReadWriteOnce,ReadWriteOncePod" list:"atomic"`
	Selector                  *meta.LabelSelector          `json:"selector,omitempty" pb:"4"`
	Resources                 VolumeResourceRequirements   `json:"resources,omitempty" pb:"2"`
	VolumeName                string                       `json:"volumeName,omitempty" pb:"3"`
	StorageClassName          *string                      `json:"storageClassName,omitempty" pb:"5"`
	VolumeMode                *PersistentVolumeMode        `json:"volumeMode,omitempty" pb:"6" enum:"Block,Filesystem"`
	DataSource                *TypedLocalObjectReference   `json:"dataSource,omitempty" pb:"7"`
	DataSourceRef             *TypedObjectReference        `json:"dataSourceRef,omitempty" pb:"8"`
	VolumeAttributesClassName *string                      `json:"volumeAttributesClassName,omitempty" pb:"9"`
}

// PersistentVolumeAccessMode ...
type PersistentVolumeAccessMode string

// VolumeResourceRequirements ...
type VolumeResourceRequirements struct {
	Limits   ResourceList `json:"limits,omitempty" pb:"1"`
	Requests ResourceList `json:"requests,omitempty" pb:"2"`
}

// PersistentVolumeMode ...
type PersistentVolumeMode string

// TypedLocalObjectReference ...
type TypedLocalObjectReference struct {
	APIGroup *string `json:"apiGroup" pb:"1" check:"optional"`
	Kind     string  `json:"kind" pb:"2"`
	Name     string  `json:"name" pb:"3"`
}

// TypedObjectReference ...
type TypedObjectReference struct {
	APIGroup  *string `json:"apiGroup" pb:"1" check:"optional"`
	Kind      string  `json:"kind" pb:"2"`
	Name      string  `json:"name" pb:"3"`
	Namespace *string `json:"namespace,omitempty" pb:"4"`
}

// ImageVolumeSource ...
type ImageVolumeSource struct {
	Reference  string     `json:"reference,omitempty" pb:"1"`
	PullPolicy PullPolicy `json:"pullPolicy,omitempty" pb:"2" enum:"Always,IfNotPresent,Never"`
}

// PullPolicy ...
type PullPolicy string

// Container ...
type Container struct {
	Name                     string                   `json:"name" pb:"1"`
	Image                    string                   `json:"image,omitempty" pb:"2"`
	Command                  []string                 `json:"command,omitempty" pb:"3" list:"atomic"`
	Args                     []string                 `json:"args,omitempty" pb:"4" list:"atomic"`
	WorkingDir               string                   `json:"workingDir,omitempty" pb:"5"`
	Ports                    []ContainerPort          `json:"ports,omitempty" pb:"6" list:"map,key=containerPort,key=protocol" patch:"merge,key=containerPort"`
	EnvFrom                  []EnvFromSource          `json:"envFrom,omitempty" pb:"19" list:"atomic"`
	Env                      []EnvVar                 `json:"env,omitempty" pb:"7" list:"map,key=name" patch:"merge,key=name"`
	Resources                ResourceRequirements     `json:"resources,omitempty" pb:"8"`
	ResizePolicy             []ContainerResizePolicy  `json:"resizePolicy,omitempty" pb:"23" list:"atomic"`
	RestartPolicy            *ContainerRestartPolicy  `json:"restartPolicy,omitempty" pb:"24"`
	RestartPolicyRules       []ContainerRestartRule   `json:"restartPolicyRules,omitempty" pb:"25" list:"atomic"`
	VolumeMounts             []VolumeMount            `json:"volumeMounts,omitempty" pb:"9" list:"map,key=mountPath" patch:"merge,key=mountPath"`
	VolumeDevices            []VolumeDevice           `json:"volumeDevices,omitempty" pb:"21" list:"map,key=devicePath" patch:"merge,key=devicePath"`
	LivenessProbe            *Probe                   `json:"livenessProbe,omitempty" pb:"10"`
	ReadinessProbe           *Probe                   `json:"readinessProbe,omitempty" pb:"11"`
	StartupProbe             *Probe                   `json:"startupProbe,omitempty" pb:"22"`
	Lifecycle                *Lifecycle               `json:"lifecycle,omitempty" pb:"12"`
	TerminationMessagePath   string                   `json:"terminationMessagePath,omitempty" pb:"13"`
	TerminationMessagePolicy TerminationMessagePolicy `json:"terminationMessagePolicy,omitempty" pb:"20" enum:"FallbackToLogsOnError,File"`
	ImagePullPolicy          PullPolicy               `json:"imagePullPolicy,omitempty" pb:"14" enum:"Always,IfNotPresent,Never"`
	SecurityContext          *SecurityContext         `json:"securityContext,omitempty" pb:"15"`
	Stdin                    bool                     `json:"stdin,omitempty" pb:"16"`
	StdinOnce                bool                     `json:"stdinOnce,omitempty" pb:"17"`
	TTY                      bool                     `json:"tty,omitempty" pb:"18"`
}

// ContainerPort ...
type ContainerPort struct {
	Name          string   `json:"name,omitempty" pb:"1"`
	HostPort      int32    `json:"hostPort,omitempty" pb:"2"`
	ContainerPort int32    `json:"containerPort" pb:"3"`
	Protocol      Protocol `json:"protocol,omitempty" pb:"4" default:"TCP" enum:"SCTP,TCP,UDP"`
	HostIP        string   `json:"hostIP,omitempty" pb:"5"`
}

// EnvFromSource ...
type EnvFromSource struct {
	Prefix       string              `json:"prefix,omitempty" pb:"1"`
	ConfigMapRef *ConfigMapEnvSource `json:"configMapRef,omitempty" pb:"2"`
	SecretRef    *SecretEnvSource    `json:"secretRef,omitempty" pb:"3"`
}

// ConfigMapEnvSource ...
type ConfigMapEnvSource struct {
	LocalObjectReference `json:",inline" pb:"1"`
	Optional             *bool `json:"optional,omitempty" pb:"2"`
}

// SecretEnvSource ...
type SecretEnvSource struct {
	LocalObjectReference `json:",inline" pb:"1"`
	Optional             *bool `json:"optional,omitempty" pb:"2"`
}

// EnvVar ...
type EnvVar struct {
	Name      string        `json:"name" pb:"1"`
	Value     string        `json:"value,omitempty" pb:"2"`
	ValueFrom *EnvVarSource `json:"valueFrom,omitempty" pb:"3"`
}

// EnvVarSource ...
type EnvVarSource struct {
	FieldRef         *ObjectFieldSelector   `json:"fieldRef,omitempty" pb:"1"`
	ResourceFieldRef *ResourceFieldSelector `json:"resourceFieldRef,omitempty" pb:"2"`
	ConfigMapKeyRef  *ConfigMapKeySelector  `json:"configMapKeyRef,omitempty" pb:"3"`
	SecretKeyRef     *SecretKeySelector     `json:"secretKeyRef,omitempty" pb:"4"`
	FileKeyRef       *FileKeySelector       `json:"fileKeyRef,omitempty" pb:"5"`
}

// ConfigMapKeySelector ...
type ConfigMapKeySelector struct {
	LocalObjectReference `json:",inline" pb:"1"`
	Key                  string `json:"key" pb:"2"`
	Optional             *bool  `json:"optional,omitempty" pb:"3"`
}

// SecretKeySelector ...
type SecretKeySelector struct {
	LocalObjectReference `json:",inline" pb:"1"`
	Key                  string `json:"key" pb:"2"`
	Optional             *bool  `json:"optional,omitempty" pb:"3"`
}

// FileKeySelector ...
type FileKeySelector struct {
	VolumeName string `json:"volumeName" pb:"1"`
	Path       string `json:"path" pb:"2"`
	Key        string `json:"key" pb:"3"`
	Optional   *bool  `json:"optional,omitempty" pb:"4"`
}

// ResourceRequirements ...
type ResourceRequirements struct {
	Limits   ResourceList    `json:"limits,omitempty" pb:"1"`
	Requests ResourceList    `json:"requests,omitempty" pb:"2"`
	Claims   []ResourceClaim `json:"claims,omitempty" pb:"3" list:"map,key=name"`
}

// ResourceClaim ...
type ResourceClaim struct {
	Name    string `json:"name" pb:"1"`
	Request string `json:"request,omitempty" pb:"2"`
}

// ContainerResizePolicy ...
type ContainerResizePolicy struct {
	ResourceName  ResourceName                `json:"resourceName" pb:"1"`
	RestartPolicy ResourceResizeRestartPolicy `json:"restartPolicy" pb:"2"`
}

// ResourceName ...
type ResourceName string

// ResourceResizeRestartPolicy ...
type ResourceResizeRestartPolicy string

// ContainerRestartPolicy ...
type ContainerRestartPolicy string

// ContainerRestartRule ...
type ContainerRestartRule struct {
	Action    ContainerRestartRuleAction       `json:"action,omitempty" pb:"1" check:"required"`
	ExitCodes *ContainerRestartRuleOnExitCodes `json:"exitCodes,omitempty" pb:"2"`
}

// ContainerRestartRuleAction ...
type ContainerRestartRuleAction string

// ContainerRestartRuleOnExitCodes ...
type ContainerRestartRuleOnExitCodes struct {
	Operator ContainerRestartRuleOnExitCodesOperator `json:"operator,omitempty" pb:"1" check:"required"`
	Values   []int32                                 `json:"values,omitempty" pb:"2" list:"set"`
}

// ContainerRestartRuleOnExitCodesOperator ...
type ContainerRestartRuleOnExitCodesOperator string

// VolumeMount ...
type VolumeMount struct {
	Name              string                 `json:"name" pb:"1"`
	ReadOnly          bool                   `json:"readOnly,omitempty" pb:"2"`
	RecursiveReadOnly *RecursiveReadOnlyMode `json:"recursiveReadOnly,omitempty" pb:"7"`
	MountPath         string                 `json:"mountPath" pb:"3"`
	SubPath           string                 `json:"subPath,omitempty" pb:"4"`
	MountPropagation  *MountPropagationMode  `json:"mountPropagation,omitempty" pb:"5" enum:"Bidirectional,HostToContainer,None"`
	SubPathExpr       string                 `json:"subPathExpr,omitempty" pb:"6"`
}

// RecursiveReadOnlyMode ...
type RecursiveReadOnlyMode string

// MountPropagationMode ...
type MountPropagationMode string

// VolumeDevice ...
type VolumeDevice struct {
	Name       string `json:"name" pb:"1"`
	DevicePath string `json:"devicePath" pb:"2"`
}

// Probe ...
type Probe struct {
	ProbeHandler                  `json:",inline" pb:"1"`
	InitialDelaySeconds           int32  `json:"initialDelaySeconds,omitempty" pb:"2"`
	TimeoutSeconds                int32  `json:"timeoutSeconds,omitempty" pb:"3"`
	PeriodSeconds                 int32  `json:"periodSeconds,omitempty" pb:"4"`
	SuccessThreshold              int32  `json:"successThreshold,omitempty" pb:"5"`
	FailureThreshold              int32  `json:"failureThreshold,omitempty" pb:"6"`
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty" pb:"7"`
}

// ProbeHandler ...
type ProbeHandler struct {
	Exec      *ExecAction      `json:"exec,omitempty" pb:"1"`
	HTTPGet   *HTTPGetAction   `json:"httpGet,omitempty" pb:"2"`
	TCPSocket *TCPSocketAction `json:"tcpSocket,omitempty" pb:"3"`
	GRPC      *GRPCAction      `json:"grpc,omitempty" pb:"4"`
}

// ExecAction ...
type ExecAction struct {
	Command []string `json:"command,omitempty" pb:"1" list:"atomic"`
}

// HTTPGetAction ...
type HTTPGetAction struct {
	Path        string           `json:"path,omitempty" pb:"1"`
	Port        meta.IntOrString `json:"port" pb:"2"`
	Host        string           `json:"host,omitempty" pb:"3"`
	Scheme      URIScheme        `json:"scheme,omitempty" pb:"4" enum:"HTTP,HTTPS"`
	HTTPHeaders []HTTPHeader     `json:"httpHeaders,omitempty" pb:"5" list:"atomic"`
}

// URIScheme ...
type URIScheme string

// HTTPHeader ...
type HTTPHeader struct {
	Name  string `json:"name" pb:"1"`
	Value string `json:"value" pb:"2"`
}

// TCPSocketAction ...
type TCPSocketAction struct {
	Port meta.IntOrString `json:"port" pb:"1"`
	Host string           `json:"host,omitempty" pb:"2"`
}

// GRPCAction ...
type GRPCAction struct {
	Port    int32   `json:"port" pb:"1"`
	Service *string `json:"service" pb:"2" check:"optional"`
}

// Lifecycle ...
type Lifecycle struct {
	PostStart  *LifecycleHandler `json:"postStart,omitempty" pb:"1"`
	PreStop    *LifecycleHandler `json:"preStop,omitempty" pb:"2"`
	StopSignal *Signal           `json:"stopSignal,omitempty" pb:"3" enum:"SIGABRT,SIGALRM,SIGBUS,SIGCHLD,SIGCLD,SIGCONT,SIGFPE,SIGHUP,SIGILL,SIGINT,SIGIO,SIGIOT,SIGKILL,SIGPIPE,SIGPOLL,SIGPROF,SIGPWR,SIGQUIT,SIGRTMAX,SIGRTMAX-1,SIGRTMAX-10,SIGRTMAX-11,SIGRTMAX-12,SIGRTMAX-13,SIGRTMAX-14,SIGRTMAX-2,SIGRTMAX-3,SIGRTMAX-4,SIGRTMAX-5,SIGRTMAX-6,SIGRTMAX-7,SIGRTMAX-8,SIGRTMAX-9,SIGRTMIN,SIGRTMIN+1,SIGRTMIN+10,SIGRTMIN+11,SIGRTMIN+12,SIGRTMIN+13,SIGRTMIN+14,SIGRTMIN+15,SIGRTMIN+2,SIGRTMIN+3,SIGRTMIN+4,SIGRTMIN+5,SIGRTMIN+6,SIGRTMIN+7,SIGRTMIN+8,SIGRTMIN+9,SIGSEGV,SIGSTKFLT,SIGSTOP,SIGSYS,SIGTERM,SIGTRAP,SIGTSTP,SIGTTIN,SIGTTOU,SIGURG,SIGUSR1,SIGUSR2,SIGVTALRM,SIGWINCH,SIGXCPU,SIGXFSZ"`
}

// LifecycleHandler ...
type LifecycleHandler struct {
	Exec      *ExecAction      `json:"exec,omitempty" pb:"1"`
	HTTPGet   *HTTPGetAction   `json:"httpGet,omitempty" pb:"2"`
	TCPSocket *TCPSocketAction `json:"tcpSocket,omitempty" pb:"3"`
	Sleep     *SleepAction     `json:"sleep,omitempty" pb:"4"`
}

// SleepAction ...
type SleepAction struct {
	Seconds int64 `json:"seconds" pb:"1"`
}

// Signal ...
type Signal string

// TerminationMessagePolicy ...
type TerminationMessagePolicy string

// SecurityContext ...
type SecurityContext struct {
	Capabilities             *Capabilities                  `json:"capabilities,omitempty" pb:"1"`
	Privileged               *bool                          `json:"privileged,omitempty" pb:"2"`
	SELinuxOptions           *SELinuxOptions                `json:"seLinuxOptions,omitempty" pb:"3"`
	WindowsOptions           *WindowsSecurityContextOptions `json:"windowsOptions,omitempty" pb:"10"`
	RunAsUser                *int64                         `json:"runAsUser,omitempty" pb:"4"`
	RunAsGroup               *int64                         `json:"runAsGroup,omitempty" pb:"8"`
	RunAsNonRoot             *bool                          `json:"runAsNonRoot,omitempty" pb:"5"`
	ReadOnlyRootFilesystem   *bool                          `json:"readOnlyRootFilesystem,omitempty" pb:"6"`
	AllowPrivilegeEscalation *bool                          `json:"allowPrivilegeEscalation,omitempty" pb:"7"`
	ProcMount                *ProcMountType                 `json:"procMount,omitempty" pb:"9" enum:"Default,Unmasked"`
	SeccompProfile           *SeccompProfile                `json:"seccompProfile,omitempty" pb:"11"`
	AppArmorProfile          *AppArmorProfile               `json:"appArmorProfile,omitempty" pb:"12"`
}

// Capabilities ...
type Capabilities struct {
	Add  []Capability `json:"add,omitempty" pb:"1" list:"atomic"`
	Drop []Capability `json:"drop,omitempty" pb:"2" list:"atomic"`
}

// Capability ...
type Capability string

// SELinuxOptions ...
type SELinuxOptions struct {
	User  string `json:"user,omitempty" pb:"1"`
	Role  string `json:"role,omitempty" pb:"2"`
	Type  string `json:"type,omitempty" pb:"3"`
	Level string `json:"level,omitempty" pb:"4"`
}

// WindowsSecurityContextOptions ...
type WindowsSecurityContextOptions struct {
	GMSACredentialSpecName *string `json:"gmsaCredentialSpecName,omitempty" pb:"1"`
	GMSACredentialSpec     *string `json:"gmsaCredentialSpec,omitempty" pb:"2"`
	RunAsUserName          *string `json:"runAsUserName,omitempty" pb:"3"`
	HostProcess            *bool   `json:"hostProcess,omitempty" pb:"4"`
}

// ProcMountType ...
type ProcMountType string

// SeccompProfile ...
type SeccompProfile struct {
	Type             SeccompProfileType `json:"type" pb:"1" enum:"Localhost,RuntimeDefault,Unconfined"`
	LocalhostProfile *string            `json:"localhostProfile,omitempty" pb:"2"`
}

// SeccompProfileType ...
type SeccompProfileType string

// AppArmorProfile ...
type AppArmorProfile struct {
	Type             AppArmorProfileType `json:"type" pb:"1" enum:"Localhost,RuntimeDefault,Unconfined"`
	LocalhostProfile *string             `json:"localhostProfile,omitempty" pb:"2"`
}

// AppArmorProfileType ...
type AppArmorProfileType string

// EphemeralContainer ...
type EphemeralContainer struct {
	EphemeralContainerCommon `json:",inline" pb:"1"`
	TargetContainerName      string `json:"targetContainerName,omitempty" pb:"2"`
}

// EphemeralContainerCommon ...
type EphemeralContainerCommon struct {
	Name                     string                   `json:"name" pb:"1"`
	Image                    string                   `json:"image,omitempty" pb:"2"`
	Command                  []string                 `json:"command,omitempty" pb:"3" list:"atomic"`
	Args                     []string                 `json:"args,omitempty" pb:"4" list:"atomic"`
	WorkingDir               string                   `json:"workingDir,omitempty" pb:"5"`
	Ports                    []ContainerPort          `json:"ports,omitempty" pb:"6" list:"map,key=containerPort,key=protocol" patch:"merge,key=containerPort"`
	EnvFrom                  []EnvFromSource          `json:"envFrom,omitempty" pb:"19" list:"atomic"`
	Env                      []EnvVar                 `json:"env,omitempty" pb:"7" list:"map,key=name" patch:"merge,key=name"`
	Resources                ResourceRequirements     `json:"resources,omitempty" pb:"8"`
	ResizePolicy             []ContainerResizePolicy  `json:"resizePolicy,omitempty" pb:"23" list:"atomic"`
	RestartPolicy            *ContainerRestartPolicy  `json:"restartPolicy,omitempty" pb:"24"`
	RestartPolicyRules       []ContainerRestartRule   `json:"restartPolicyRules,omitempty" pb:"25" list:"atomic"`
	VolumeMounts             []VolumeMount            `json:"volumeMounts,omitempty" pb:"9" list:"map,key=mountPath" patch:"merge,key=mountPath"`
	VolumeDevices            []VolumeDevice           `json:"volumeDevices,omitempty" pb:"21" list:"map,key=devicePath" patch:"merge,key=devicePath"`
	LivenessProbe            *Probe                   `json:"livenessProbe,omitempty" pb:"10"`
	ReadinessProbe           *Probe                   `json:"readinessProbe,omitempty" pb:"11"`
	StartupProbe             *Probe                   `json:"startupProbe,omitempty" pb:"22"`
	Lifecycle                *Lifecycle               `json:"lifecycle,omitempty" pb:"12"`
	TerminationMessagePath   string                   `json:"terminationMessagePath,omitempty" pb:"13"`
	TerminationMessagePolicy TerminationMessagePolicy `json:"terminationMessagePolicy,omitempty" pb:"20" enum:"FallbackToLogsOnError,File"`
	ImagePullPolicy          PullPolicy               `json:"imagePullPolicy,omitempty" pb:"14" enum:"Always,IfNotPresent,Never"`
	SecurityContext          *SecurityContext         `json:"securityContext,omitempty" pb:"15"`
	Stdin                    bool                     `json:"stdin,omitempty" pb:"16"`
	StdinOnce                bool                     `json:"stdinOnce,omitempty" pb:"17"`
	TTY                      bool                     `json:"tty,omitempty" pb:"18"`
}

// RestartPolicy ...
type RestartPolicy string

// DNSPolicy ...
type DNSPolicy string

// PodSecurityContext ...
type PodSecurityContext struct {
	SELinuxOptions           *SELinuxOptions                `json:"seLinuxOptions,omitempty" pb:"1"`
	WindowsOptions           *WindowsSecurityContextOptions `json:"windowsOptions,omitempty" pb:"8"`
	RunAsUser                *int64                         `json:"runAsUser,omitempty" pb:"2"`
	RunAsGroup               *int64                         `json:"runAsGroup,omitempty" pb:"6"`
	RunAsNonRoot             *bool                          `json:"runAsNonRoot,omitempty" pb:"3"`
	SupplementalGroups       []int64                        `json:"supplementalGroups,omitempty" pb:"4" list:"atomic"`
	SupplementalGroupsPolicy *SupplementalGroupsPolicy      `json:"supplementalGroupsPolicy,omitempty" pb:"12" enum:"Merge,Strict"`
	FSGroup                  *int64                         `json:"fsGroup,omitempty" pb:"5"`
	Sysctls                  []Sysctl                       `json:"sysctls,omitempty" pb:"7" list:"atomic"`
	FSGroupChangePolicy      *PodFSGroupChangePolicy        `json:"fsGroupChangePolicy,omitempty" pb:"9" enum:"Always,OnRootMismatch"`
	SeccompProfile           *SeccompProfile                `json:"seccompProfile,omitempty" pb:"10"`
	AppArmorProfile          *AppArmorProfile               `json:"appArmorProfile,omitempty" pb:"11"`
	SELinuxChangePolicy      *PodSELinuxChangePolicy        `json:"seLinuxChangePolicy,omitempty" pb:"13"`
}

// SupplementalGroupsPolicy ...
type SupplementalGroupsPolicy string

// Sysctl ...
type Sysctl struct {
	Name  string `json:"name" pb:"1"`
	Value string `json:"value" pb:"2"`
}

// PodFSGroupChangePolicy ...
type PodFSGroupChangePolicy string

// PodSELinuxChangePolicy ...
type PodSELinuxChangePolicy string

// Affinity ...
type Affinity struct {
	NodeAffinity    *NodeAffinity    `json:"nodeAffinity,omitempty" pb:"1"`
	PodAffinity     *PodAffinity     `json:"podAffinity,omitempty" pb:"2"`
	PodAntiAffinity *PodAntiAffinity `json:"podAntiAffinity,omitempty" pb:"3"`
}

// NodeAffinity ...
type NodeAffinity struct {
	RequiredDuringSchedulingIgnoredDuringExecution  *NodeSelector             `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty" pb:"1"`
	PreferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty" pb:"2" list:"atomic"`
}

// NodeSelector ...
type NodeSelector struct {
	NodeSelectorTerms []NodeSelectorTerm `json:"nodeSelectorTerms" pb:"1" list:"atomic"`
}

// NodeSelectorTerm ...
type NodeSelectorTerm struct {
	MatchExpressions []NodeSelectorRequirement `json:"matchExpressions,omitempty" pb:"1" list:"atomic"`
	MatchFields      []NodeSelectorRequirement `json:"matchFields,omitempty" pb:"2" list:"atomic"`
}

// NodeSelectorRequirement ...
type NodeSelectorRequirement struct {
	Key      string               `json:"key" pb:"1"`
	Operator NodeSelectorOperator `json:"operator" pb:"2" enum:"DoesNotExist,Exists,Gt,In,Lt,NotIn"`
	Values   []string             `json:"values,omitempty" pb:"3" list:"atomic"`
}

// NodeSelectorOperator ...
type NodeSelectorOperator string

// PreferredSchedulingTerm ...
type PreferredSchedulingTerm struct {
	Weight     int32            `json:"weight" pb:"1"`
	Preference NodeSelectorTerm `json:"preference" pb:"2"`
}

// PodAffinity ...
type PodAffinity struct {
	RequiredDuringSchedulingIgnoredDuringExecution  []PodAffinityTerm         `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty" pb:"1" list:"atomic"`
	PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty" pb:"2" list:"atomic"`
}

// PodAffinityTerm ...
type PodAffinityTerm struct {
	LabelSelector     *meta.LabelSelector `json:"labelSelector,omitempty" pb:"1"`
	Namespaces        []string            `json:"namespaces,omitempty" pb:"2" list:"atomic"`
	TopologyKey       string              `json:"topologyKey" pb:"3"`
	NamespaceSelector *meta.LabelSelector `json:"namespaceSelector,omitempty" pb:"4"`
	MatchLabelKeys    []string            `json:"matchLabelKeys,omitempty" pb:"5" list:"atomic"`
	MismatchLabelKeys []string            `json:"mismatchLabelKeys,omitempty" pb:"6" list:"atomic"`
}

// WeightedPodAffinityTerm ...
type WeightedPodAffinityTerm struct {
	Weight          int32           `json:"weight" pb:"1"`
	PodAffinityTerm PodAffinityTerm `json:"podAffinityTerm" pb:"2"`
}

// PodAntiAffinity ...
type PodAntiAffinity struct {
	RequiredDuringSchedulingIgnoredDuringExecution  []PodAffinityTerm         `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty" pb:"1" list:"atomic"`
	PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty" pb:"2" list:"atomic"`
}

// Toleration ...
type Toleration struct {
	Key               string             `json:"key,omitempty" pb:"1"`
	Operator          TolerationOperator `json:"operator,omitempty" pb:"2" enum:"Equal,Exists,Gt,Lt"`
	Value             string             `json:"value,omitempty" pb:"3"`
	Effect            TaintEffect        `json:"effect,omitempty" pb:"4" enum:"NoExecute,NoSchedule,PreferNoSchedule"`
	TolerationSeconds *int64             `json:"tolerationSeconds,omitempty" pb:"5"`
}

// TolerationOperator ...
type TolerationOperator string

// HostAlias ...
type HostAlias struct {
	IP        string   `json:"ip" pb:"1"`
	Hostnames []string `json:"hostnames,omitempty" pb:"2" list:"atomic"`
}

// PodDNSConfig ...
type PodDNSConfig struct {
	Nameservers []string             `json:"nameservers,omitempty" pb:"1" list:"atomic"`
	Searches    []string             `json:"searches,omitempty" pb:"2" list:"atomic"`
	Options     []PodDNSConfigOption `json:"options,omitempty" pb:"3" list:"atomic"`
}

// PodDNSConfigOption ...
type PodDNSConfigOption struct {
	Name  string  `json:"name,omitempty" pb:"1"`
	Value *string `json:"value,omitempty" pb:"2"`
}

// PodReadinessGate ...
type PodReadinessGate struct {
	ConditionType PodConditionType `json:"conditionType" pb:"1"`
}

// PodConditionType ...
type PodConditionType string

// PreemptionPolicy ...
type PreemptionPolicy string

// TopologySpreadConstraint ...
type TopologySpreadConstraint struct {
	MaxSkew            int32                         `json:"maxSkew" pb:"1"`
	TopologyKey        string                        `json:"topologyKey" pb:"2"`
	WhenUnsatisfiable  UnsatisfiableConstraintAction `json:"whenUnsatisfiable" pb:"3" enum:"DoNotSchedule,ScheduleAnyway"`
	LabelSelector      *meta.LabelSelector           `json:"labelSelector,omitempty" pb:"4"`
	MinDomains         *int32                        `json:"minDomains,omitempty" pb:"5"`
	NodeAffinityPolicy *NodeInclusionPolicy          `json:"nodeAffinityPolicy,omitempty" pb:"6" enum:"Honor,Ignore"`
	NodeTaintsPolicy   *NodeInclusionPolicy          `json:"nodeTaintsPolicy,omitempty" pb:"7" enum:"Honor,Ignore"`
	MatchLabelKeys     []string                      `json:"matchLabelKeys,omitempty" pb:"8" list:"atomic"`
}

// UnsatisfiableConstraintAction ...
type UnsatisfiableConstraintAction string

// NodeInclusionPolicy ...
type NodeInclusionPolicy string

// PodOS ...
type PodOS struct {
	Name OSName `json:"name" pb:"1"`
}

// OSName ...
type OSName string

// PodSchedulingGate ...
type PodSchedulingGate struct {
	Name string `json:"name" pb:"1"`
}

// PodResourceClaim ...
type PodResourceClaim struct {
	Name                      string  `json:"name" pb:"1"`
	ResourceClaimName         *string `json:"resourceClaimName,omitempty" pb:"3"`
	ResourceClaimTemplateName *string `json:"resourceClaimTemplateName,omitempty" pb:"4"`
}

// PodSchedulingGroup ...
type PodSchedulingGroup struct {
	PodGroupName *string `json:"podGroupName,omitempty" pb:"1"`
}

// PodStatus ...
type PodStatus struct {
	ObservedGeneration                   int64                                `json:"observedGeneration,omitempty" pb:"17"`
	Phase                                PodPhase                             `json:"phase,omitempty" pb:"1" enum:"Failed,Pending,Running,Succeeded,Unknown"`
	Conditions                           []PodCondition                       `json:"conditions,omitempty" pb:"2" list:"map,key=type" patch:"merge,key=type"`
	Message                              string                               `json:"message,omitempty" pb:"3"`
	Reason                               string                               `json:"reason,omitempty" pb:"4"`
	NominatedNodeName                    string                               `json:"nominatedNodeName,omitempty" pb:"11"`
	HostIP                               string                               `json:"hostIP,omitempty" pb:"5"`
	HostIPs                              []HostIP                             `json:"hostIPs,omitempty" pb:"16" list:"atomic" patch:"merge,key=ip"`
	PodIP                                string                               `json:"podIP,omitempty" pb:"6"`
	PodIPs                               []PodIP                              `json:"podIPs,omitempty" pb:"12" list:"map,key=ip" patch:"merge,key=ip"`
	StartTime                            *meta.Time                           `json:"startTime,omitempty" pb:"7"`
	InitContainerStatuses                []ContainerStatus                    `json:"initContainerStatuses,omitempty" pb:"10" list:"atomic"`
	ContainerStatuses                    []ContainerStatus                    `json:"containerStatuses,omitempty" pb:"8" list:"atomic"`
	QOSClass                             PodQOSClass                          `json:"qosClass,omitempty" pb:"9" enum:"BestEffort,Burstable,Guaranteed"`
	EphemeralContainerStatuses           []ContainerStatus                    `json:"ephemeralContainerStatuses,omitempty" pb:"13" list:"atomic"`
	Resize                               PodResizeStatus                      `json:"resize,omitempty" pb:"14"`
	ResourceClaimStatuses                []PodResourceClaimStatus             `json:"resourceClaimStatuses,omitempty" pb:"15" list:"map,key=name" patch:"merge,retainKeys,key=name"`
	ExtendedResourceClaimStatus          *PodExtendedResourceClaimStatus      `json:"extendedResourceClaimStatus,omitempty" pb:"18"`
	AllocatedResources                   ResourceList                         `json:"allocatedResources,omitempty" pb:"19"`
	Resources                            *ResourceRequirements                `json:"resources,omitempty" pb:"20"`
	NodeAllocatableResourceClaimStatuses []NodeAllocatableResourceClaimStatus `json:"nodeAllocatableResourceClaimStatuses,omitempty" pb:"21" list:"atomic"`
}

// PodPhase ...
type PodPhase string

// PodCondition ...
type PodCondition struct {
	Type               PodConditionType `json:"type" pb:"1"`
	ObservedGeneration int64            `json:"observedGeneration,omitempty" pb:"7"`
	Status             ConditionStatus  `json:"status" pb:"2"`
	LastProbeTime      meta.Time        `json:"lastProbeTime,omitempty" pb:"3"`
	LastTransitionTime meta.Time        `json:"lastTransitionTime,omitempty" pb:"4"`
	Reason             string           `json:"reason,omitempty" pb:"5"`
	Message            string           `json:"message,omitempty" pb:"6"`
}

// HostIP ...
type HostIP struct {
	IP string `json:"ip" pb:"1"`
}

// PodIP ...
type PodIP struct {
	IP string `json:"ip" pb:"1"`
}

// ContainerStatus ...
type ContainerStatus struct {
	Name                     string                `json:"name" pb:"1"`
	State                    ContainerState        `json:"state,omitempty" pb:"2"`
	LastTerminationState     ContainerState        `json:"lastState,omitempty" pb:"3"`
	Ready                    bool                  `json:"ready" pb:"4"`
	RestartCount             int32                 `json:"restartCount" pb:"5"`
	Image                    string                `json:"image" pb:"6"`
	ImageID                  string                `json:"imageID" pb:"7"`
	ContainerID              string                `json:"containerID,omitempty" pb:"8"`
	Started                  *bool                 `json:"started,omitempty" pb:"9"`
	AllocatedResources       ResourceList          `json:"allocatedResources,omitempty" pb:"10"`
	Resources                *ResourceRequirements `json:"resources,omitempty" pb:"11"`
	VolumeMounts             []VolumeMountStatus   `json:"volumeMounts,omitempty" pb:"12" list:"map,key=mountPath" patch:"merge,key=mountPath"`
	User                     *ContainerUser        `json:"user,omitempty" pb:"13"`
	AllocatedResourcesStatus []ResourceStatus      `json:"allocatedResourcesStatus,omitempty" pb:"14" list:"map,key=name" patch:"merge,key=name"`
	StopSignal               *Signal               `json:"stopSignal,omitempty" pb:"15" enum:"SIGABRT,SIGALRM,SIGBUS,SIGCHLD,SIGCLD,SIGCONT,SIGFPE,SIGHUP,SIGILL,SIGINT,SIGIO,SIGIOT,SIGKILL,SIGPIPE,SIGPOLL,SIGPROF,SIGPWR,SIGQUIT,SIGRTMAX,SIGRTMAX-1,SIGRTMAX-10,SIGRTMAX-11,SIGRTMAX-12,SIGRTMAX-13,SIGRTMAX-14,SIGRTMAX-2,SIGRTMAX-3,SIGRTMAX-4,SIGRTMAX-5,SIGRTMAX-6,SIGRTMAX-7,SIGRTMAX-8,SIGRTMAX-9,SIGRTMIN,SIGRTMIN+1,SIGRTMIN+10,SIGRTMIN+11,SIGRTMIN+12,SIGRTMIN+13,SIGRTMIN+14,SIGRTMIN+15,SIGRTMIN+2,SIGRTMIN+3,SIGRTMIN+4,SIGRTMIN+5,SIGRTMIN+6,SIGRTMIN+7,SIGRTMIN+8,SIGRTMIN+9,SIGSEGV,SIGSTKFLT,SIGSTOP,SIGSYS,SIGTERM,SIGTRAP,SIGTSTP,SIGTTIN,SIGTTOU,SIGURG,SIGUSR1,SIGUSR2,SIGVTALRM,SIGWINCH,SIGXCPU,SIGXFSZ"`
}

// ContainerState ...
type ContainerState struct {
	Waiting    *ContainerStateWaiting    `json:"waiting,omitempty" pb:"1"`
	Running    *ContainerStateRunning    `json:"running,omitempty" pb:"2"`
	Terminated *ContainerStateTerminated `json:"terminated,omitempty" pb:"3"`
}

// ContainerStateWaiting ...
type ContainerStateWaiting struct {
	Reason  string `json:"reason,omitempty" pb:"1"`
	Message string `json:"message,omitempty" pb:"2"`
}

// ContainerStateRunning ...
type ContainerStateRunning struct {
	StartedAt meta.Time `json:"startedAt,omitempty" pb:"1"`
}

// ContainerStateTerminated ...
type ContainerStateTerminated struct {
	ExitCode    int32     `json:"exitCode" pb:"1"`
	Signal      int32     `json:"signal,omitempty" pb:"2"`
	Reason      string    `json:"reason,omitempty" pb:"3"`
	Message     string    `json:"message,omitempty" pb:"4"`
	StartedAt   meta.Time `json:"startedAt,omitempty" pb:"5"`
	FinishedAt  meta.Time `json:"finishedAt,omitempty" pb:"6"`
	ContainerID string    `json:"containerID,omitempty" pb:"7"`
}

// VolumeMountStatus ...
type VolumeMountStatus struct {
	Name              string                 `json:"name" pb:"1"`
	MountPath         string                 `json:"mountPath" pb:"2"`
	ReadOnly          bool                   `json:"readOnly,omitempty" pb:"3"`
	RecursiveReadOnly *RecursiveReadOnlyMode `json:"recursiveReadOnly,omitempty" pb:"4"`
	VolumeStatus      *VolumeStatus          `json:"volumeStatus,omitempty" pb:"5"`
}

// VolumeStatus ...
type VolumeStatus struct {
	Image *ImageVolumeStatus `json:"image,omitempty" pb:"1"`
}

// ImageVolumeStatus ...
type ImageVolumeStatus struct {
	ImageRef string `json:"imageRef,omitempty" pb:"1" check:"required"`
}

// ContainerUser ...
type ContainerUser struct {
	Linux *LinuxContainerUser `json:"linux,omitempty" pb:"1"`
}

// LinuxContainerUser ...
type LinuxContainerUser struct {
	UID                int64   `json:"uid" pb:"1"`
	GID                int64   `json:"gid" pb:"2"`
	SupplementalGroups []int64 `json:"supplementalGroups,omitempty" pb:"3" list:"atomic"`
}

// ResourceStatus ...
type ResourceStatus struct {
	Name      ResourceName     `json:"name" pb:"1"`
	Resources []ResourceHealth `json:"resources,omitempty" pb:"2" list:"map,key=resourceID"`
}

// ResourceHealth ...
type ResourceHealth struct {
	ResourceID ResourceID           `json:"resourceID" pb:"1"`
	Health     ResourceHealthStatus `json:"health,omitempty" pb:"2"`
	Message    *string              `json:"message,omitempty" pb:"6"`
}

// ResourceID ...
type ResourceID string

// ResourceHealthStatus ...
type ResourceHealthStatus string

// PodQOSClass ...
type PodQOSClass string

// PodResizeStatus ...
type PodResizeStatus string

// PodResourceClaimStatus ...
type PodResourceClaimStatus struct {
	Name              string  `json:"name" pb:"1"`
	ResourceClaimName *string `json:"resourceClaimName,omitempty" pb:"2"`
}

// PodExtendedResourceClaimStatus ...
type PodExtendedResourceClaimStatus struct {
	RequestMappings   []ContainerExtendedResourceRequest `json:"requestMappings" pb:"1" list:"atomic"`
	ResourceClaimName string                             `json:"resourceClaimName" pb:"2"`
}

// ContainerExtendedResourceRequest ...
type ContainerExtendedResourceRequest struct {
	ContainerName string `json:"containerName" pb:"1"`
	ResourceName  string `json:"resourceName" pb:"2"`
	RequestName   string `json:"requestName" pb:"3"`
}

// NodeAllocatableResourceClaimStatus ...
type NodeAllocatableResourceClaimStatus struct {
	ResourceClaimName string                         `json:"resourceClaimName" pb:"1"`
	Containers        []string                       `json:"containers,omitempty" pb:"2" list:"set"`
	Resources         map[ResourceName]meta.Quantity `json:"resources" pb:"3"`
}

// PodList ...
type PodList struct {
	meta.TypeMeta `json:",inline"`
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	Items         []Pod `json:"items" pb:"2"`
}
