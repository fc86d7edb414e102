package corev1

import "github.com/coracle-project/coracle/scheme/meta"

// Pod is a set of containers that run together on one node.
type Pod struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// What the pod should be like.
	Spec PodSpec `json:"spec,omitempty" pb:"2"`
	// What was last observed of the pod.
	Status PodStatus `json:"status,omitempty" pb:"3"`
}

// MirrorPodAnnotation marks a mirror pod, which shows a static pod of a kubelet. Its value is a
// hash of the static pod's file.
const MirrorPodAnnotation = "kubernetes.io/config.mirror"

// PodSpec describes a pod.
type PodSpec struct {
	// Volumes that containers can mount.
	Volumes []Volume `json:"volumes,omitempty" pb:"1" list:"map,key=name" patch:"merge,retainKeys,key=name"`
	// Containers that run one after another, each to success, before the others start; with
	// restartPolicy Always they keep running beside them.
	InitContainers []Container `json:"initContainers,omitempty" pb:"20" list:"map,key=name" patch:"merge,key=name"`
	// Containers of the pod; at least one. They cannot be added or removed later.
	Containers []Container `json:"containers" pb:"2" list:"map,key=name" patch:"merge,key=name"`
	// Containers added to a running pod for debugging, through the ephemeralcontainers subresource
	// only.
	EphemeralContainers []EphemeralContainer `json:"ephemeralContainers,omitempty" pb:"34" list:"map,key=name" patch:"merge,key=name"`
	// When containers are restarted: Always, OnFailure or Never; Always by default.
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty" pb:"3" enum:"Always,Never,OnFailure"`
	// Seconds between asking the processes to end and killing them; 30 by default, 0 kills at once.
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty" pb:"4"`
	// Seconds, at least 1, after status.startTime when the pod is stopped and has failed; no limit
	// by default.
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty" pb:"5"`
	// How DNS is set up: ClusterFirst (the default), ClusterFirstWithHostNet, Default or None.
	DNSPolicy DNSPolicy `json:"dnsPolicy,omitempty" pb:"6" enum:"ClusterFirst,ClusterFirstWithHostNet,Default,None"`
	// Labels, with their values, that the node of the pod must have.
	NodeSelector map[string]string `json:"nodeSelector,omitempty" pb:"7" map:"atomic"`
	// Service account under which the pod runs, in the same namespace.
	ServiceAccountName string `json:"serviceAccountName,omitempty" pb:"8"`
	// Old name of serviceAccountName. Deprecated.
	DeprecatedServiceAccount string `json:"serviceAccount,omitempty" pb:"9"`
	// Whether a token of the service account is mounted into the containers; unset, the service
	// account decides.
	AutomountServiceAccountToken *bool `json:"automountServiceAccountToken,omitempty" pb:"21"`
	// Node that runs the pod. Normally written by the scheduler.
	NodeName string `json:"nodeName,omitempty" pb:"10"`
	// Use the node's network; container ports are then node ports. False by default.
	HostNetwork bool `json:"hostNetwork,omitempty" pb:"11"`
	// Use the node's process namespace; false by default.
	HostPID bool `json:"hostPID,omitempty" pb:"12"`
	// Use the node's IPC namespace; false by default.
	HostIPC bool `json:"hostIPC,omitempty" pb:"13"`
	// Share one process namespace between all containers; excludes hostPID. False by default.
	ShareProcessNamespace *bool `json:"shareProcessNamespace,omitempty" pb:"27"`
	// Security settings of the pod, and defaults for its containers.
	SecurityContext *PodSecurityContext `json:"securityContext,omitempty" pb:"14"`
	// Secrets with credentials for pulling the images.
	ImagePullSecrets []LocalObjectReference `json:"imagePullSecrets,omitempty" pb:"15" list:"map,key=name" patch:"merge,key=name"`
	// Host name of the pod; its name by default.
	Hostname string `json:"hostname,omitempty" pb:"16"`
	// Makes the pod's full name hostname.subdomain.namespace.svc.domain.
	Subdomain string `json:"subdomain,omitempty" pb:"17"`
	// Rules on where the pod may or should run.
	Affinity *Affinity `json:"affinity,omitempty" pb:"18"`
	// Scheduler that places the pod; default-scheduler by default.
	SchedulerName string `json:"schedulerName,omitempty" pb:"19"`
	// Taints that the pod bears.
	Tolerations []Toleration `json:"tolerations,omitempty" pb:"22" list:"atomic"`
	// Lines to add to the pod's hosts file.
	HostAliases []HostAlias `json:"hostAliases,omitempty" pb:"23" list:"map,key=ip" patch:"merge,key=ip"`
	// Priority class of the pod; the default class, or none, if not given.
	PriorityClassName string `json:"priorityClassName,omitempty" pb:"24"`
	// Priority of the pod; larger is more important. Set from the class at admission.
	Priority *int32 `json:"priority,omitempty" pb:"25"`
	// DNS settings merged into what dnsPolicy makes.
	DNSConfig *PodDNSConfig `json:"dnsConfig,omitempty" pb:"26"`
	// Conditions that must be true, beside the containers' readiness, for the pod to be ready.
	ReadinessGates []PodReadinessGate `json:"readinessGates,omitempty" pb:"28" list:"atomic"`
	// Runtime class that runs the pod; the default handler if unset.
	RuntimeClassName *string `json:"runtimeClassName,omitempty" pb:"29"`
	// Whether services appear as environment variables; true by default.
	EnableServiceLinks *bool `json:"enableServiceLinks,omitempty" pb:"30"`
	// Whether the pod may push out pods of lower priority: PreemptLowerPriority (the default) or
	// Never.
	PreemptionPolicy *PreemptionPolicy `json:"preemptionPolicy,omitempty" pb:"31" enum:"Never,PreemptLowerPriority"`
	// Resources that running the pod takes beside those of its containers; set from the runtime
	// class.
	Overhead ResourceList `json:"overhead,omitempty" pb:"32"`
	// How pods like this one are spread over zones, nodes and the like. All must be met.
	TopologySpreadConstraints []TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty" pb:"33" list:"map,key=topologyKey,key=whenUnsatisfiable" patch:"merge,key=topologyKey"`
	// Use the full domain name as host name; false by default.
	SetHostnameAsFQDN *bool `json:"setHostnameAsFQDN,omitempty" pb:"35"`
	// Operating system of the pod's containers. Some fields can only be set for linux, some only
	// for windows.
	OS *PodOS `json:"os,omitempty" pb:"36"`
	// Use the node's user namespace; true by default. False gives the pod one of its own.
	HostUsers *bool `json:"hostUsers,omitempty" pb:"37"`
	// As long as there are any, the scheduler leaves the pod alone. They can be set at creation
	// only, and removed later.
	SchedulingGates []PodSchedulingGate `json:"schedulingGates,omitempty" pb:"38" list:"map,key=name" patch:"merge,key=name"`
	// Resource claims that must be allocated before the pod starts, and that containers can use by
	// name.
	ResourceClaims []PodResourceClaim `json:"resourceClaims,omitempty" pb:"39" list:"map,key=name" patch:"merge,retainKeys,key=name"`
	// Total resources of the pod, shared by its containers.
	Resources *ResourceRequirements `json:"resources,omitempty" pb:"40"`
	// Host name as seen inside the pod, whatever hostname and subdomain say.
	HostnameOverride *string `json:"hostnameOverride,omitempty" pb:"41"`
	// The group of pods that this one is to be scheduled with.
	SchedulingGroup *PodSchedulingGroup `json:"schedulingGroup,omitempty" pb:"43"`
}

