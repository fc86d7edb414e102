package corev1

// SecurityContext holds security settings of a container. They win over those of its pod.
type SecurityContext struct {
	// Capabilities to add and drop; the runtime's defaults if unset. Linux only.
	Capabilities *Capabilities `json:"capabilities,omitempty" pb:"1"`
	// Whether its processes are as good as root on the node; false by default. Linux only.
	Privileged *bool `json:"privileged,omitempty" pb:"2"`
	// SELinux context; the runtime picks one if unset. Linux only.
	SELinuxOptions *SELinuxOptions `json:"seLinuxOptions,omitempty" pb:"3"`
	// Settings for windows containers.
	WindowsOptions *WindowsSecurityContextOptions `json:"windowsOptions,omitempty" pb:"10"`
	// User id of the first process; that of the image by default. Linux only.
	RunAsUser *int64 `json:"runAsUser,omitempty" pb:"4"`
	// Group id of the first process; the runtime's default if unset. Linux only.
	RunAsGroup *int64 `json:"runAsGroup,omitempty" pb:"8"`
	// Refuse to run as user 0, be it the image's choice or runAsUser; false by default.
	RunAsNonRoot *bool `json:"runAsNonRoot,omitempty" pb:"5"`
	// Whether the root file system is read-only; false by default. Linux only.
	ReadOnlyRootFilesystem *bool `json:"readOnlyRootFilesystem,omitempty" pb:"6"`
	// Whether processes may get more rights than their parents have; always true for privileged
	// containers. Linux only.
	AllowPrivilegeEscalation *bool `json:"allowPrivilegeEscalation,omitempty" pb:"7"`
	// How /proc is mounted: Default, with parts masked, or Unmasked, which needs hostUsers false.
	// Linux only.
	ProcMount *ProcMountType `json:"procMount,omitempty" pb:"9" enum:"Default,Unmasked"`
	// System call filter; wins over the pod's. Linux only.
	SeccompProfile *SeccompProfile `json:"seccompProfile,omitempty" pb:"11"`
	// AppArmor profile; wins over the pod's. Linux only.
	AppArmorProfile *AppArmorProfile `json:"appArmorProfile,omitempty" pb:"12"`
}

// Capabilities holds changes to the capabilities of a container.
type Capabilities struct {
	// Capabilities to add, such as NET_ADMIN; ALL stands for every one.
	Add []Capability `json:"add,omitempty" pb:"1" list:"atomic"`
	// Capabilities to take away, such as NET_RAW; ALL stands for every one.
	Drop []Capability `json:"drop,omitempty" pb:"2" list:"atomic"`
}

// Capability is the name of a POSIX capability.
type Capability string

// SELinuxOptions is an SELinux context.
type SELinuxOptions struct {
	// User part of the context, such as system_u.
	User string `json:"user,omitempty" pb:"1"`
	// Role part of the context, such as system_r.
	Role string `json:"role,omitempty" pb:"2"`
	// Type part of the context, such as container_t.
	Type string `json:"type,omitempty" pb:"3"`
	// Level part of the context, such as s0:c1,c2.
	Level string `json:"level,omitempty" pb:"4"`
}

// WindowsSecurityContextOptions holds settings for windows containers.
type WindowsSecurityContextOptions struct {
	// GMSA credential spec, by name; its content is looked up for gmsaCredentialSpec.
	GMSACredentialSpecName *string `json:"gmsaCredentialSpecName,omitempty" pb:"1"`
	// Content of the GMSA credential spec, filled in by a webhook.
	GMSACredentialSpec *string `json:"gmsaCredentialSpec,omitempty" pb:"2"`
	// User that runs the first process; that of the image by default.
	RunAsUserName *string `json:"runAsUserName,omitempty" pb:"3"`
	// Run as a host process; all containers of a pod must agree, and hostNetwork must be true.
	HostProcess *bool `json:"hostProcess,omitempty" pb:"4"`
}

// ProcMountType tells how /proc is mounted.
type ProcMountType string

