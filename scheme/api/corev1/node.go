package corev1

import (
	"maps"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Node is a machine that runs pods.
type Node struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// What the node should be like.
	Spec NodeSpec `json:"spec,omitempty" pb:"2"`
	// What the kubelet last reported of the node.
	Status NodeStatus `json:"status,omitempty" pb:"3"`
}

// NodeSpec describes how a node is to be used.
type NodeSpec struct {
	// Address range of the node's pods; once set it stays.
	PodCIDR string `json:"podCIDR,omitempty" pb:"1"`
	// Address ranges of the node's pods, at most one for each IP family; the first is podCIDR.
	PodCIDRs []string `json:"podCIDRs,omitempty" pb:"7" list:"set" patch:"merge"`
	// Identity of the machine at its cloud provider, as provider://id.
	ProviderID string `json:"providerID,omitempty" pb:"3"`
	// Keeps new pods off the node; false by default.
	Unschedulable bool `json:"unschedulable,omitempty" pb:"4"`
	// What repels pods that do not tolerate it.
	Taints []Taint `json:"taints,omitempty" pb:"5" list:"atomic"`
	// Former source of dynamic kubelet configuration; ignored.
	ConfigSource *NodeConfigSource `json:"configSource,omitempty" pb:"6"`
	// Former external id; ignored.
	DoNotUseExternalID string `json:"externalID,omitempty" pb:"2"`
}

// Taint keeps pods without a toleration for it off a node.
type Taint struct {
	// Key of the taint, in the form of a label's.
	Key string `json:"key" pb:"1"`
	// Value that belongs to the key, in the form of a label's.
	Value string `json:"value,omitempty" pb:"2"`
	// What becomes of pods without a toleration: NoSchedule keeps new ones away, PreferNoSchedule
	// does so if it can, NoExecute evicts those that are there, too.
	Effect TaintEffect `json:"effect" pb:"3" enum:"NoExecute,NoSchedule,PreferNoSchedule"`
	// Since when the taint is there; for NoExecute, tolerationSeconds counts from here.
	TimeAdded *meta.Time `json:"timeAdded,omitempty" pb:"4"`
}

// TaintEffect is what a taint does to pods that do not tolerate it.
type TaintEffect string

// NodeConfigSource names one source of kubelet configuration. Deprecated.
type NodeConfigSource struct {
	// Config map with the kubelet configuration.
	ConfigMap *ConfigMapNodeConfigSource `json:"configMap,omitempty" pb:"2"`
}

// ConfigMapNodeConfigSource names the key of a config map that holds kubelet configuration.
// Deprecated.
type ConfigMapNodeConfigSource struct {
	// Namespace of the config map.
	Namespace string `json:"namespace" pb:"1"`
	// Name of the config map.
	Name string `json:"name" pb:"2"`
	// UID of the config map; only in node status.
	UID meta.UID `json:"uid,omitempty" pb:"3"`
	// Version of the config map; only in node status.
	ResourceVersion string `json:"resourceVersion,omitempty" pb:"4"`
	// Key whose value is the kubelet configuration.
	KubeletConfigKey string `json:"kubeletConfigKey" pb:"5"`
}

// NodeStatus is the state of a node as its kubelet and controllers report it.
type NodeStatus struct {
	// All resources of the node.
	Capacity ResourceList `json:"capacity,omitempty" pb:"1"`
	// Resources that pods can use; capacity by default.
	Allocatable ResourceList `json:"allocatable,omitempty" pb:"2"`
	// Former life phase of the node; never set any more.
	Phase NodePhase `json:"phase,omitempty" pb:"3" enum:"Pending,Running,Terminated"`
	// Latest observations of the node's health.
	Conditions []NodeCondition `json:"conditions,omitempty" pb:"4" list:"map,key=type" patch:"merge,key=type"`
	// Addresses at which the node can be reached.
	Addresses []NodeAddress `json:"addresses,omitempty" pb:"5" list:"map,key=type" patch:"merge,key=type"`
	// Ports of the daemons on the node.
	DaemonEndpoints NodeDaemonEndpoints `json:"daemonEndpoints,omitempty" pb:"6"`
	// Identities and versions of what the node consists of.
	NodeInfo NodeSystemInfo `json:"nodeInfo,omitempty" pb:"7"`
	// Container images present on the node.
	Images []ContainerImage `json:"images,omitempty" pb:"8" list:"atomic"`
	// Attachable volumes that pods on the node have mounted.
	VolumesInUse []UniqueVolumeName `json:"volumesInUse,omitempty" pb:"9" list:"atomic"`
	// Which volumes the node has been given, and where it finds them.
	VolumesAttached []AttachedVolume `json:"volumesAttached,omitempty" pb:"10" list:"atomic"`
	// State of dynamic kubelet configuration; ignored.
	Config *NodeConfigStatus `json:"config,omitempty" pb:"11"`
	// Runtime handlers that the node offers.
	RuntimeHandlers []NodeRuntimeHandler `json:"runtimeHandlers,omitempty" pb:"12" list:"atomic"`
	// Abilities of the container runtime on the node.
	Features *NodeFeatures `json:"features,omitempty" pb:"13"`
	// Names of features that the node says it has.
	DeclaredFeatures []string `json:"declaredFeatures,omitempty" pb:"14" list:"atomic"`
}

// ResourceList holds amounts of resources by name.
type ResourceList map[ResourceName]meta.Quantity

// EqualTo compares the lists for scheme.Equal. Every update of a pod compares the lists of each of
// its containers.
func (l *ResourceList) EqualTo(other any) bool {
	return maps.EqualFunc(*l, *other.(*ResourceList), meta.Quantity.Equal)
}

