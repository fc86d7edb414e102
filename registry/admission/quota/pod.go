package quota

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file computes the usage of pods, and has their scopes and the amounts that they must state.
// quota.go and request.go call it through the interface evaluator. tally.go adds up the containers.

// podEvaluator is the evaluator of pods.
type podEvaluator struct{}

// handles is true for creates, for resizes, and for updates that move a pod between the scopes
// Terminating and NotTerminating.
func (podEvaluator) handles(a *admission.Attributes) bool {
	switch a.Subresource {
	case "resize":
		return a.Operation == admission.Update
	case "":
		if a.Operation == admission.Create {
			return true
		}
		pod, ok := a.Object.(*corev1.Pod)
		old, okOld := a.Old.(*corev1.Pod)
		return ok && okOld && isTerminating(pod) != isTerminating(old)
	}
	return false
}

// podCount is the name of the count of pods in any phase. The name "pods" counts only pods that
// have not ended.
const podCount corev1.ResourceName = "count/pods"

const (
	requestsPrefix = "requests."
	limitsPrefix   = "limits."
	// implicitPrefix begins the extended resource that each DeviceClass has without saying so.
	implicitPrefix = "deviceclass.resource.kubernetes.io/"
)

func (podEvaluator) tracks(name corev1.ResourceName, _ []*resourcev1.DeviceClass) bool {
	switch name {
	case podCount, corev1.ResourcePods,
		corev1.ResourceCPU, corev1.ResourceRequestsCPU, corev1.ResourceLimitsCPU,
		corev1.ResourceMemory, corev1.ResourceRequestsMemory, corev1.ResourceLimitsMemory,
		corev1.ResourceEphemeralStorage, corev1.ResourceRequestsEphemeralStorage,
		corev1.ResourceLimitsEphemeralStorage:
		return true
	}
	of, requests := strings.CutPrefix(string(name), requestsPrefix)
	return corev1.IsHugePages(corev1.ResourceName(of)) || requests && isExtendedRequest(name)
}

// isExtendedRequest reports whether a name that begins with "requests." is about an extended
// resource. Quotas limit extended resources only under that prefix.
func isExtendedRequest(name corev1.ResourceName) bool {
	return !corev1.IsNativeResource(name) || strings.HasPrefix(string(name), requestsPrefix+implicitPrefix)
}

func (podEvaluator) usage(obj meta.Typed, s Surroundings) Amounts {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil
	}
	if hasEnded(pod, s.Now) {
		return Amounts{{podCount, one}}
	}
	list := make(Amounts, 0, 12)
	list = append(list, Amount{podCount, one}, Amount{corev1.ResourcePods, one})
	t := newTally(pod)
	for _, x := range t.sumRequests() {
		switch name := x.Name; {
		case name == corev1.ResourceCPU:
			list = append(list, x, Amount{corev1.ResourceRequestsCPU, x.Quantity})
		case name == corev1.ResourceMemory:
			list = append(list, x, Amount{corev1.ResourceRequestsMemory, x.Quantity})
		case name == corev1.ResourceEphemeralStorage:
			list = append(list, x, Amount{corev1.ResourceRequestsEphemeralStorage, x.Quantity})
		case corev1.IsHugePages(name):
			list = append(list, x, Amount{requestsPrefix + name, x.Quantity})
		case corev1.IsExtendedResource(name), strings.HasPrefix(string(name), implicitPrefix):
			list = append(list, Amount{requestsPrefix + name, x.Quantity})
		}
	}
	for _, x := range t.sumLimits() {
		switch x.Name {
		case corev1.ResourceCPU:
			list = append(list, Amount{corev1.ResourceLimitsCPU, x.Quantity})
		case corev1.ResourceMemory:
			list = append(list, Amount{corev1.ResourceLimitsMemory, x.Quantity})
		case corev1.ResourceEphemeralStorage:
			list = append(list, Amount{corev1.ResourceLimitsEphemeralStorage, x.Quantity})
		}
	}
	return list
}

