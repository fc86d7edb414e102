package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// PodStatus is the observed state of a pod; it may lag behind.
type PodStatus struct {
	// Generation of the spec that this status speaks of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" pb:"17"`
	// Summary of where in its life the pod is: Pending, Running, Succeeded, Failed or Unknown.
	Phase PodPhase `json:"phase,omitempty" pb:"1" enum:"Failed,Pending,Running,Succeeded,Unknown"`
	// Latest observations of the pod.
	Conditions []PodCondition `json:"conditions,omitempty" pb:"2" list:"map,key=type" patch:"merge,key=type"`
	// More about the phase than its name says, for people.
	Message string `json:"message,omitempty" pb:"3"`
	// More about the phase than its name says, as one CamelCase word such as Evicted.
	Reason string `json:"reason,omitempty" pb:"4"`
	// Node on which room is being made for the pod; it may still end elsewhere.
	NominatedNodeName string `json:"nominatedNodeName,omitempty" pb:"11"`
	// Address of the node.
	HostIP string `json:"hostIP,omitempty" pb:"5"`
	// Addresses of the node; the first is hostIP.
	HostIPs []HostIP `json:"hostIPs,omitempty" pb:"16" list:"atomic" patch:"merge,key=ip"`
	// Address of the pod.
	PodIP string `json:"podIP,omitempty" pb:"6"`
	// Addresses of the pod, at most one for each IP family; the first is podIP.
	PodIPs []PodIP `json:"podIPs,omitempty" pb:"12" list:"map,key=ip" patch:"merge,key=ip"`
	// When the kubelet took up the pod, before it pulled images.
	StartTime *meta.Time `json:"startTime,omitempty" pb:"7"`
	// State of the init containers, in spec order; the latest is the one that runs.
	InitContainerStatuses []ContainerStatus `json:"initContainerStatuses,omitempty" pb:"10" list:"atomic"`
	// State of each container.
	ContainerStatuses []ContainerStatus `json:"containerStatuses,omitempty" pb:"8" list:"atomic"`
	// Guaranteed, Burstable or BestEffort; follows from the resource requests and limits of the
	// containers.
	QOSClass PodQOSClass `json:"qosClass,omitempty" pb:"9" enum:"BestEffort,Burstable,Guaranteed"`
	// State of the ephemeral containers.
	EphemeralContainerStatuses []ContainerStatus `json:"ephemeralContainerStatuses,omitempty" pb:"13" list:"atomic"`
	// State of a wished change of resources. Deprecated: see the conditions PodResizePending and
	// PodResizeInProgress.
	Resize PodResizeStatus `json:"resize,omitempty" pb:"14"`
	// Claims that were made for the pod's resource claims.
	ResourceClaimStatuses []PodResourceClaimStatus `json:"resourceClaimStatuses,omitempty" pb:"15" list:"map,key=name" patch:"merge,retainKeys,key=name"`
	// Claim that was made for the pod's extended resources.
	ExtendedResourceClaimStatus *PodExtendedResourceClaimStatus `json:"extendedResourceClaimStatus,omitempty" pb:"18"`
	// Resources that the node has set aside for the pod as a whole.
	AllocatedResources ResourceList `json:"allocatedResources,omitempty" pb:"19"`
	// Resource requests and limits that are in force for the pod as a whole.
	Resources *ResourceRequirements `json:"resources,omitempty" pb:"20"`
	// Node resources that claims of the pod take up.
	NodeAllocatableResourceClaimStatuses []NodeAllocatableResourceClaimStatus `json:"nodeAllocatableResourceClaimStatuses,omitempty" pb:"21" list:"atomic"`
}

// PodPhase is a step in the life of a pod.
type PodPhase string

// PodCondition is one observation about a pod.
type PodCondition struct {
	// What is observed: PodScheduled, PodReadyToStartContainers, Initialized, ContainersReady,
	// Ready, DisruptionTarget or another.
	Type PodConditionType `json:"type" pb:"1"`
	// Generation of the spec that this condition speaks of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" pb:"7"`
	// True, False or Unknown.
	Status ConditionStatus `json:"status" pb:"2"`
	// When the condition was last checked.
	LastProbeTime meta.Time `json:"lastProbeTime,omitempty" pb:"3"`
	// When status last changed.
	LastTransitionTime meta.Time `json:"lastTransitionTime,omitempty" pb:"4"`
	// One CamelCase word that says why.
	Reason string `json:"reason,omitempty" pb:"5"`
	// Details for people.
	Message string `json:"message,omitempty" pb:"6"`
}

// HostIP is one address of a node.
type HostIP struct {
	// Address of the node.
	IP string `json:"ip" pb:"1"`
}

// PodIP is one address of a pod.
type PodIP struct {
	// Address of the pod.
	IP string `json:"ip" pb:"1"`
}

