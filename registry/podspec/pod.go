package podspec

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// Rules are the rules for pods and pod templates as one server is set up. Its zero value forbids
// privileged containers and treats each spec as new.
type Rules struct {
	// AllowPrivileged lets containers be privileged, and Windows pods be host processes
	// (--allow-privileged).
	AllowPrivileged bool

	// was is the spec before an update, nil for a new object. Rules that became stricter over time
	// let a spec keep what was broken in it.
	was *before
}

// After returns rules for an update of an object whose old spec and annotations are given. The
// result caches facts about the old spec without a lock: it must not be shared between goroutines.
func (r Rules) After(spec *corev1.PodSpec, annotations map[string]string) Rules {
	r.was = &before{spec: spec, annotations: annotations}
	return r
}

// AfterTemplate returns rules for an update of an object whose old template is t. If t is nil,
// there was no template, and the rules are those for a new one.
func (r Rules) AfterTemplate(t *corev1.PodTemplateSpec) Rules {
	if t == nil {
		return r
	}
	return r.After(&t.Spec, t.Annotations)
}

// Pod returns what is wrong with a pod, new or updated. It does not check metadata other than
// annotations, nor the status. The rules for a pod are stricter than those for a template: a
// template may leave out fields that defaults and admission set before a pod is validated.
func (r Rules) Pod(pod *corev1.Pod) field.ErrorList {
	p := field.NewPath("spec")
	errs := r.Annotations(field.NewPath("metadata", "annotations"), pod.Annotations, &pod.Spec)
	_, static := pod.Annotations[corev1.MirrorPodAnnotation]
	c := &specCheck{Rules: r, spec: &pod.Spec, pod: true, podName: pod.Name, static: static}
	errs = append(errs, c.check(p)...)
	if pod.Spec.ServiceAccountName == "" {
		errs = append(errs, forbidTokens(p.Child("volumes"), pod.Spec.Volumes)...)
	}
	errs = append(errs, checkTrimmedImages(p.Child("containers"), pod.Spec.Containers)...)
	return append(errs, checkTrimmedImages(p.Child("initContainers"), pod.Spec.InitContainers)...)
}

// forbidTokens forbids projected service account tokens in a pod without a service account: the
// kubelet could not request them. Admission sets the serviceAccountName of all pods but mirror
// pods.
func forbidTokens(p *field.Path, volumes []corev1.Volume) field.ErrorList {
	var errs field.ErrorList
	for i, volume := range field.Each(&errs, volumes) {
		if volume.Projected == nil {
			continue
		}
		for j, source := range field.Each(&errs, volume.Projected.Sources) {
			if source.ServiceAccountToken != nil {
				errs = append(errs, field.Forbidden(
					p.Index(i).Child("projected", "sources").Index(j).Child("serviceAccountToken"),
					"must not be specified when serviceAccountName is not set"))
			}
		}
	}
	return errs
}
