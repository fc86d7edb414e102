package core

import (
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Annotations that the server gives a meaning.
const (
	mirrorAnnotation       = "kubernetes.io/config.mirror"
	deletionCostAnnotation = "controller.kubernetes.io/pod-deletion-cost"
	appArmorPrefix         = "container.apparmor.security.beta.kubernetes.io/"
)

// pods makes the resource pods. The spec of a pod is mostly fixed once it exists: see podupdate.go.
func pods(opts Options) registry.Resource {
	check := PodCheck{Pod: true, AllowPrivileged: opts.AllowPrivileged}
	return registry.Typed(registry.ResourceOf[*corev1.Pod]{
		GroupResource: meta.GroupResource{Resource: "pods"},
		Kind:          "Pod", Singular: "pod", ShortNames: []string{"po"}, Categories: []string{"all"},
		Namespaced: true,
		Strategy: registry.StrategyOf[*corev1.Pod]{
			Metadata:       registry.MetaWhole,
			Prepare:        func(_ *registry.Request, pod *corev1.Pod) { preparePod(pod) },
			PrepareUpdate:  func(_ *registry.Request, pod, old *corev1.Pod) { preparePodUpdate(pod, old) },
			Validate:       func(_ *registry.Request, pod *corev1.Pod) field.ErrorList { return check.create(pod) },
			ValidateUpdate: func(_ *registry.Request, pod, old *corev1.Pod) field.ErrorList { return check.update(pod, old) },
			Warnings: func(_ *registry.Request, pod, old *corev1.Pod) []string {
				if old != nil {
					return nil // told when the pod was created; people rarely change pods by hand
				}
				return PodWarnings(nil, &pod.Spec, &pod.ObjectMeta)
			},
			AllowUnconditionalUpdate: true,
			Graceful: func(_ *registry.Request, pod *corev1.Pod, opts *meta.DeleteOptions) bool {
				return gracePod(pod, opts)
			},
		},
		Subresources: []registry.SubresourceOf[*corev1.Pod]{{Name: "status", Owns: []string{"status"}, Strategy: registry.StrategyOf[*corev1.Pod]{
			Metadata:       registry.MetaChange,
			PrepareUpdate:  func(_ *registry.Request, pod, old *corev1.Pod) { preparePodStatus(pod, old) },
			ValidateUpdate: func(_ *registry.Request, pod, old *corev1.Pod) field.ErrorList { return checkPodStatus(pod, old) },
		}}},
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

func preparePod(pod *corev1.Pod) {
	pod.Generation = 1
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: qosClass(&pod.Spec)}
	dropAlpha(&pod.Spec, nil)
	if len(pod.Spec.SchedulingGates) > 0 {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "SchedulingGated",
			Message: "Scheduling is blocked due to non-empty scheduling gates",
		}}
	}
	mergeMatchKeys(pod)
	appArmorFields(pod)
}

func preparePodUpdate(pod, old *corev1.Pod) {
	dropAlpha(&pod.Spec, &old.Spec)
	if !same(pod.Spec, old.Spec) {
		pod.Generation = old.Generation + 1
	}
}

// preparePodStatus keeps owner references, as kubelets are known to send stale ones, and the QoS class if it is left
// out.
func preparePodStatus(pod, old *corev1.Pod) {
	pod.DeletionTimestamp = nil // taken from old by the store
	pod.OwnerReferences = scheme.DeepCopy(old.OwnerReferences)
	if pod.Status.QOSClass == "" {
		pod.Status.QOSClass = old.Status.QOSClass
	}
}

// dropAlpha takes out fields of features that are not served, unless the old object uses them.
func dropAlpha(spec, old *corev1.PodSpec) {
	if old == nil || old.SchedulingGroup == nil {
		spec.SchedulingGroup = nil
	}
	if old == nil || !signals(old) {
		for _, ctr := range containers(nil, spec) {
			if l := ctr.Lifecycle; l != nil && l.StopSignal != nil {
				l.StopSignal = nil
				if l.PreStop == nil && l.PostStart == nil {
					ctr.Lifecycle = nil
				}
			}
		}
	}
	for i := range spec.Volumes {
		p := spec.Volumes[i].Projected
		if p == nil {
			continue
		}
		for j := range p.Sources {
			p.Sources[j].ClusterTrustBundle, p.Sources[j].PodCertificate = nil, nil
		}
	}
}

// signals reports whether a container chooses the signal that it is stopped with.
func signals(spec *corev1.PodSpec) bool {
	for _, ctr := range containers(nil, spec) {
		if ctr.Lifecycle != nil && ctr.Lifecycle.StopSignal != nil {
			return true
		}
	}
	return false
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

// create returns what is wrong with a new pod.
func (c PodCheck) create(pod *corev1.Pod) field.ErrorList {
	p := field.NewPath("spec")
	errs := c.pod(pod)
	if len(pod.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(p.Child("ephemeralContainers"), "cannot be set on create"))
	}
	if pod.Spec.NodeName != "" && len(pod.Spec.SchedulingGates) > 0 {
		errs = append(errs, field.Forbidden(p.Child("nodeName"), "cannot be set until all schedulingGates have been cleared"))
	}
	return errs
}

// pod returns what is wrong with a pod, new or changed.
func (c PodCheck) pod(pod *corev1.Pod) field.ErrorList {
	p := field.NewPath("spec")
	errs := podAnnotations(field.NewPath("metadata", "annotations"), pod)
	errs = append(errs, c.Spec(p, &pod.Spec, &pod.ObjectMeta)...)
	if pod.Spec.ServiceAccountName == "" {
		for i, volume := range field.Each(&errs, pod.Spec.Volumes) {
			if volume.Projected == nil {
				continue
			}
			for j, source := range field.Each(&errs, volume.Projected.Sources) {
				if source.ServiceAccountToken != nil {
					at := p.Child("volumes").Index(i).Child("projected", "sources").Index(j)
					errs = append(errs, field.Forbidden(at.Child("serviceAccountToken"),
						"must not be specified when serviceAccountName is not set"))
				}
			}
		}
	}
	errs = append(errs, untrimmedImages(p, "containers", pod.Spec.Containers)...)
	return append(errs, untrimmedImages(p, "initContainers", pod.Spec.InitContainers)...)
}

func podAnnotations(p *field.Path, pod *corev1.Pod) field.ErrorList {
	var errs field.ErrorList
	if value, ok := pod.Annotations[mirrorAnnotation]; ok && pod.Spec.NodeName == "" {
		errs = append(errs, field.Invalid(p.Key(mirrorAnnotation), value, "must set spec.nodeName if mirror pod annotation is set"))
	}
	if cost, ok := pod.Annotations[deletionCostAnnotation]; ok && !validDeletionCost(cost) {
		errs = append(errs, field.Invalid(p.Key(deletionCostAnnotation), cost, "must be a 32bit integer"))
	}
	return errs
}

// validDeletionCost reports whether a cost is an integer without plus sign and leading zeros.
func validDeletionCost(cost string) bool {
	if strings.HasPrefix(cost, "+") || strings.HasPrefix(cost, "0") && cost != "0" {
		return false
	}
	_, err := strconv.ParseInt(cost, 10, 32)
	return err == nil
}

// appArmorFields makes fields of the annotations that came before them.
func appArmorFields(pod *corev1.Pod) {
	if !hasPrefixedKey(pod.Annotations, appArmorPrefix) {
		return
	}
	var podProfile *corev1.AppArmorProfile
	if pod.Spec.SecurityContext != nil {
		podProfile = pod.Spec.SecurityContext.AppArmorProfile
	}
	for _, ctr := range containers(nil, &pod.Spec) {
		annotation, ok := pod.Annotations[appArmorPrefix+ctr.Name]
		if !ok || ctr.SecurityContext != nil && ctr.SecurityContext.AppArmorProfile != nil {
			continue
		}
		profile := appArmorProfile(annotation)
		if profile == nil || podProfile != nil && same(profile, podProfile) {
			continue
		}
		if ctr.SecurityContext == nil {
			ctr.SecurityContext = &corev1.SecurityContext{}
		}
		ctr.SecurityContext.AppArmorProfile = profile
	}
}

func hasPrefixedKey(m map[string]string, prefix string) bool {
	for key := range m {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

func appArmorProfile(annotation string) *corev1.AppArmorProfile {
	switch annotation {
	case "unconfined":
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	case "runtime/default":
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	}
	if name, ok := strings.CutPrefix(annotation, "localhost/"); ok && name != "" {
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: &name}
	}
	return nil
}
