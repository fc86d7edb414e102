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

// pods makes the resource pods. The spec of a pod is mostly fixed once it exists: see podupdate.go.
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
			Reset: []string{"spec", "metadata.deletionTimestamp", "metadata.ownerReferences"},
		},
		Subresources: []registry.SubresourceOf[*corev1.Pod]{
			ephemeralContainers(rules), podResize(rules), podBinding(c.Stores), podEviction(c.Stores),
		},
		// status.podIPs is accepted in selectors, too, but as in Kubernetes it is empty.
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

func preparePod(r *registry.Request, pod, old *corev1.Pod) {
	if old != nil {
		podspec.DropDisabled(&pod.Spec, &old.Spec)
		return
	}
	// Of a status that the client brings, the class alone is believed.
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

// podWarnings tells when a pod is created: people rarely change pods by hand.
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

// gracePod gives a pod the time that it asks for, but none to one that no kubelet looks after.
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

// checkPod returns what is wrong with a pod or its change.
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
	return append(errs, podspec.Profiles(p, pod.Annotations, &pod.Spec)...)
}