// SeccompProfile names a system call filter.
type SeccompProfile struct {
	// RuntimeDefault (that of the container runtime), Localhost (one that localhostProfile names)
	// or Unconfined.
	Type SeccompProfileType `json:"type" pb:"1" enum:"Localhost,RuntimeDefault,Unconfined" union:"discriminator"`
	// Path of the file, below the kubelet's seccomp directory; only with type Localhost.
	LocalhostProfile *string `json:"localhostProfile,omitempty" pb:"2" union:"member"`
}

// SeccompProfileType tells where a seccomp profile comes from.
type SeccompProfileType string

// AppArmorProfile names an AppArmor profile.
type AppArmorProfile struct {
	// Localhost (loaded on the node), RuntimeDefault or Unconfined.
	Type AppArmorProfileType `json:"type" pb:"1" enum:"Localhost,RuntimeDefault,Unconfined" union:"discriminator"`
	// Name of the profile on the node; only with type Localhost.
	LocalhostProfile *string `json:"localhostProfile,omitempty" pb:"2" union:"member"`
}

// AppArmorProfileType tells where an AppArmor profile comes from.
type AppArmorProfileType string

// PodSecurityContext holds security settings of a pod and defaults for its containers.
type PodSecurityContext struct {
	// SELinux context of all containers. Linux only.
	SELinuxOptions *SELinuxOptions `json:"seLinuxOptions,omitempty" pb:"1"`
	// Settings for windows containers.
	WindowsOptions *WindowsSecurityContextOptions `json:"windowsOptions,omitempty" pb:"8"`
	// User id of the first process of all containers. Linux only.
	RunAsUser *int64 `json:"runAsUser,omitempty" pb:"2"`
	// Group id of the first process of all containers. Linux only.
	RunAsGroup *int64 `json:"runAsGroup,omitempty" pb:"6"`
	// Refuse to start containers that would run as user 0; false by default.
	RunAsNonRoot *bool `json:"runAsNonRoot,omitempty" pb:"3"`
	// Further group ids of the first process of each container. Linux only.
	SupplementalGroups []int64 `json:"supplementalGroups,omitempty" pb:"4" list:"atomic"`
	// Merge (the default) adds the groups of the image's user, Strict does not. Linux only.
	SupplementalGroupsPolicy *SupplementalGroupsPolicy `json:"supplementalGroupsPolicy,omitempty" pb:"12" enum:"Merge,Strict"`
	// Group that owns the volumes that allow it, and that all containers belong to. Linux only.
	FSGroup *int64 `json:"fsGroup,omitempty" pb:"5"`
	// Namespaced sysctls to set. Linux only.
	Sysctls []Sysctl `json:"sysctls,omitempty" pb:"7" list:"atomic"`
	// When the ownership of volumes is changed: OnRootMismatch or Always (the default). Linux only.
	FSGroupChangePolicy *PodFSGroupChangePolicy `json:"fsGroupChangePolicy,omitempty" pb:"9" enum:"Always,OnRootMismatch"`
	// System call filter of all containers. Linux only.
	SeccompProfile *SeccompProfile `json:"seccompProfile,omitempty" pb:"10"`
	// AppArmor profile of all containers. Linux only.
	AppArmorProfile *AppArmorProfile `json:"appArmorProfile,omitempty" pb:"11"`
	// How SELinux labels are put on volumes: MountOption (the default where possible) or Recursive.
	// Linux only.
	SELinuxChangePolicy *PodSELinuxChangePolicy `json:"seLinuxChangePolicy,omitempty" pb:"13"`
}

// SupplementalGroupsPolicy tells how supplemental groups are made up.
type SupplementalGroupsPolicy string

// Sysctl is a kernel parameter.
type Sysctl struct {
	// Name of the parameter, such as net.core.somaxconn.
	Name string `json:"name" pb:"1"`
	// Value to set.
	Value string `json:"value" pb:"2"`
}

// PodFSGroupChangePolicy tells when the ownership of volumes is changed.
type PodFSGroupChangePolicy string

// PodSELinuxChangePolicy tells how SELinux labels are put on volumes.
type PodSELinuxChangePolicy string
