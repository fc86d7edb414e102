package corev1

import (
	"strings"

	"github.com/coracle-project/coracle/scheme/names"
)

// ResourceHugePagesPrefix begins the names of huge page resources; the page size follows.
const ResourceHugePagesPrefix = "hugepages-"

// IsHugePages reports whether a resource is huge pages of some size.
func IsHugePages(name ResourceName) bool {
	return strings.HasPrefix(string(name), ResourceHugePagesPrefix)
}

// IsNativeResource reports whether a resource belongs to Kubernetes: its name has no domain, or one
// that contains kubernetes.io/.
func IsNativeResource(name ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), "kubernetes.io/")
}

// IsExtendedResource reports whether a resource belongs to somebody other than Kubernetes, such as
// a device plugin. Its name stays valid with "requests." before it, which is how quotas name it.
func IsExtendedResource(name ResourceName) bool {
	return !IsNativeResource(name) && !strings.HasPrefix(string(name), "requests.") &&
		len(names.IsQualifiedName("requests."+string(name))) == 0
}

// IsPodLevelResource reports whether a resource can be given for a pod as a whole.
func IsPodLevelResource(name ResourceName) bool {
	return name == ResourceCPU || name == ResourceMemory || IsHugePages(name)
}

// IsSidecar reports whether an init container keeps running beside the other containers.
func IsSidecar(c *Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == ContainerRestartPolicyAlways
}

// ContainerRequests returns what the containers of a pod request at the busiest moment of its life,
// without overhead.
func ContainerRequests(spec *PodSpec) ResourceList {
	return aggregate(spec, func(c *Container) ResourceList { return c.Resources.Requests })
}

// ContainerLimits is like ContainerRequests for limits.
func ContainerLimits(spec *PodSpec) ResourceList {
	return aggregate(spec, func(c *Container) ResourceList { return c.Resources.Limits })
}

// aggregate adds up what containers and sidecars use together. An init container runs alone, beside
// the sidecars started before it, so of these moments the largest counts.
func aggregate(spec *PodSpec, of func(*Container) ResourceList) ResourceList {
	total, sidecars, peak := ResourceList{}, ResourceList{}, ResourceList{}
	for i := range spec.Containers {
		addResources(total, of(&spec.Containers[i]))
	}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if IsSidecar(c) {
			addResources(total, of(c))
			addResources(sidecars, of(c))
			maxResources(peak, sidecars)
			continue
		}
		moment := ResourceList{}
		addResources(moment, of(c)) // a sum has the format of what is added first
		addResources(moment, sidecars)
		maxResources(peak, moment)
	}
	maxResources(total, peak)
	return total
}

func addResources(sum, more ResourceList) {
	for name, q := range more {
		if have, ok := sum[name]; ok {
			q = have.Add(q)
		}
		sum[name] = q
	}
}

func maxResources(sum, other ResourceList) {
	for name, q := range other {
		if have, ok := sum[name]; !ok || have.Cmp(q) < 0 {
			sum[name] = q
		}
	}
}
