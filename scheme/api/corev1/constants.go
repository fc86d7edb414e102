package corev1

// Values of AppArmorProfileType.
const (
	AppArmorProfileTypeLocalhost      AppArmorProfileType = "Localhost"
	AppArmorProfileTypeRuntimeDefault AppArmorProfileType = "RuntimeDefault"
	AppArmorProfileTypeUnconfined     AppArmorProfileType = "Unconfined"
)

// Values of AzureDataDiskCachingMode.
const (
	AzureDataDiskCachingNone      AzureDataDiskCachingMode = "None"
	AzureDataDiskCachingReadOnly  AzureDataDiskCachingMode = "ReadOnly"
	AzureDataDiskCachingReadWrite AzureDataDiskCachingMode = "ReadWrite"
)

// Values of AzureDataDiskKind.
const (
	AzureDedicatedBlobDisk AzureDataDiskKind = "Dedicated"
	AzureManagedDisk       AzureDataDiskKind = "Managed"
	AzureSharedBlobDisk    AzureDataDiskKind = "Shared"
)

// Values of ConditionStatus.
const (
	ConditionFalse   ConditionStatus = "False"
	ConditionTrue    ConditionStatus = "True"
	ConditionUnknown ConditionStatus = "Unknown"
)

// Values of ContainerRestartPolicy.
const (
	ContainerRestartPolicyAlways    ContainerRestartPolicy = "Always"
	ContainerRestartPolicyNever     ContainerRestartPolicy = "Never"
	ContainerRestartPolicyOnFailure ContainerRestartPolicy = "OnFailure"
)

// Values of ContainerRestartRuleAction.
const (
	ContainerRestartRuleActionRestart              ContainerRestartRuleAction = "Restart"
	ContainerRestartRuleActionRestartAllContainers ContainerRestartRuleAction = "RestartAllContainers"
)

// Values of ContainerRestartRuleOnExitCodesOperator.
const (
	ContainerRestartRuleOnExitCodesOpIn    ContainerRestartRuleOnExitCodesOperator = "In"
	ContainerRestartRuleOnExitCodesOpNotIn ContainerRestartRuleOnExitCodesOperator = "NotIn"
)

// Values of DNSPolicy.
const (
	DNSClusterFirst            DNSPolicy = "ClusterFirst"
	DNSClusterFirstWithHostNet DNSPolicy = "ClusterFirstWithHostNet"
	DNSDefault                 DNSPolicy = "Default"
	DNSNone                    DNSPolicy = "None"
)

// Values of FinalizerName.
const (
	FinalizerKubernetes FinalizerName = "kubernetes"
)

// Values of HostPathType.
const (
	HostPathBlockDev          HostPathType = "BlockDevice"
	HostPathCharDev           HostPathType = "CharDevice"
	HostPathDirectory         HostPathType = "Directory"
	HostPathDirectoryOrCreate HostPathType = "DirectoryOrCreate"
	HostPathFile              HostPathType = "File"
	HostPathFileOrCreate      HostPathType = "FileOrCreate"
	HostPathSocket            HostPathType = "Socket"
	HostPathUnset             HostPathType = ""
)

// Values of IPFamily.
const (
	IPFamilyUnknown IPFamily = ""
	IPv4Protocol    IPFamily = "IPv4"
	IPv6Protocol    IPFamily = "IPv6"
)

// Values of IPFamilyPolicy.
const (
	IPFamilyPolicyPreferDualStack  IPFamilyPolicy = "PreferDualStack"
	IPFamilyPolicyRequireDualStack IPFamilyPolicy = "RequireDualStack"
	IPFamilyPolicySingleStack      IPFamilyPolicy = "SingleStack"
)

// Values of LoadBalancerIPMode.
const (
	LoadBalancerIPModeProxy LoadBalancerIPMode = "Proxy"
	LoadBalancerIPModeVIP   LoadBalancerIPMode = "VIP"
)

// Values of MountPropagationMode.
const (
	MountPropagationBidirectional   MountPropagationMode = "Bidirectional"
	MountPropagationHostToContainer MountPropagationMode = "HostToContainer"
	MountPropagationNone            MountPropagationMode = "None"
)