// ContainerStatus is the observed state of one container.
type ContainerStatus struct {
	// Name of the container, as in the spec.
	Name string `json:"name" pb:"1"`
	// What the container is doing now.
	State ContainerState `json:"state,omitempty" pb:"2"`
	// How the container last ended, if it has been restarted.
	LastTerminationState ContainerState `json:"lastState,omitempty" pb:"3"`
	// Whether the container has started and passes its readiness probe.
	Ready bool `json:"ready" pb:"4"`
	// How many times it was restarted; counts from 0 again if the node has forgotten.
	RestartCount int32 `json:"restartCount" pb:"5"`
	// Image that the container runs; it may be written differently than in the spec.
	Image string `json:"image" pb:"6"`
	// Identity of the image's content.
	ImageID string `json:"imageID" pb:"7"`
	// Identity of the container, as type://id.
	ContainerID string `json:"containerID,omitempty" pb:"8"`
	// Whether the container has passed its postStart hook and startup probe.
	Started *bool `json:"started,omitempty" pb:"9"`
	// Resources that the node has set aside for the container.
	AllocatedResources ResourceList `json:"allocatedResources,omitempty" pb:"10"`
	// Resource requests and limits that are in force for the container.
	Resources *ResourceRequirements `json:"resources,omitempty" pb:"11"`
	// State of the container's mounts.
	VolumeMounts []VolumeMountStatus `json:"volumeMounts,omitempty" pb:"12" list:"map,key=mountPath" patch:"merge,key=mountPath"`
	// Users and groups of the container's first process.
	User *ContainerUser `json:"user,omitempty" pb:"13"`
	// Health of the resources allocated to the container.
	AllocatedResourcesStatus []ResourceStatus `json:"allocatedResourcesStatus,omitempty" pb:"14" list:"map,key=name" patch:"merge,key=name"`
	// Signal that asks the container to end, such as SIGTERM.
	StopSignal *Signal `json:"stopSignal,omitempty" pb:"15" enum:"SIGABRT,SIGALRM,SIGBUS,SIGCHLD,SIGCLD,SIGCONT,SIGFPE,SIGHUP,SIGILL,SIGINT,SIGIO,SIGIOT,SIGKILL,SIGPIPE,SIGPOLL,SIGPROF,SIGPWR,SIGQUIT,SIGRTMAX,SIGRTMAX-1,SIGRTMAX-10,SIGRTMAX-11,SIGRTMAX-12,SIGRTMAX-13,SIGRTMAX-14,SIGRTMAX-2,SIGRTMAX-3,SIGRTMAX-4,SIGRTMAX-5,SIGRTMAX-6,SIGRTMAX-7,SIGRTMAX-8,SIGRTMAX-9,SIGRTMIN,SIGRTMIN+1,SIGRTMIN+10,SIGRTMIN+11,SIGRTMIN+12,SIGRTMIN+13,SIGRTMIN+14,SIGRTMIN+15,SIGRTMIN+2,SIGRTMIN+3,SIGRTMIN+4,SIGRTMIN+5,SIGRTMIN+6,SIGRTMIN+7,SIGRTMIN+8,SIGRTMIN+9,SIGSEGV,SIGSTKFLT,SIGSTOP,SIGSYS,SIGTERM,SIGTRAP,SIGTSTP,SIGTTIN,SIGTTOU,SIGURG,SIGUSR1,SIGUSR2,SIGVTALRM,SIGWINCH,SIGXCPU,SIGXFSZ"`
}

// ContainerState is what a container does: one member is set, waiting if none is.
type ContainerState struct {
	// The container is not running yet.
	Waiting *ContainerStateWaiting `json:"waiting,omitempty" pb:"1"`
	// The container runs.
	Running *ContainerStateRunning `json:"running,omitempty" pb:"2"`
	// The container has ended.
	Terminated *ContainerStateTerminated `json:"terminated,omitempty" pb:"3"`
}

// ContainerStateWaiting describes a container that does not run yet.
type ContainerStateWaiting struct {
	// One word that says why it waits.
	Reason string `json:"reason,omitempty" pb:"1"`
	// Details for people.
	Message string `json:"message,omitempty" pb:"2"`
}

// ContainerStateRunning describes a container that runs.
type ContainerStateRunning struct {
	// When it was last started.
	StartedAt meta.Time `json:"startedAt,omitempty" pb:"1"`
}

// ContainerStateTerminated describes a container that has ended.
type ContainerStateTerminated struct {
	// Exit status of the container's first process; 0 is success.
	ExitCode int32 `json:"exitCode" pb:"1"`
	// Number of the signal that ended it, if one did.
	Signal int32 `json:"signal,omitempty" pb:"2"`
	// One word that says why it ended.
	Reason string `json:"reason,omitempty" pb:"3"`
	// Details for people.
	Message string `json:"message,omitempty" pb:"4"`
	// When it was started.
	StartedAt meta.Time `json:"startedAt,omitempty" pb:"5"`
	// When it ended.
	FinishedAt meta.Time `json:"finishedAt,omitempty" pb:"6"`
	// Identity of the container, as type://id.
	ContainerID string `json:"containerID,omitempty" pb:"7"`
}

