package corev1

// Container is one program of a pod, run from an image.
type Container struct {
	// Name of the container, a DNS label that is unique within the pod.
	Name string `json:"name" pb:"1"`
	// Image that the container runs, such as registry.example.com/app:1.2; required.
	Image string `json:"image,omitempty" pb:"2"`
	// Replaces the image's entry point; not run in a shell. $(NAME) stands for environment
	// variables.
	Command []string `json:"command,omitempty" pb:"3" list:"atomic"`
	// Arguments of the command; those of the image by default. $(NAME) stands for environment
	// variables.
	Args []string `json:"args,omitempty" pb:"4" list:"atomic"`
	// Working directory; that of the image by default.
	WorkingDir string `json:"workingDir,omitempty" pb:"5"`
	// Ports that the container listens on; informative, other ports work as well.
	Ports []ContainerPort `json:"ports,omitempty" pb:"6" list:"map,key=containerPort,key=protocol" patch:"merge,key=containerPort"`
	// Sources that each give a set of environment variables; env wins over them, later ones over
	// earlier.
	EnvFrom []EnvFromSource `json:"envFrom,omitempty" pb:"19" list:"atomic"`
	// Environment variables, each of a name of its own.
	Env []EnvVar `json:"env,omitempty" pb:"7" list:"map,key=name" patch:"merge,key=name"`
	// Compute resources that the container needs.
	Resources ResourceRequirements `json:"resources,omitempty" pb:"8"`
	// Which resources can change while the container runs, and whether it is restarted for that;
	// none needs it by default.
	ResizePolicy []ContainerResizePolicy `json:"resizePolicy,omitempty" pb:"23" list:"atomic"`
	// When this container is restarted, whatever the pod's policy; an init container with Always
	// runs beside the others.
	RestartPolicy *ContainerRestartPolicy `json:"restartPolicy,omitempty" pb:"24"`
	// Rules checked, in order, when the container exits, before its restart policy.
	RestartPolicyRules []ContainerRestartRule `json:"restartPolicyRules,omitempty" pb:"25" list:"atomic"`
	// Volumes mounted into the container.
	VolumeMounts []VolumeMount `json:"volumeMounts,omitempty" pb:"9" list:"map,key=mountPath" patch:"merge,key=mountPath"`
	// Block devices given to the container.
	VolumeDevices []VolumeDevice `json:"volumeDevices,omitempty" pb:"21" list:"map,key=devicePath" patch:"merge,key=devicePath"`
	// Checks whether the container works; it is restarted if not.
	LivenessProbe *Probe `json:"livenessProbe,omitempty" pb:"10"`
	// Checks whether the container can serve; it gets no traffic if not.
	ReadinessProbe *Probe `json:"readinessProbe,omitempty" pb:"11"`
	// Checks whether the container has started; the other probes wait for it.
	StartupProbe *Probe `json:"startupProbe,omitempty" pb:"22"`
	// What to do after the start and before the end of the container.
	Lifecycle *Lifecycle `json:"lifecycle,omitempty" pb:"12"`
	// File in the container that holds its last message; /dev/termination-log by default.
	TerminationMessagePath string `json:"terminationMessagePath,omitempty" pb:"13"`
	// Where the last message comes from: File (the default) or FallbackToLogsOnError.
	TerminationMessagePolicy TerminationMessagePolicy `json:"terminationMessagePolicy,omitempty" pb:"20" enum:"FallbackToLogsOnError,File"`
	// When the image is pulled: Always (the default for the tag latest, which is also meant by no
	// tag), IfNotPresent (the default otherwise) or Never.
	ImagePullPolicy PullPolicy `json:"imagePullPolicy,omitempty" pb:"14" enum:"Always,IfNotPresent,Never"`
	// Security settings of the container; they win over those of the pod.
	SecurityContext *SecurityContext `json:"securityContext,omitempty" pb:"15"`
	// Keep standard input open; false by default.
	Stdin bool `json:"stdin,omitempty" pb:"16"`
	// Close standard input after the first client that attached has gone; false by default.
	StdinOnce bool `json:"stdinOnce,omitempty" pb:"17"`
	// Give the container a terminal; needs stdin. False by default.
	TTY bool `json:"tty,omitempty" pb:"18"`
}