// Values of NamespaceConditionType.
const (
	NamespaceContentRemaining         NamespaceConditionType = "NamespaceContentRemaining"
	NamespaceDeletionContentFailure   NamespaceConditionType = "NamespaceDeletionContentFailure"
	NamespaceDeletionDiscoveryFailure NamespaceConditionType = "NamespaceDeletionDiscoveryFailure"
	NamespaceDeletionGVParsingFailure NamespaceConditionType = "NamespaceDeletionGroupVersionParsingFailure"
	NamespaceFinalizersRemaining      NamespaceConditionType = "NamespaceFinalizersRemaining"
)

// Values of NamespacePhase.
const (
	NamespaceActive      NamespacePhase = "Active"
	NamespaceTerminating NamespacePhase = "Terminating"
)

// Values of NodeAddressType.
const (
	NodeExternalDNS NodeAddressType = "ExternalDNS"
	NodeExternalIP  NodeAddressType = "ExternalIP"
	NodeHostName    NodeAddressType = "Hostname"
	NodeInternalDNS NodeAddressType = "InternalDNS"
	NodeInternalIP  NodeAddressType = "InternalIP"
)

// Values of NodeConditionType.
const (
	NodeDiskPressure       NodeConditionType = "DiskPressure"
	NodeMemoryPressure     NodeConditionType = "MemoryPressure"
	NodeNetworkUnavailable NodeConditionType = "NetworkUnavailable"
	NodePIDPressure        NodeConditionType = "PIDPressure"
	NodeReady              NodeConditionType = "Ready"
)

// Values of NodeInclusionPolicy.
const (
	NodeInclusionPolicyHonor  NodeInclusionPolicy = "Honor"
	NodeInclusionPolicyIgnore NodeInclusionPolicy = "Ignore"
)

// Values of NodePhase.
const (
	NodePending    NodePhase = "Pending"
	NodeRunning    NodePhase = "Running"
	NodeTerminated NodePhase = "Terminated"
)

// Values of NodeSelectorOperator.
const (
	NodeSelectorOpDoesNotExist NodeSelectorOperator = "DoesNotExist"
	NodeSelectorOpExists       NodeSelectorOperator = "Exists"
	NodeSelectorOpGt           NodeSelectorOperator = "Gt"
	NodeSelectorOpIn           NodeSelectorOperator = "In"
	NodeSelectorOpLt           NodeSelectorOperator = "Lt"
	NodeSelectorOpNotIn        NodeSelectorOperator = "NotIn"
)

// Values of OSName.
const (
	Linux   OSName = "linux"
	Windows OSName = "windows"
)

// Values of PersistentVolumeAccessMode.
const (
	ReadOnlyMany     PersistentVolumeAccessMode = "ReadOnlyMany"
	ReadWriteMany    PersistentVolumeAccessMode = "ReadWriteMany"
	ReadWriteOnce    PersistentVolumeAccessMode = "ReadWriteOnce"
	ReadWriteOncePod PersistentVolumeAccessMode = "ReadWriteOncePod"
)

// Values of PersistentVolumeMode.
const (
	PersistentVolumeBlock      PersistentVolumeMode = "Block"
	PersistentVolumeFilesystem PersistentVolumeMode = "Filesystem"
)

// Values of PodConditionType.
const (
	AllContainersRestarting   PodConditionType = "AllContainersRestarting"
	ContainersReady           PodConditionType = "ContainersReady"
	DisruptionTarget          PodConditionType = "DisruptionTarget"
	PodInitialized            PodConditionType = "Initialized"
	PodReady                  PodConditionType = "Ready"
	PodReadyToStartContainers PodConditionType = "PodReadyToStartContainers"
	PodResizeInProgress       PodConditionType = "PodResizeInProgress"
	PodResizePending          PodConditionType = "PodResizePending"
	PodScheduled              PodConditionType = "PodScheduled"
)

// Values of PodFSGroupChangePolicy.
const (
	FSGroupChangeAlways         PodFSGroupChangePolicy = "Always"
	FSGroupChangeOnRootMismatch PodFSGroupChangePolicy = "OnRootMismatch"
)

// Values of PodPhase.
const (
	PodFailed    PodPhase = "Failed"
	PodPending   PodPhase = "Pending"
	PodRunning   PodPhase = "Running"
	PodSucceeded PodPhase = "Succeeded"
	PodUnknown   PodPhase = "Unknown"
)