// VolumeMountStatus is the state of one mount.
type VolumeMountStatus struct {
	// Name of the volume that is mounted.
	Name string `json:"name" pb:"1"`
	// Where it is mounted.
	MountPath string `json:"mountPath" pb:"2"`
	// Whether it is read-only.
	ReadOnly bool `json:"readOnly,omitempty" pb:"3"`
	// What became of the wished recursive read-only mode.
	RecursiveReadOnly *RecursiveReadOnlyMode `json:"recursiveReadOnly,omitempty" pb:"4"`
	// State of the mounted volume.
	VolumeStatus *VolumeStatus `json:"volumeStatus,omitempty" pb:"5"`
}

// VolumeStatus is the state of a mounted volume, by its kind.
type VolumeStatus struct {
	// State of an image volume.
	Image *ImageVolumeStatus `json:"image,omitempty" pb:"1"`
}

// ImageVolumeStatus is the state of an image volume.
type ImageVolumeStatus struct {
	// Which content was mounted, by digest; at most 256 characters.
	ImageRef string `json:"imageRef,omitempty" pb:"1" check:"required"`
}

// ContainerUser is the identity of a container's first process.
type ContainerUser struct {
	// Users and groups on linux.
	Linux *LinuxContainerUser `json:"linux,omitempty" pb:"1"`
}

// LinuxContainerUser holds the users and groups of a container's first process on linux.
type LinuxContainerUser struct {
	// Primary user id.
	UID int64 `json:"uid" pb:"1"`
	// Primary group id.
	GID int64 `json:"gid" pb:"2"`
	// Further group ids.
	SupplementalGroups []int64 `json:"supplementalGroups,omitempty" pb:"3" list:"atomic"`
}

// ResourceStatus is the health of one resource of a container.
type ResourceStatus struct {
	// Name of the resource: as in the container's limits, or claim:name/request.
	Name ResourceName `json:"name" pb:"1"`
	// Health of each unit of the resource.
	Resources []ResourceHealth `json:"resources,omitempty" pb:"2" list:"map,key=resourceID"`
}

// ResourceHealth is the health of one unit of a resource.
type ResourceHealth struct {
	// Identity of the unit.
	ResourceID ResourceID `json:"resourceID" pb:"1"`
	// Healthy, Unhealthy or Unknown.
	Health ResourceHealthStatus `json:"health,omitempty" pb:"2"`
	// Details for people.
	Message *string `json:"message,omitempty" pb:"6"`
}

// ResourceID identifies a unit of a resource, as its driver names it.
type ResourceID string

// ResourceHealthStatus tells whether a resource works.
type ResourceHealthStatus string

// PodQOSClass tells which pods are ended first when a node runs out of resources.
type PodQOSClass string

// PodResizeStatus is the state of a wished change of resources.
type PodResizeStatus string

// PodResourceClaimStatus tells which claim was made for an entry of the pod's resource claims.
type PodResourceClaimStatus struct {
	// Name of the entry in the spec.
	Name string `json:"name" pb:"1"`
	// Claim that was made; unset if none was needed.
	ResourceClaimName *string `json:"resourceClaimName,omitempty" pb:"2"`
}

// PodExtendedResourceClaimStatus tells which claim was made for the pod's extended resources.
type PodExtendedResourceClaimStatus struct {
	// Which request of the claim serves which container and resource.
	RequestMappings []ContainerExtendedResourceRequest `json:"requestMappings" pb:"1" list:"atomic"`
	// Claim that was made, in the same namespace.
	ResourceClaimName string `json:"resourceClaimName" pb:"2"`
}

// ContainerExtendedResourceRequest ties an extended resource of a container to a request of a
// claim.
type ContainerExtendedResourceRequest struct {
	// Container that asks for the resource.
	ContainerName string `json:"containerName" pb:"1"`
	// The extended resource, such as example.com/gpu.
	ResourceName string `json:"resourceName" pb:"2"`
	// The request of the claim that stands for it.
	RequestName string `json:"requestName" pb:"3"`
}

// NodeAllocatableResourceClaimStatus tells what a claim takes from the node's allocatable
// resources.
type NodeAllocatableResourceClaimStatus struct {
	// Name of the claim.
	ResourceClaimName string `json:"resourceClaimName" pb:"1"`
	// Containers that use the claim.
	Containers []string `json:"containers,omitempty" pb:"2" list:"set"`
	// Amounts taken, by resource.
	Resources map[ResourceName]meta.Quantity `json:"resources" pb:"3"`
}
