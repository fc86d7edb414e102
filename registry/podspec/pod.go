package podspec

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// Rules are the rules for pods and pod templates, as a server is set up.
type Rules struct {
	// AllowPrivileged lets containers be privileged.
	AllowPrivileged bool

	was *before
}

// After returns the rules for what has been a spec with annotations so far.
func (r Rules) After(spec *corev1.PodSpec, annotations map[string]string) Rules {
	r.was = &before{spec: spec, annotations: annotations}
	return r
}

// AfterTemplate is After for what has been a template; nil if there was none.
func (r Rules) AfterTemplate(t *corev1.PodTemplateSpec) Rules {
	if t == nil {
		return r
	}
	return r.After(&t.Spec, t.Annotations)
}

// Pod returns what is wrong with a pod, new or changed, its metadata apart.
func (r Rules) Pod(pod *corev1.Pod) field.ErrorList {
	p := field.NewPath("spec")
	errs := r.Annotations(field.NewPath("metadata", "annotations"), pod.Annotations, &pod.Spec)
	_, static := pod.Annotations[MirrorAnnotation]
	c := &specCheck{Rules: r, spec: &pod.Spec, pod: true, podName: pod.Name, static: static}
	errs = append(errs, c.check(p)...)
	if pod.Spec.ServiceAccountName == "" {
		errs = append(errs, noTokens(p.Child("volumes"), pod.Spec.Volumes)...)
	}
	errs = append(errs, trimmedImages(p.Child("containers"), pod.Spec.Containers)...)
	return append(errs, trimmedImages(p.Child("initContainers"), pod.Spec.InitContainers)...)
}

// noTokens refuses tokens to pods without a service account.
func noTokens(p *field.Path, volumes []corev1.Volume) field.ErrorList {
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
