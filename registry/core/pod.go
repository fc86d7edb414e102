package core

import (
	"fmt"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// pods declares pods. Most of a pod's spec is fixed once the pod exists: see podupdate.go. The
// subresources ephemeralcontainers and resize change parts of the spec that an update of the pod
// itself may not change.
func pods(c Config) registry.Resource {
	rules := c.Rules
	return registry.Typed(registry.ResourceOf[*corev1.Pod]{
		GroupResource: meta.GroupResource{Resource: "pods"},
		Kind:          "Pod", ShortNames: []string{"po"}, Categories: []string{"all"},
		Namespaced: true,
		Strategy: registry.StrategyOf[*corev1.Pod]{
			Metadata:                 registry.MetaWhole,
			Prepare:                  preparePod,
			Validate:                 func(pod, old *corev1.Pod) field.ErrorList { return checkPod(rules, pod, old) },
			Warnings:                 podWarnings,
			AllowUnconditionalUpdate: true,
			Graceful:                 gracePod,
		},
		Generation: []string{"spec"},
		Status: &registry.StatusOf[*corev1.Pod]{
			OnCreate: true, Prepare: preparePodStatus, Validate: checkPodStatus, Warnings: podStatusWarnings,
			ResetFields: []string{"spec", "metadata.deletionTimestamp", "metadata.ownerReferences"},
		},
		Subresources: []registry.SubresourceOf[*corev1.Pod]{
			ephemeralContainers(rules), podResize(rules), podBinding(c.Stores), podEviction(c.Stores),
		},
		// Selectors may name status.podIPs as well (scheme/api/corev1). It has no value here, as in
		// Kubernetes, so it selects only by "".
		Fields: []registry.FieldValue{
			{Label: "spec.nodeName", Path: "spec.nodeName", Groups: true},
			{Label: "spec.restartPolicy", Path: "spec.restartPolicy"},
			{Label: "spec.schedulerName", Path: "spec.schedulerName"},
			{Label: "spec.serviceAccountName", Path: "spec.serviceAccountName"},
			{Label: "spec.hostNetwork", Path: "spec.hostNetwork", Default: "false"},
			{Label: "status.phase", Path: "status.phase"},
			{Label: "status.podIP", Path: "status.podIP"},
			{Label: "status.nominatedNodeName", Path: "status.nominatedNodeName"},
		},
		Table:          podTable,
		ReturnsDeleted: true,
	})
}

// preparePod gives a new pod the status Pending and completes its spec. On an update it only drops
// the fields of features that are not served.
func preparePod(r *registry.Request, pod, old *corev1.Pod) {
	if old != nil {
		podspec.DropDisabled(&pod.Spec, &old.Spec)
		return
	}
	// Of the status that the client sends, only the QoS class counts, as in Kubernetes.
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: pod.Status.QOSClass}
	if pod.Status.QOSClass == "" {
		pod.Status.QOSClass = qosClass(&pod.Spec)
	}
	podspec.DropDisabled(&pod.Spec, nil)
	if len(pod.Spec.SchedulingGates) > 0 {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "SchedulingGated",
			Message: "Scheduling is blocked due to non-empty scheduling gates", LastTransitionTime: meta.NewTime(r.Now),
		}}
	}
	podspec.MergeMatchKeys(pod)
	podspec.AppArmorFields(pod, r.Warn)
}

// podWarnings warns on create only: controllers, not people, update pods.
func podWarnings(pod, old *corev1.Pod) []string {
	if old != nil {
		return nil
	}
	var warnings []string
	if msgs := names.IsDNS1123Label(pod.Name); len(msgs) > 0 {
		warnings = append(warnings,
			fmt.Sprintf("metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; "+
				"a DNS label is recommended: %v", msgs))
	}
	return append(warnings, podspec.Warnings(nil, &pod.Spec, &pod.ObjectMeta)...)
}

// gracePod decides the grace period of a deletion, in seconds: the client's, else the pod's. The
// period is 0 for a pod that has no node or whose containers have ended, because no kubelet would
// confirm the end of such a pod. A negative period becomes 1. gracePod always returns true, because
// each deletion of a pod has a grace period, even if it is 0.
func gracePod(pod *corev1.Pod, opts *meta.DeleteOptions) bool {
	var period int64
	switch {
	case opts.GracePeriodSeconds != nil:
		period = *opts.GracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		period = *pod.Spec.TerminationGracePeriodSeconds
	}
	done := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	if pod.Spec.NodeName == "" || done {
		period = 0
	}
	if period < 0 {
		period = 1
	}
	opts.GracePeriodSeconds = &period
	return true
}

// checkPod checks a new pod, or a changed pod and its change.
func checkPod(rules podspec.Rules, pod, old *corev1.Pod) field.ErrorList {
	if old != nil {
		rules = rules.After(&old.Spec, old.Annotations)
		return append(rules.Pod(pod), checkPodUpdate(rules, pod, old)...)
	}
	p := field.NewPath("spec")
	errs := rules.Pod(pod)
	if len(pod.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(p.Child("ephemeralContainers"), "cannot be set on create"))
	}
	if pod.Spec.NodeName != "" && len(pod.Spec.SchedulingGates) > 0 {
		errs = append(errs, field.Forbidden(p.Child("nodeName"),
			"cannot be set until all schedulingGates have been cleared"))
	}
	return append(errs, podspec.ProfileAnnotations(p, pod.Annotations, &pod.Spec)...)
}