// ContainerPort is a port that a container listens on.
type ContainerPort struct {
	// Name of the port, at most 15 lower-case letters, digits and dashes; services and probes can
	// refer to it.
	Name string `json:"name,omitempty" pb:"1"`
	// Port on the node, 1 to 65535, that leads to this one; none by default, and containerPort with
	// hostNetwork.
	HostPort int32 `json:"hostPort,omitempty" pb:"2"`
	// Port in the pod: 1 to 65535.
	ContainerPort int32 `json:"containerPort" pb:"3"`
	// TCP, UDP or SCTP; TCP by default.
	Protocol Protocol `json:"protocol,omitempty" pb:"4" default:"TCP" enum:"SCTP,TCP,UDP"`
	// Address of the node to bind the host port to; all of them by default.
	HostIP string `json:"hostIP,omitempty" pb:"5"`
}

// EnvFromSource gives a set of environment variables.
type EnvFromSource struct {
	// Put before each name; none by default.
	Prefix string `json:"prefix,omitempty" pb:"1"`
	// Config map whose keys become variables.
	ConfigMapRef *ConfigMapEnvSource `json:"configMapRef,omitempty" pb:"2"`
	// Secret whose keys become variables.
	SecretRef *SecretEnvSource `json:"secretRef,omitempty" pb:"3"`
}

// ConfigMapEnvSource names a config map whose data become environment variables.
type ConfigMapEnvSource struct {
	// Names the object to read, in the same namespace.
	LocalObjectReference `json:",inline" pb:"1"`
	// Whether the config map may be missing; false by default, which keeps the container from
	// starting.
	Optional *bool `json:"optional,omitempty" pb:"2"`
}

// SecretEnvSource names a secret whose data become environment variables.
type SecretEnvSource struct {
	// Names the object to read, in the same namespace.
	LocalObjectReference `json:",inline" pb:"1"`
	// Whether the secret may be missing; false by default, which keeps the container from starting.
	Optional *bool `json:"optional,omitempty" pb:"2"`
}

// EnvVar is an environment variable.
type EnvVar struct {
	// Name of the variable: printable ASCII without '='.
	Name string `json:"name" pb:"1"`
	// Value; $(NAME) stands for variables defined before, $$ for a dollar sign. Empty by default.
	Value string `json:"value,omitempty" pb:"2"`
	// Where the value comes from, if not from value.
	ValueFrom *EnvVarSource `json:"valueFrom,omitempty" pb:"3"`
}

// EnvVarSource tells where the value of an environment variable comes from.
type EnvVarSource struct {
	// A field of the pod: metadata.name, metadata.namespace, metadata.uid, metadata.labels['key'],
	// metadata.annotations['key'], spec.nodeName, spec.serviceAccountName, status.hostIP,
	// status.hostIPs, status.podIP or status.podIPs.
	FieldRef *ObjectFieldSelector `json:"fieldRef,omitempty" pb:"1"`
	// A resource request or limit of a container.
	ResourceFieldRef *ResourceFieldSelector `json:"resourceFieldRef,omitempty" pb:"2"`
	// The value of a config map's key.
	ConfigMapKeyRef *ConfigMapKeySelector `json:"configMapKeyRef,omitempty" pb:"3"`
	// The value of a secret's key.
	SecretKeyRef *SecretKeySelector `json:"secretKeyRef,omitempty" pb:"4"`
	// A key of a file in a volume that an init container has written.
	FileKeyRef *FileKeySelector `json:"fileKeyRef,omitempty" pb:"5"`
}

// ConfigMapKeySelector is a key in a config map of the pod's namespace.
type ConfigMapKeySelector struct {
	_ struct{} `struct:"atomic"`

	// Names the object to read, in the same namespace.
	LocalObjectReference `json:",inline" pb:"1"`
	// Key whose value is taken.
	Key string `json:"key" pb:"2"`
	// Whether the object or the key may be missing; false by default.
	Optional *bool `json:"optional,omitempty" pb:"3"`
}

// SecretKeySelector is a key in a secret of the pod's namespace.
type SecretKeySelector struct {
	_ struct{} `struct:"atomic"`

	// Names the object to read, in the same namespace.
	LocalObjectReference `json:",inline" pb:"1"`
	// Key whose value is taken.
	Key string `json:"key" pb:"2"`
	// Whether the object or the key may be missing; false by default.
	Optional *bool `json:"optional,omitempty" pb:"3"`
}