// hasEnded reports whether a pod no longer uses compute resources: it has ended, or it is being
// deleted and should have ended. The node of such a pod may be lost, and the pod must not prevent
// its replacement.
func hasEnded(pod *corev1.Pod, now time.Time) bool {
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return true
	}
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil {
		return false
	}
	grace := time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	return now.After(pod.DeletionTimestamp.Add(grace))
}

// isTerminating reports whether a pod is in the scope Terminating: it has a deadline.
func isTerminating(pod *corev1.Pod) bool {
	deadline := pod.Spec.ActiveDeadlineSeconds
	return deadline != nil && *deadline >= 0
}

func (podEvaluator) inScope(r *corev1.ScopedResourceSelectorRequirement, obj meta.Typed) (bool, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return false, nil
	}
	switch r.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return isTerminating(pod), nil
	case corev1.ResourceQuotaScopeNotTerminating:
		return !isTerminating(pod), nil
	case corev1.ResourceQuotaScopeBestEffort:
		return pod.IsBestEffort(), nil
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !pod.IsBestEffort(), nil
	case corev1.ResourceQuotaScopePriorityClass:
		if pod.Spec.PriorityClassName == "" {
			return compare(r)
		}
		return compare(r, pod.Spec.PriorityClassName)
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return crossesNamespaces(pod.Spec.Affinity), nil
	}
	return false, nil
}

// crossesNamespaces reports whether the affinity or anti-affinity of a pod is about pods of other
// namespaces.
func crossesNamespaces(affinity *corev1.Affinity) bool {
	if affinity == nil {
		return false
	}
	if near := affinity.PodAffinity; near != nil && termsCross(near.RequiredDuringSchedulingIgnoredDuringExecution,
		near.PreferredDuringSchedulingIgnoredDuringExecution) {
		return true
	}
	far := affinity.PodAntiAffinity
	return far != nil && termsCross(far.RequiredDuringSchedulingIgnoredDuringExecution,
		far.PreferredDuringSchedulingIgnoredDuringExecution)
}

func termsCross(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) bool {
	crosses := func(t *corev1.PodAffinityTerm) bool { return len(t.Namespaces) > 0 || t.NamespaceSelector != nil }
	for i := range required {
		if crosses(&required[i]) {
			return true
		}
	}
	for i := range preferred {
		if crosses(&preferred[i].PodAffinityTerm) {
			return true
		}
	}
	return false
}

// mandatory are the names for which each container must state an amount if a quota limits them. The
// list is final: Kubernetes adds no other resource to it.
var mandatory = []corev1.ResourceName{
	corev1.ResourceCPU, corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory,
	corev1.ResourceMemory, corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory,
} // sorted, as the message has them

// lacks returns an error if a container has no amount for a mandatory name. A pod with amounts of
// its own need not have amounts in its containers.
func (podEvaluator) lacks(hard corev1.ResourceList, obj meta.Typed) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok || hasPodResources(pod.Spec.Resources) {
		return nil
	}
	var missing []string
	for _, name := range mandatory {
		if _, limited := hard[name]; !limited {
			continue
		}
		var containers []string
		for _, list := range [...][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range list {
				if !gives(&list[i].Resources, name) {
					containers = append(containers, list[i].Name)
				}
			}
		}
		if len(containers) > 0 {
			slices.Sort(containers)
			missing = append(missing, fmt.Sprintf("%s for: %s", name, strings.Join(slices.Compact(containers), ",")))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("must specify %s", strings.Join(missing, "; "))
}

// gives reports whether a container states an amount for a mandatory name.
func gives(r *corev1.ResourceRequirements, name corev1.ResourceName) bool {
	of, limit := strings.CutPrefix(string(name), limitsPrefix)
	list := r.Limits
	if !limit {
		of, list = strings.TrimPrefix(of, requestsPrefix), r.Requests
	}
	_, ok := list[corev1.ResourceName(of)]
	return ok
}

// hasPodResources reports whether a pod has an amount for the pod as a whole.
func hasPodResources(r *corev1.ResourceRequirements) bool {
	if r == nil {
		return false
	}
	for _, list := range [...]corev1.ResourceList{r.Requests, r.Limits} {
		for name := range list {
			if corev1.IsPodLevelResource(name) {
				return true
			}
		}
	}
	return false
}
