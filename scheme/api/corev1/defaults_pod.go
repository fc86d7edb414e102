package corev1

import (
	"maps"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Defaults of pods that others refer to.
const (
	DefaultTerminationGracePeriodSeconds = 30
	DefaultSchedulerName                 = "default-scheduler"
	TerminationMessagePathDefault        = "/dev/termination-log"
)

// droppedAnnotations carried init containers before they were a field; they are not kept.
var droppedAnnotations = []string{
	"pod.beta.kubernetes.io/init-containers",
	"pod.alpha.kubernetes.io/init-containers",
	"pod.beta.kubernetes.io/init-container-statuses",
	"pod.alpha.kubernetes.io/init-container-statuses",
}

// defaultPod sets what only pods, and not pod templates, have by default: requests that follow from
// limits, host ports, service links, and a second for a negative time to end in. What stands below
// is defaulted by the functions for its types.
func defaultPod(p *Pod) {
	for _, key := range droppedAnnotations {
		delete(p.Annotations, key)
	}
	spec := &p.Spec
	for _, list := range [][]Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			requestLimits(&list[i].Resources)
			if spec.HostNetwork {
				hostPorts(list[i].Ports)
			}
		}
	}
	defaultPodResources(spec)
	scheme.SetPointer(&spec.EnableServiceLinks, true)
	if grace := spec.TerminationGracePeriodSeconds; grace != nil && *grace < 0 {
		*grace = 1
	}
}

// requestLimits requests as much of a resource as it is limited to, where nothing is said.
func requestLimits(r *ResourceRequirements) {
	if r.Limits != nil && r.Requests == nil {
		r.Requests = make(ResourceList, len(r.Limits))
	}
	for name, q := range r.Limits {
		if _, ok := r.Requests[name]; !ok {
			r.Requests[name] = q
		}
	}
}

func hostPorts(ports []ContainerPort) {
	for i := range ports {
		scheme.SetDefault(&ports[i].HostPort, ports[i].ContainerPort)
	}
}

// defaultPodResources completes resources given for the pod as a whole. A limit of huge pages that
// is neither limited nor requested is the sum of the containers' limits. If the pod has limits,
// each missing request is the sum of the containers' requests, or else the pod's limit. A pod
// without limits gets no requests, as in kube-apiserver.
func defaultPodResources(spec *PodSpec) {
	r := spec.Resources
	if r == nil || len(r.Limits)+len(r.Requests) == 0 {
		return
	}
	for name, q := range ContainerLimits(spec) {
		_, limited := r.Limits[name]
		if _, ok := r.Requests[name]; !ok && !limited && IsHugePages(name) {
			if r.Limits == nil {
				r.Limits = make(ResourceList)
			}
			r.Limits[name] = q
		}
	}
	if len(r.Limits) == 0 {
		return
	}
	requests := maps.Clone(r.Requests)
	if requests == nil {
		requests = make(ResourceList)
	}
	add := func(name ResourceName, q meta.Quantity) {
		if _, ok := requests[name]; !ok && IsPodLevelResource(name) {
			requests[name] = q
		}
	}
	for name, q := range ContainerRequests(spec) {
		if !IsHugePages(name) {
			add(name, q)
		}
	}
	for name, q := range r.Limits {
		add(name, q)
	}
	if len(requests) > 0 {
		r.Requests = requests
	}
}

func defaultPodStatus(s *PodStatus) {
	if s.PodIP != "" && (len(s.PodIPs) == 0 || s.PodIPs[0].IP != s.PodIP) {
		s.PodIPs = []PodIP{{IP: s.PodIP}}
	}
	if len(s.PodIPs) > 0 {
		s.PodIP = s.PodIPs[0].IP
	}
	roundResources(s.AllocatedResources)
}

func defaultContainerStatus(s *ContainerStatus) { roundResources(s.AllocatedResources) }

// defaultPodSpec sets what the spec of a pod, or of a pod template, leaves open.
func defaultPodSpec(spec *PodSpec) {
	scheme.SetDefault(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName

	scheme.SetDefault(&spec.DNSPolicy, DNSClusterFirst)
	scheme.SetDefault(&spec.RestartPolicy, RestartPolicyAlways)
	scheme.SetDefault(&spec.SchedulerName, DefaultSchedulerName)
	scheme.SetPointer(&spec.SecurityContext, PodSecurityContext{})
	scheme.SetPointer(&spec.TerminationGracePeriodSeconds, DefaultTerminationGracePeriodSeconds)
	roundResources(spec.Overhead)
}

func defaultRequirements(r *ResourceRequirements) {
	roundResources(r.Limits)
	roundResources(r.Requests)
}

func defaultContainer(c *Container) {
	if c.ImagePullPolicy == "" {
		c.ImagePullPolicy = pullPolicyOf(c.Image)
	}
	scheme.SetDefault(&c.TerminationMessagePath, TerminationMessagePathDefault)
	scheme.SetDefault(&c.TerminationMessagePolicy, TerminationMessageReadFile)
}

func defaultEphemeralContainer(c *EphemeralContainerCommon) { defaultContainer((*Container)(c)) }

// pullPolicyOf says how often an image is pulled if nobody says: a moving tag always, others when
// missing.
func pullPolicyOf(image string) PullPolicy {
	if ImageTag(image) == "latest" {
		return PullAlways
	}
	return PullIfNotPresent
}

func defaultFieldSelector(ref *ObjectFieldSelector) { scheme.SetDefault(&ref.APIVersion, "v1") }

func defaultProbe(p *Probe) {
	scheme.SetDefault(&p.TimeoutSeconds, 1)
	scheme.SetDefault(&p.PeriodSeconds, 10)
	scheme.SetDefault(&p.SuccessThreshold, 1)
	scheme.SetDefault(&p.FailureThreshold, 3)
}

func defaultHTTPGet(a *HTTPGetAction) {
	scheme.SetDefault(&a.Path, "/")
	scheme.SetDefault(&a.Scheme, URISchemeHTTP)
}

// Modes and lifetimes of projected files.
const (
	defaultFileMode     = 0o644
	defaultTokenSeconds = 3600
)

func defaultVolume(v *Volume) {
	if v.VolumeSource == (VolumeSource{}) {
		v.EmptyDir = &EmptyDirVolumeSource{}
	}
}

func defaultSecretVolume(s *SecretVolumeSource) { scheme.SetPointer(&s.DefaultMode, defaultFileMode) }

func defaultConfigMapVolume(s *ConfigMapVolumeSource) {
	scheme.SetPointer(&s.DefaultMode, defaultFileMode)
}

func defaultDownwardVolume(s *DownwardAPIVolumeSource) {
	scheme.SetPointer(&s.DefaultMode, defaultFileMode)
}

func defaultProjectedVolume(s *ProjectedVolumeSource) {
	scheme.SetPointer(&s.DefaultMode, defaultFileMode)
}

func defaultImageVolume(s *ImageVolumeSource) {
	if s.PullPolicy == "" {
		s.PullPolicy = pullPolicyOf(s.Reference)
	}
}

func defaultHostPath(s *HostPathVolumeSource) { scheme.SetPointer(&s.Type, HostPathUnset) }

func defaultToken(p *ServiceAccountTokenProjection) {
	scheme.SetPointer(&p.ExpirationSeconds, defaultTokenSeconds)
}