// FileKeySelector names a variable in a file of a volume.
type FileKeySelector struct {
	_ struct{} `struct:"atomic"`

	// Volume that holds the file.
	VolumeName string `json:"volumeName" pb:"1"`
	// Path of the file, relative to the volume and without "..".
	Path string `json:"path" pb:"2"`
	// Name of the variable in the file.
	Key string `json:"key" pb:"3"`
	// Whether the file or the key may be missing; false by default.
	Optional *bool `json:"optional,omitempty" pb:"4" default:"false"`
}

// ResourceRequirements holds what a container or pod needs of compute resources.
type ResourceRequirements struct {
	// Most that it may use of each resource.
	Limits ResourceList `json:"limits,omitempty" pb:"1"`
	// Least that it needs of each resource; the limit by default.
	Requests ResourceList `json:"requests,omitempty" pb:"2"`
	// Entries of the pod's resource claims that the container uses.
	Claims []ResourceClaim `json:"claims,omitempty" pb:"3" list:"map,key=name"`
}

// ResourceClaim names an entry of the pod's resource claims.
type ResourceClaim struct {
	// Name of an entry of the pod's resourceClaims.
	Name string `json:"name" pb:"1"`
	// Name of a request in the claim, if only that one is to be used.
	Request string `json:"request,omitempty" pb:"2"`
}

// ContainerResizePolicy tells whether a change of a resource needs a restart.
type ContainerResizePolicy struct {
	// Resource that can change: cpu or memory.
	ResourceName ResourceName `json:"resourceName" pb:"1"`
	// NotRequired (the default), or RestartContainer to restart the container for each change.
	RestartPolicy ResourceResizeRestartPolicy `json:"restartPolicy" pb:"2"`
}

// ResourceName is the name of a resource.
type ResourceName string

// ResourceResizeRestartPolicy tells whether a resource can change without a restart.
type ResourceResizeRestartPolicy string

// ContainerRestartPolicy tells when one container is restarted.
type ContainerRestartPolicy string

// ContainerRestartRule tells what to do when a container has exited in a certain way.
type ContainerRestartRule struct {
	// What to do: Restart or RestartAllContainers.
	Action ContainerRestartRuleAction `json:"action,omitempty" pb:"1" check:"listed"`
	// Exit codes for which the rule holds.
	ExitCodes *ContainerRestartRuleOnExitCodes `json:"exitCodes,omitempty" pb:"2"`
}

// ContainerRestartRuleAction is what a restart rule does.
type ContainerRestartRuleAction string

// ContainerRestartRuleOnExitCodes selects exit codes.
type ContainerRestartRuleOnExitCodes struct {
	// Whether the exit code must be one of values (In) or none of them (NotIn).
	Operator ContainerRestartRuleOnExitCodesOperator `json:"operator,omitempty" pb:"1" check:"listed"`
	// Exit codes to look for; at most 255.
	Values []int32 `json:"values,omitempty" pb:"2" list:"set"`
}

// ContainerRestartRuleOnExitCodesOperator relates an exit code to a set.
type ContainerRestartRuleOnExitCodesOperator string

// EphemeralContainer is a container added to a running pod, for debugging. It has no guarantees and
// is never restarted.
type EphemeralContainer struct {
	// What it has in common with other containers.
	EphemeralContainerCommon `json:",inline" pb:"1"`
	// Container whose process namespace it shares, where the runtime can.
	TargetContainerName string `json:"targetContainerName,omitempty" pb:"2"`
}