// Values of PodQOSClass.
const (
	PodQOSBestEffort PodQOSClass = "BestEffort"
	PodQOSBurstable  PodQOSClass = "Burstable"
	PodQOSGuaranteed PodQOSClass = "Guaranteed"
)

// Values of PodResizeStatus.
const (
	PodResizeStatusDeferred   PodResizeStatus = "Deferred"
	PodResizeStatusInProgress PodResizeStatus = "InProgress"
	PodResizeStatusInfeasible PodResizeStatus = "Infeasible"
)

// Values of PodSELinuxChangePolicy.
const (
	SELinuxChangePolicyMountOption PodSELinuxChangePolicy = "MountOption"
	SELinuxChangePolicyRecursive   PodSELinuxChangePolicy = "Recursive"
)

// Values of PreemptionPolicy.
const (
	PreemptLowerPriority PreemptionPolicy = "PreemptLowerPriority"
	PreemptNever         PreemptionPolicy = "Never"
)

// Values of ProcMountType.
const (
	DefaultProcMount  ProcMountType = "Default"
	UnmaskedProcMount ProcMountType = "Unmasked"
)

// Values of Protocol.
const (
	ProtocolSCTP Protocol = "SCTP"
	ProtocolTCP  Protocol = "TCP"
	ProtocolUDP  Protocol = "UDP"
)

// Values of PullPolicy.
const (
	PullAlways       PullPolicy = "Always"
	PullIfNotPresent PullPolicy = "IfNotPresent"
	PullNever        PullPolicy = "Never"
)

// Values of RecursiveReadOnlyMode.
const (
	RecursiveReadOnlyDisabled   RecursiveReadOnlyMode = "Disabled"
	RecursiveReadOnlyEnabled    RecursiveReadOnlyMode = "Enabled"
	RecursiveReadOnlyIfPossible RecursiveReadOnlyMode = "IfPossible"
)

// Values of ResourceHealthStatus.
const (
	ResourceHealthStatusHealthy   ResourceHealthStatus = "Healthy"
	ResourceHealthStatusUnhealthy ResourceHealthStatus = "Unhealthy"
	ResourceHealthStatusUnknown   ResourceHealthStatus = "Unknown"
)

// Values of ResourceName.
const (
	ResourceCPU                      ResourceName = "cpu"
	ResourceConfigMaps               ResourceName = "configmaps"
	ResourceEphemeralStorage         ResourceName = "ephemeral-storage"
	ResourceLimitsCPU                ResourceName = "limits.cpu"
	ResourceLimitsEphemeralStorage   ResourceName = "limits.ephemeral-storage"
	ResourceLimitsMemory             ResourceName = "limits.memory"
	ResourceMemory                   ResourceName = "memory"
	ResourcePersistentVolumeClaims   ResourceName = "persistentvolumeclaims"
	ResourcePods                     ResourceName = "pods"
	ResourceQuotas                   ResourceName = "resourcequotas"
	ResourceReplicationControllers   ResourceName = "replicationcontrollers"
	ResourceRequestsCPU              ResourceName = "requests.cpu"
	ResourceRequestsEphemeralStorage ResourceName = "requests.ephemeral-storage"
	ResourceRequestsMemory           ResourceName = "requests.memory"
	ResourceRequestsStorage          ResourceName = "requests.storage"
	ResourceSecrets                  ResourceName = "secrets"
	ResourceServices                 ResourceName = "services"
	ResourceServicesLoadBalancers    ResourceName = "services.loadbalancers"
	ResourceServicesNodePorts        ResourceName = "services.nodeports"
	ResourceStorage                  ResourceName = "storage"
)

// Values of ResourceResizeRestartPolicy.
const (
	NotRequired      ResourceResizeRestartPolicy = "NotRequired"
	RestartContainer ResourceResizeRestartPolicy = "RestartContainer"
)

// Values of RestartPolicy.
const (
	RestartPolicyAlways    RestartPolicy = "Always"
	RestartPolicyNever     RestartPolicy = "Never"
	RestartPolicyOnFailure RestartPolicy = "OnFailure"
)

