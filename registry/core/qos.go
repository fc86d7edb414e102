package core

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// qosClass derives the quality-of-service class of a pod from its CPU and memory:
//   - BestEffort: no request and no limit is above zero.
//   - Guaranteed: each container has both limits, and for each resource the sum of requests equals
//     the sum of limits.
//   - Burstable: anything else.
//
// If the pod as a whole has resources (KEP-2837), they count instead of those of its containers.
// Ephemeral containers never count.
func qosClass(spec *corev1.PodSpec) corev1.PodQOSClass {
	requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
	guaranteed := true
	count := func(r *corev1.ResourceRequirements) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if q, ok := r.Requests[name]; ok && q.Sign() > 0 {
				addTo(requests, name, q)
			}
			if q, ok := r.Limits[name]; ok && q.Sign() > 0 {
				addTo(limits, name, q)
			} else {
				guaranteed = false
			}
		}
	}
	if spec.Resources != nil {
		count(spec.Resources)
	} else {
		for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
			for i := range list {
				count(&list[i].Resources)
			}
		}
	}
	if len(requests) == 0 && len(limits) == 0 {
		return corev1.PodQOSBestEffort
	}
	for name, q := range requests {
		if limit, ok := limits[name]; !ok || limit.Cmp(q) != 0 {
			guaranteed = false
		}
	}
	if guaranteed && len(requests) == len(limits) {
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

func addTo(list corev1.ResourceList, name corev1.ResourceName, q meta.Quantity) {
	if have, ok := list[name]; ok {
		q = have.Add(q)
	}
	list[name] = q
}