// NodePhase is a former step in the life of a node.
type NodePhase string

// NodeCondition is one observation about a node.
type NodeCondition struct {
	// What is observed: Ready, MemoryPressure, DiskPressure, PIDPressure, NetworkUnavailable or
	// another.
	Type NodeConditionType `json:"type" pb:"1"`
	// True, False or Unknown; for Ready True is good, for the others False.
	Status ConditionStatus `json:"status" pb:"2"`
	// When the condition was last reported.
	LastHeartbeatTime meta.Time `json:"lastHeartbeatTime,omitempty" pb:"3"`
	// When status last changed.
	LastTransitionTime meta.Time `json:"lastTransitionTime,omitempty" pb:"4"`
	// One CamelCase word that says why.
	Reason string `json:"reason,omitempty" pb:"5"`
	// Details for people.
	Message string `json:"message,omitempty" pb:"6"`
}

// NodeConditionType names an aspect of a node's health.
type NodeConditionType string

// NodeAddress is one address of a node.
type NodeAddress struct {
	// Kind of address: Hostname, ExternalIP, InternalIP, ExternalDNS or InternalDNS.
	Type NodeAddressType `json:"type" pb:"1"`
	// The address or name itself.
	Address string `json:"address" pb:"2"`
}

// NodeAddressType tells where an address can be reached from.
type NodeAddressType string

// NodeDaemonEndpoints holds the ports of a node's daemons.
type NodeDaemonEndpoints struct {
	// Where the kubelet listens.
	KubeletEndpoint DaemonEndpoint `json:"kubeletEndpoint,omitempty" pb:"1"`
}

// DaemonEndpoint is one daemon's port.
type DaemonEndpoint struct {
	// Port number.
	Port int32 `json:"Port" pb:"1"`
}

// NodeSystemInfo identifies a node and what runs on it.
type NodeSystemInfo struct {
	// Machine id as the node reports it.
	MachineID string `json:"machineID" pb:"1"`
	// System UUID as the node reports it.
	SystemUUID string `json:"systemUUID" pb:"2"`
	// Id of the present boot; each has another.
	BootID string `json:"bootID" pb:"3"`
	// Kernel version, as from uname -r.
	KernelVersion string `json:"kernelVersion" pb:"4"`
	// Operating system image, as from /etc/os-release.
	OSImage string `json:"osImage" pb:"5"`
	// Container runtime and its version, as containerd://1.2.3.
	ContainerRuntimeVersion string `json:"containerRuntimeVersion" pb:"6"`
	// Version of the kubelet.
	KubeletVersion string `json:"kubeletVersion" pb:"7"`
	// Former version of the proxy. Deprecated.
	KubeProxyVersion string `json:"kubeProxyVersion" pb:"8"`
	// Operating system: linux or windows.
	OperatingSystem string `json:"operatingSystem" pb:"9"`
	// Processor architecture, such as amd64 or arm64.
	Architecture string `json:"architecture" pb:"10"`
	// Swap memory of the node.
	Swap *NodeSwapStatus `json:"swap,omitempty" pb:"11"`
}

// NodeSwapStatus describes the swap memory of a node.
type NodeSwapStatus struct {
	// Swap memory in bytes, used or not.
	Capacity *int64 `json:"capacity,omitempty" pb:"1"`
}

// ContainerImage is an image present on a node.
type ContainerImage struct {
	// Names by which the image is known.
	Names []string `json:"names" pb:"1" check:"optional" list:"atomic"`
	// How much the image takes on the node, in bytes.
	SizeBytes int64 `json:"sizeBytes,omitempty" pb:"2"`
}

// UniqueVolumeName identifies an attached volume.
type UniqueVolumeName string

// AttachedVolume is a volume that a node has been given.
type AttachedVolume struct {
	// Name of the volume, as its plugin made it.
	Name UniqueVolumeName `json:"name" pb:"1"`
	// Device path at which the volume is available.
	DevicePath string `json:"devicePath" pb:"2"`
}

// NodeConfigStatus is the state of dynamic kubelet configuration. Deprecated.
type NodeConfigStatus struct {
	// Configuration that the node was told to use.
	Assigned *NodeConfigSource `json:"assigned,omitempty" pb:"1"`
	// Configuration that the node uses.
	Active *NodeConfigSource `json:"active,omitempty" pb:"2"`
	// Configuration to fall back to.
	LastKnownGood *NodeConfigSource `json:"lastKnownGood,omitempty" pb:"3"`
	// What went wrong with the assigned configuration.
	Error string `json:"error,omitempty" pb:"4"`
}

// NodeRuntimeHandler describes one runtime handler.
type NodeRuntimeHandler struct {
	// Name of the handler; empty for the default one.
	Name string `json:"name" pb:"1" check:"optional"`
	// What the handler can do.
	Features *NodeRuntimeHandlerFeatures `json:"features,omitempty" pb:"2"`
}

// NodeRuntimeHandlerFeatures tells what a runtime handler can do.
type NodeRuntimeHandlerFeatures struct {
	// Whether recursive read-only mounts work.
	RecursiveReadOnlyMounts *bool `json:"recursiveReadOnlyMounts,omitempty" pb:"1"`
	// Whether user namespaces work, also with volumes.
	UserNamespaces *bool `json:"userNamespaces,omitempty" pb:"2"`
}

// NodeFeatures tells what the container runtime of a node can do.
type NodeFeatures struct {
	// Whether supplementalGroupsPolicy is understood.
	SupplementalGroupsPolicy *bool `json:"supplementalGroupsPolicy,omitempty" pb:"1"`
}

// NodeList is a list of nodes.
type NodeList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []Node `json:"items" pb:"2"`
}
