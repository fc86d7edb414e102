package podspec

import (
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// Template returns what is wrong with a pod template at p: its labels, annotations and spec. Of its
// metadata nothing else is used.
func (r Rules) Template(p *field.Path, t *corev1.PodTemplateSpec) field.ErrorList {
	errs := r.TemplateMeta(p, t)
	c := &specCheck{Rules: r, spec: &t.Spec}
	errs = append(errs, c.check(p.Child("spec"))...)
	errs = append(errs, Profiles(p.Child("spec"), t.Annotations, &t.Spec)...)
	if len(t.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(p.Child("spec", "ephemeralContainers"),
			"ephemeral containers not allowed in pod template"))
	}
	return errs
}

// TemplateMeta returns what is wrong with the labels and annotations of a pod template at p.
func (r Rules) TemplateMeta(p *field.Path, t *corev1.PodTemplateSpec) field.ErrorList {
	errs := meta.ValidateLabels(t.Labels, p.Child("labels"))
	errs = append(errs, meta.ValidateAnnotations(t.Annotations, p.Child("annotations"))...)
	return append(errs, r.Annotations(p.Child("annotations"), t.Annotations, &t.Spec)...)
}

// Selected returns what is wrong with a template at p whose pods the selector of their owner must
// find. A selector that nothing can be found by has been reported already.
func Selected(p *field.Path, t *corev1.PodTemplateSpec, s meta.LabelRequirements) field.ErrorList {
	if s.Empty() || s.Matches(meta.Set(t.Labels)) {
		return nil
	}
	return field.ErrorList{field.Invalid(p.Child("metadata", "labels"), t.Labels,
		"`selector` does not match template `labels`")}
}

// Lasting returns what is wrong with a template at p whose pods are to run until their owner, of a
// kind, deletes them: they always restart, and have no deadline.
func Lasting(p *field.Path, t *corev1.PodTemplateSpec, kind string) field.ErrorList {
	p = p.Child("spec")
	errs := check.Supported(p.Child("restartPolicy"), t.Spec.RestartPolicy, corev1.RestartPolicyAlways)
	if t.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(p.Child("activeDeadlineSeconds"),
			"activeDeadlineSeconds in "+kind+" is not Supported"))
	}
	return errs
}

// Selector returns what is wrong with the selector at p of an owner of pods, of a kind in lower
// case, if it is to be there and to select some.
func Selector(p *field.Path, s *meta.LabelSelector, kind string) field.ErrorList {
	if s == nil {
		return field.ErrorList{field.Required(p, "")}
	}
	return append(meta.ValidateLabelSelector(s, p), NotEmpty(p, s, kind)...)
}

// NotEmpty refuses a selector that selects everything.
func NotEmpty(p *field.Path, s *meta.LabelSelector, kind string) field.ErrorList {
	if s == nil || len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(p, govalue.JSON(s), "empty selector is invalid for "+kind)}
}

// DropDisabledTemplate is DropDisabled for the template that in finds in an object; nil if it has
// none. There may be no old object.
func DropDisabledTemplate[T any](obj, old *T, in func(*T) *corev1.PodTemplateSpec) {
	t := in(obj)
	if t == nil {
		return
	}
	var was *corev1.PodSpec
	if old != nil {
		if template := in(old); template != nil {
			was = &template.Spec
		}
	}
	DropDisabled(&t.Spec, was)
}

// TemplateWarnings are Warnings for the template at p, if there is one.
func TemplateWarnings(p *field.Path, t *corev1.PodTemplateSpec) []string {
	if t == nil {
		return nil
	}
	return Warnings(p, &t.Spec, &t.ObjectMeta)
}

// NameWarnings tell of the name of an owner of pods that is too much for the names of pods made
// from it.
func NameWarnings(name string) []string {
	msgs := names.IsDNS1123Label(name)
	if len(msgs) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "+
		"a DNS label is recommended: %v", msgs)}
}

// Columns of kinds that make pods from a template. ContainerCells makes the cells of the first two.
var (
	ContainersColumn = registry.Column("Containers", "Names of the containers of each pod.", 1)
	ImagesColumn     = registry.Column("Images", "Images of the containers of each pod.", 1)
	SelectorColumn   = registry.Column("Selector", "Labels by which the pods are found.", 1)
)

// ContainerCells are the names and the images of containers, as tables show them.
func ContainerCells(list []corev1.Container) (named, images string) {
	n, i := make([]string, len(list)), make([]string, len(list))
	for at := range list {
		n[at], i[at] = list[at].Name, list[at].Image
	}
	return strings.Join(n, ","), strings.Join(i, ",")
}
