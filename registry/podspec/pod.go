package podspec

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Rules are the rules for pods and pod templates, as a server is set up.
type Rules struct {
	// AllowPrivileged lets containers be privileged.
	AllowPrivileged bool
}

// Template returns what is wrong with a pod template at p: its metadata, of which labels and annotations are used, and its
// spec.
func (r Rules) Template(p *field.Path, m *meta.ObjectMeta, spec *corev1.PodSpec) field.ErrorList {
	errs := meta.ValidateLabels(m.Labels, p.Child("labels"))
	errs = append(errs, meta.ValidateAnnotations(m.Annotations, p.Child("annotations"))...)
	errs = append(errs, checkAnnotations(p.Child("annotations"), m.Annotations, spec)...)
	c := &specCheck{Rules: r, spec: spec}
	errs = append(errs, c.check(p.Child("spec"))...)
	errs = append(errs, Profiles(p.Child("spec"), m.Annotations, spec)...)
	if len(spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(p.Child("spec", "ephemeralContainers"), "ephemeral containers not allowed in pod template"))
	}
	return errs
}

// Pod returns what is wrong with a pod, new or changed, its metadata apart.
func (r Rules) Pod(pod *corev1.Pod) field.ErrorList {
	p := field.NewPath("spec")
	errs := checkAnnotations(field.NewPath("metadata", "annotations"), pod.Annotations, &pod.Spec)
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
				errs = append(errs, field.Forbidden(p.Index(i).Child("projected", "sources").Index(j).Child("serviceAccountToken"),
					"must not be specified when serviceAccountName is not set"))
			}
		}
	}
	return errs
}