// Values of SeccompProfileType.
const (
	SeccompProfileTypeLocalhost      SeccompProfileType = "Localhost"
	SeccompProfileTypeRuntimeDefault SeccompProfileType = "RuntimeDefault"
	SeccompProfileTypeUnconfined     SeccompProfileType = "Unconfined"
)

// Values of SecretType.
const (
	SecretTypeBasicAuth           SecretType = "kubernetes.io/basic-auth"
	SecretTypeBootstrapToken      SecretType = "bootstrap.kubernetes.io/token"
	SecretTypeDockerConfigJson    SecretType = "kubernetes.io/dockerconfigjson"
	SecretTypeDockercfg           SecretType = "kubernetes.io/dockercfg"
	SecretTypeOpaque              SecretType = "Opaque"
	SecretTypeSSHAuth             SecretType = "kubernetes.io/ssh-auth"
	SecretTypeServiceAccountToken SecretType = "kubernetes.io/service-account-token"
	SecretTypeTLS                 SecretType = "kubernetes.io/tls"
)

// Values of ServiceAffinity.
const (
	ServiceAffinityClientIP ServiceAffinity = "ClientIP"
	ServiceAffinityNone     ServiceAffinity = "None"
)

// Values of ServiceExternalTrafficPolicy.
const (
	ServiceExternalTrafficPolicyCluster     ServiceExternalTrafficPolicy = "Cluster"
	ServiceExternalTrafficPolicyLocal       ServiceExternalTrafficPolicy = "Local"
	ServiceExternalTrafficPolicyTypeCluster ServiceExternalTrafficPolicy = "Cluster"
	ServiceExternalTrafficPolicyTypeLocal   ServiceExternalTrafficPolicy = "Local"
)

// Values of ServiceInternalTrafficPolicy.
const (
	ServiceInternalTrafficPolicyCluster ServiceInternalTrafficPolicy = "Cluster"
	ServiceInternalTrafficPolicyLocal   ServiceInternalTrafficPolicy = "Local"
)

// Values of ServiceType.
const (
	ServiceTypeClusterIP    ServiceType = "ClusterIP"
	ServiceTypeExternalName ServiceType = "ExternalName"
	ServiceTypeLoadBalancer ServiceType = "LoadBalancer"
	ServiceTypeNodePort     ServiceType = "NodePort"
)

