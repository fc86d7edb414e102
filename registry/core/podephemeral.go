package core

import (
	"fmt"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// ephemeralContainers declares the subresource pods/ephemeralcontainers, which adds containers to a
// running pod for debugging (KEP-277). The write can change nothing else of the pod.
func ephemeralContainers(rules podspec.Rules) registry.SubresourceOf[*corev1.Pod] {
	return registry.SubresourceOf[*corev1.Pod]{
		Name:     "ephemeralcontainers",
		Metadata: registry.MetaWhole,
		Prepare: func(_ *registry.Request, pod, old *corev1.Pod) {
			list := pod.Spec.EphemeralContainers
			restorePod(pod, old)
			pod.Spec.EphemeralContainers = list
			podspec.DropDisabled(&pod.Spec, &old.Spec)
		},
		Validate: func(pod, old *corev1.Pod) field.ErrorList {
			return checkEphemeralUpdate(rules.After(&old.Spec, old.Annotations), pod, old)
		},
	}
}

// restorePod makes spec and metadata of pod those of old, except what identifies the write: name,
// UID, resourceVersion and managed fields. The slices and maps are copies.
func restorePod(pod, old *corev1.Pod) {
	pod.Spec = scheme.DeepCopy(old.Spec)
	m, was := &pod.ObjectMeta, scheme.DeepCopy(old.ObjectMeta)
	m.DeletionTimestamp, m.Labels, m.Annotations = was.DeletionTimestamp, was.Labels, was.Annotations
	m.Finalizers, m.OwnerReferences = was.Finalizers, was.OwnerReferences
}

// checkEphemeralUpdate checks ephemeral containers: a client can add them, but never remove or
// change them, because the kubelet may have started them.
func checkEphemeralUpdate(rules podspec.Rules, pod, old *corev1.Pod) field.ErrorList {
	if isMirror(old) {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods do not support ephemeral containers")}
	}
	errs := rules.Pod(pod)
	errs = append(errs, podAnnotationsUpdate(rules, pod, old)...)
	p := field.NewPath("spec", "ephemeralContainers")
	byName := make(map[string]*corev1.EphemeralContainer, len(pod.Spec.EphemeralContainers))
	for i := range pod.Spec.EphemeralContainers {
		ec := &pod.Spec.EphemeralContainers[i]
		byName[ec.Name] = ec
	}
	for _, was := range field.Each(&errs, old.Spec.EphemeralContainers) {
		if now := byName[was.Name]; now == nil {
			errs = append(errs, field.Forbidden(p,
				fmt.Sprintf("existing ephemeral containers %q may not be removed\n", was.Name)))
		} else if !scheme.Equal(now, was) {
			errs = append(errs, field.Forbidden(p,
				fmt.Sprintf("existing ephemeral containers %q may not be changed\n%s",
					was.Name, govalue.Diff(*was, *now))))
		}
	}
	return errs
}

// isMirror reports whether a pod is the mirror of a static pod. The kubelet runs a static pod from
// a local manifest, so a change of its mirror in the API has no effect.
func isMirror(pod *corev1.Pod) bool {
	_, ok := pod.Annotations[corev1.MirrorPodAnnotation]
	return ok
}