// HostAlias is a line of the hosts file.
type HostAlias struct {
	// Address of the line.
	IP string `json:"ip" pb:"1"`
	// Names for the address.
	Hostnames []string `json:"hostnames,omitempty" pb:"2" list:"atomic"`
}

// PodDNSConfig holds DNS settings of a pod beside those of its policy.
type PodDNSConfig struct {
	// Addresses of name servers, appended to those of the policy.
	Nameservers []string `json:"nameservers,omitempty" pb:"1" list:"atomic"`
	// Search domains, appended to those of the policy.
	Searches []string `json:"searches,omitempty" pb:"2" list:"atomic"`
	// Resolver options; they replace those of the policy with the same name.
	Options []PodDNSConfigOption `json:"options,omitempty" pb:"3" list:"atomic"`
}

// PodDNSConfigOption is one resolver option.
type PodDNSConfigOption struct {
	// Name of the option; required.
	Name string `json:"name,omitempty" pb:"1"`
	// Value of the option, if it has one.
	Value *string `json:"value,omitempty" pb:"2"`
}

// PodReadinessGate names a condition that must be true for the pod to be ready.
type PodReadinessGate struct {
	// Type of the condition, which somebody sets in the status of the pod.
	ConditionType PodConditionType `json:"conditionType" pb:"1"`
}

// PodConditionType names an aspect of a pod's state.
type PodConditionType string

// PreemptionPolicy tells whether a pod may push out others.
type PreemptionPolicy string

// PodOS names the operating system of a pod.
type PodOS struct {
	// linux or windows; nodes of another system refuse the pod.
	Name OSName `json:"name" pb:"1"`
}

// OSName is the name of an operating system.
type OSName string

// PodSchedulingGate keeps a pod from being scheduled.
type PodSchedulingGate struct {
	// Name of the gate, unique within the pod.
	Name string `json:"name" pb:"1"`
}

// PodResourceClaim refers to a resource claim, or to a template for one.
type PodResourceClaim struct {
	// Name by which containers refer to the claim, unique within the pod.
	Name string `json:"name" pb:"1"`
	// Claim in the same namespace. Either this or the template must be set.
	ResourceClaimName *string `json:"resourceClaimName,omitempty" pb:"3"`
	// Template in the same namespace; a claim is made from it that lives as long as the pod.
	ResourceClaimTemplateName *string `json:"resourceClaimTemplateName,omitempty" pb:"4"`
}

// PodSchedulingGroup names the group of pods that are scheduled together.
type PodSchedulingGroup struct {
	// Pod group in the same namespace.
	PodGroupName *string `json:"podGroupName,omitempty" pb:"1" union:"member"`
}

// RestartPolicy tells when the containers of a pod are restarted.
type RestartPolicy string

// DNSPolicy tells how the DNS of a pod is set up.
type DNSPolicy string

// PodList is a list of pods.
type PodList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []Pod `json:"items" pb:"2"`
}