// Values of Signal.
const (
	SIGABRT         Signal = "SIGABRT"
	SIGALRM         Signal = "SIGALRM"
	SIGBUS          Signal = "SIGBUS"
	SIGCHLD         Signal = "SIGCHLD"
	SIGCLD          Signal = "SIGCLD"
	SIGCONT         Signal = "SIGCONT"
	SIGFPE          Signal = "SIGFPE"
	SIGHUP          Signal = "SIGHUP"
	SIGILL          Signal = "SIGILL"
	SIGINT          Signal = "SIGINT"
	SIGIO           Signal = "SIGIO"
	SIGIOT          Signal = "SIGIOT"
	SIGKILL         Signal = "SIGKILL"
	SIGPIPE         Signal = "SIGPIPE"
	SIGPOLL         Signal = "SIGPOLL"
	SIGPROF         Signal = "SIGPROF"
	SIGPWR          Signal = "SIGPWR"
	SIGQUIT         Signal = "SIGQUIT"
	SIGRTMAX        Signal = "SIGRTMAX"
	SIGRTMAXMINUS1  Signal = "SIGRTMAX-1"
	SIGRTMAXMINUS10 Signal = "SIGRTMAX-10"
	SIGRTMAXMINUS11 Signal = "SIGRTMAX-11"
	SIGRTMAXMINUS12 Signal = "SIGRTMAX-12"
	SIGRTMAXMINUS13 Signal = "SIGRTMAX-13"
	SIGRTMAXMINUS14 Signal = "SIGRTMAX-14"
	SIGRTMAXMINUS2  Signal = "SIGRTMAX-2"
	SIGRTMAXMINUS3  Signal = "SIGRTMAX-3"
	SIGRTMAXMINUS4  Signal = "SIGRTMAX-4"
	SIGRTMAXMINUS5  Signal = "SIGRTMAX-5"
	SIGRTMAXMINUS6  Signal = "SIGRTMAX-6"
	SIGRTMAXMINUS7  Signal = "SIGRTMAX-7"
	SIGRTMAXMINUS8  Signal = "SIGRTMAX-8"
	SIGRTMAXMINUS9  Signal = "SIGRTMAX-9"
	SIGRTMIN        Signal = "SIGRTMIN"
	SIGRTMINPLUS1   Signal = "SIGRTMIN+1"
	SIGRTMINPLUS10  Signal = "SIGRTMIN+10"
	SIGRTMINPLUS11  Signal = "SIGRTMIN+11"
	SIGRTMINPLUS12  Signal = "SIGRTMIN+12"
	SIGRTMINPLUS13  Signal = "SIGRTMIN+13"
	SIGRTMINPLUS14  Signal = "SIGRTMIN+14"
	SIGRTMINPLUS15  Signal = "SIGRTMIN+15"
	SIGRTMINPLUS2   Signal = "SIGRTMIN+2"
	SIGRTMINPLUS3   Signal = "SIGRTMIN+3"
	SIGRTMINPLUS4   Signal = "SIGRTMIN+4"
	SIGRTMINPLUS5   Signal = "SIGRTMIN+5"
	SIGRTMINPLUS6   Signal = "SIGRTMIN+6"
	SIGRTMINPLUS7   Signal = "SIGRTMIN+7"
	SIGRTMINPLUS8   Signal = "SIGRTMIN+8"
	SIGRTMINPLUS9   Signal = "SIGRTMIN+9"
	SIGSEGV         Signal = "SIGSEGV"
	SIGSTKFLT       Signal = "SIGSTKFLT"
	SIGSTOP         Signal = "SIGSTOP"
	SIGSYS          Signal = "SIGSYS"
	SIGTERM         Signal = "SIGTERM"
	SIGTRAP         Signal = "SIGTRAP"
	SIGTSTP         Signal = "SIGTSTP"
	SIGTTIN         Signal = "SIGTTIN"
	SIGTTOU         Signal = "SIGTTOU"
	SIGURG          Signal = "SIGURG"
	SIGUSR1         Signal = "SIGUSR1"
	SIGUSR2         Signal = "SIGUSR2"
	SIGVTALRM       Signal = "SIGVTALRM"
	SIGWINCH        Signal = "SIGWINCH"
	SIGXCPU         Signal = "SIGXCPU"
	SIGXFSZ         Signal = "SIGXFSZ"
)

// Values of StorageMedium.
const (
	StorageMediumDefault         StorageMedium = ""
	StorageMediumHugePages       StorageMedium = "HugePages"
	StorageMediumHugePagesPrefix StorageMedium = "HugePages-"
	StorageMediumMemory          StorageMedium = "Memory"
)

// Values of SupplementalGroupsPolicy.
const (
	SupplementalGroupsPolicyMerge  SupplementalGroupsPolicy = "Merge"
	SupplementalGroupsPolicyStrict SupplementalGroupsPolicy = "Strict"
)

// Values of TaintEffect.
const (
	TaintEffectNoExecute        TaintEffect = "NoExecute"
	TaintEffectNoSchedule       TaintEffect = "NoSchedule"
	TaintEffectPreferNoSchedule TaintEffect = "PreferNoSchedule"
)

// Values of TerminationMessagePolicy.
const (
	TerminationMessageFallbackToLogsOnError TerminationMessagePolicy = "FallbackToLogsOnError"
	TerminationMessageReadFile              TerminationMessagePolicy = "File"
)

// Values of TolerationOperator.
const (
	TolerationOpEqual  TolerationOperator = "Equal"
	TolerationOpExists TolerationOperator = "Exists"
	TolerationOpGt     TolerationOperator = "Gt"
	TolerationOpLt     TolerationOperator = "Lt"
)

// Values of URIScheme.
const (
	URISchemeHTTP  URIScheme = "HTTP"
	URISchemeHTTPS URIScheme = "HTTPS"
)

// Values of UnsatisfiableConstraintAction.
const (
	DoNotSchedule  UnsatisfiableConstraintAction = "DoNotSchedule"
	ScheduleAnyway UnsatisfiableConstraintAction = "ScheduleAnyway"
)
