package corev1

import "slices"

// IsBestEffort reports whether a pod has the quality-of-service class BestEffort: none of its
// requests and limits of CPU and memory is above zero. If the status has a class, that class
// counts. If the pod as a whole has resources (KEP-2837), they count instead of those of its
// containers.
func (p *Pod) IsBestEffort() bool {
	if class := p.Status.QOSClass; class != "" {
		return class == PodQOSBestEffort
	}
	if r := p.Spec.Resources; r != nil {
		return !r.hasComputeAmounts()
	}
	has := func(c Container) bool { return c.Resources.hasComputeAmounts() }
	return !slices.ContainsFunc(p.Spec.Containers, has) && !slices.ContainsFunc(p.Spec.InitContainers, has)
}

// hasComputeAmounts reports whether a request or limit of CPU or memory is above zero.
func (r *ResourceRequirements) hasComputeAmounts() bool {
	for _, list := range [...]ResourceList{r.Requests, r.Limits} {
		for _, name := range [...]ResourceName{ResourceCPU, ResourceMemory} {
			if q, ok := list[name]; ok && q.Sign() > 0 {
				return true
			}
		}
	}
	return false
}