// EphemeralContainerCommon holds the fields of a container; some of them cannot be used in
// ephemeral containers.
type EphemeralContainerCommon struct {
	// Name of the container, unique among all containers of the pod.
	Name string `json:"name" pb:"1"`
	// Image that the container runs.
	Image string `json:"image,omitempty" pb:"2"`
	// Replaces the image's entry point; not run in a shell.
	Command []string `json:"command,omitempty" pb:"3" list:"atomic"`
	// Arguments of the command.
	Args []string `json:"args,omitempty" pb:"4" list:"atomic"`
	// Working directory; that of the image by default.
	WorkingDir string `json:"workingDir,omitempty" pb:"5"`
	// Not allowed for ephemeral containers.
	Ports []ContainerPort `json:"ports,omitempty" pb:"6" list:"map,key=containerPort,key=protocol" patch:"merge,key=containerPort"`
	// Sources that each give a set of environment variables.
	EnvFrom []EnvFromSource `json:"envFrom,omitempty" pb:"19" list:"atomic"`
	// Environment variables.
	Env []EnvVar `json:"env,omitempty" pb:"7" list:"map,key=name" patch:"merge,key=name"`
	// Not allowed for ephemeral containers, which use what the pod has left.
	Resources ResourceRequirements `json:"resources,omitempty" pb:"8"`
	// Not allowed for ephemeral containers.
	ResizePolicy []ContainerResizePolicy `json:"resizePolicy,omitempty" pb:"23" list:"atomic"`
	// Not allowed for ephemeral containers.
	RestartPolicy *ContainerRestartPolicy `json:"restartPolicy,omitempty" pb:"24"`
	// Not allowed for ephemeral containers.
	RestartPolicyRules []ContainerRestartRule `json:"restartPolicyRules,omitempty" pb:"25" list:"atomic"`
	// Volumes mounted into the container; sub-paths are not allowed.
	VolumeMounts []VolumeMount `json:"volumeMounts,omitempty" pb:"9" list:"map,key=mountPath" patch:"merge,key=mountPath"`
	// Block devices given to the container.
	VolumeDevices []VolumeDevice `json:"volumeDevices,omitempty" pb:"21" list:"map,key=devicePath" patch:"merge,key=devicePath"`
	// Not allowed for ephemeral containers.
	LivenessProbe *Probe `json:"livenessProbe,omitempty" pb:"10"`
	// Not allowed for ephemeral containers.
	ReadinessProbe *Probe `json:"readinessProbe,omitempty" pb:"11"`
	// Not allowed for ephemeral containers.
	StartupProbe *Probe `json:"startupProbe,omitempty" pb:"22"`
	// Not allowed for ephemeral containers.
	Lifecycle *Lifecycle `json:"lifecycle,omitempty" pb:"12"`
	// File in the container that holds its last message; /dev/termination-log by default.
	TerminationMessagePath string `json:"terminationMessagePath,omitempty" pb:"13"`
	// Where the last message comes from: File (the default) or FallbackToLogsOnError.
	TerminationMessagePolicy TerminationMessagePolicy `json:"terminationMessagePolicy,omitempty" pb:"20" enum:"FallbackToLogsOnError,File"`
	// When the image is pulled: Always (the default for the tag latest, which is also meant by no
	// tag), IfNotPresent (the default otherwise) or Never.
	ImagePullPolicy PullPolicy `json:"imagePullPolicy,omitempty" pb:"14" enum:"Always,IfNotPresent,Never"`
	// Security settings of the container.
	SecurityContext *SecurityContext `json:"securityContext,omitempty" pb:"15"`
	// Keep standard input open; false by default.
	Stdin bool `json:"stdin,omitempty" pb:"16"`
	// Close standard input after the first client that attached has gone; false by default.
	StdinOnce bool `json:"stdinOnce,omitempty" pb:"17"`
	// Give the container a terminal; needs stdin. False by default.
	TTY bool `json:"tty,omitempty" pb:"18"`
}

// PullPolicy tells when an image is pulled.
type PullPolicy string

// TerminationMessagePolicy tells where the last message of a container comes from.
type TerminationMessagePolicy string

// VolumeMount puts a volume into a container.
type VolumeMount struct {
	// The volume, by its name in the pod.
	Name string `json:"name" pb:"1"`
	// Mount read-only; false by default.
	ReadOnly bool `json:"readOnly,omitempty" pb:"2"`
	// Whether mounts below are read-only as well: Disabled (the default), IfPossible or Enabled.
	RecursiveReadOnly *RecursiveReadOnlyMode `json:"recursiveReadOnly,omitempty" pb:"7"`
	// Where the container sees the volume; without ':'.
	MountPath string `json:"mountPath" pb:"3"`
	// Path in the volume to mount; its root by default.
	SubPath string `json:"subPath,omitempty" pb:"4"`
	// How mounts travel between node and container: None (the default), HostToContainer or
	// Bidirectional.
	MountPropagation *MountPropagationMode `json:"mountPropagation,omitempty" pb:"5" enum:"Bidirectional,HostToContainer,None"`
	// Like subPath, with $(NAME) standing for environment variables; excludes subPath.
	SubPathExpr string `json:"subPathExpr,omitempty" pb:"6"`
}

// RecursiveReadOnlyMode tells how far read-only reaches.
type RecursiveReadOnlyMode string

// MountPropagationMode tells how mounts travel between node and container.
type MountPropagationMode string

// VolumeDevice gives a block device to a container.
type VolumeDevice struct {
	// Name of a volume of the pod that is a claim.
	Name string `json:"name" pb:"1"`
	// Path of the device in the container.
	DevicePath string `json:"devicePath" pb:"2"`
}
