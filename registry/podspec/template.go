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

// Template returns what is wrong with a pod template at p: its labels, annotations and spec. The
// rest of its metadata, such as a name, is ignored by controllers and therefore not checked.
func (r Rules) Template(p *field.Path, t *corev1.PodTemplateSpec) field.ErrorList {
	errs := r.TemplateMeta(p, t)
	c := &specCheck{Rules: r, spec: &t.Spec}
	errs = append(errs, c.check(p.Child("spec"))...)
	errs = append(errs, ProfileAnnotations(p.Child("spec"), t.Annotations, &t.Spec)...)
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

// SelectorMatchesTemplate returns what is wrong with the template at p of an owner whose label
// selector is s: the labels of the template must match, or the owner would never find its pods and
// create more without end. A selector that is empty or invalid has been reported by Selector
// already.
func SelectorMatchesTemplate(p *field.Path, t *corev1.PodTemplateSpec, s meta.LabelRequirements) field.ErrorList {
	if s.Empty() || s.Matches(meta.Set(t.Labels)) {
		return nil
	}
	return field.ErrorList{field.Invalid(p.Child("metadata", "labels"), t.Labels,
		"`selector` does not match template `labels`")}
}

// LongRunningTemplate returns what is wrong with the template at p of a kind whose pods run until
// their owner deletes them: restartPolicy must be Always and activeDeadlineSeconds unset. kind is
// the name that the message shows.
func LongRunningTemplate(p *field.Path, t *corev1.PodTemplateSpec, kind string) field.ErrorList {
	p = p.Child("spec")
	errs := check.Supported(p.Child("restartPolicy"), t.Spec.RestartPolicy, corev1.RestartPolicyAlways)
	if t.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(p.Child("activeDeadlineSeconds"),
			"activeDeadlineSeconds in "+kind+" is not Supported"))
	}
	return errs
}

// Selector returns what is wrong with the label selector at p of an owner of pods. The selector
// must be set and must not be empty. kind is the name of the kind in lower case, for the message.
func Selector(p *field.Path, s *meta.LabelSelector, kind string) field.ErrorList {
	if s == nil {
		return field.ErrorList{field.Required(p, "")}
	}
	return append(meta.ValidateLabelSelector(s, p), SelectorNotEmpty(p, s, kind)...)
}

// SelectorNotEmpty refuses an empty selector, which would select every pod in the namespace. A nil
// selector passes: Selector reports it as required. kind is the name of the kind in lower case.
func SelectorNotEmpty(p *field.Path, s *meta.LabelSelector, kind string) field.ErrorList {
	if s == nil || len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(p, govalue.JSON(s), "empty selector is invalid for "+kind)}
}

// DropDisabledTemplate does what DropDisabled does for a kind that contains a pod template. in
// returns the template inside an object, nil if the object has none. old is nil on create.
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

// TemplateWarnings returns the Warnings about the template at p, none if t is nil.
func TemplateWarnings(p *field.Path, t *corev1.PodTemplateSpec) []string {
	if t == nil {
		return nil
	}
	return Warnings(p, &t.Spec, &t.ObjectMeta)
}

// NameWarnings warns if the name of an owner of pods is no DNS label. Pods get names made from it,
// and a pod's name is its host name, which has to be a DNS label.
func NameWarnings(name string) []string {
	msgs := names.IsDNS1123Label(name)
	if len(msgs) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "+
		"a DNS label is recommended: %v", msgs)}
}

// Columns that the tables of the kinds that own pods have. They are shown with kubectl -o wide only
// (priority 1). ContainerCells makes the cells of ContainersColumn and ImagesColumn.
var (
	ContainersColumn = registry.Column("Containers", "Names of the containers of each pod.", 1)
	ImagesColumn     = registry.Column("Images", "Images of the containers of each pod.", 1)
	SelectorColumn   = registry.Column("Selector", "Labels by which the owner finds its pods.", 1)
)

// ContainerCells returns the names and the images of containers as tables show them, joined by
// commas.
func ContainerCells(list []corev1.Container) (named, images string) {
	n, i := make([]string, len(list)), make([]string, len(list))
	for at := range list {
		n[at], i[at] = list[at].Name, list[at].Image
	}
	return strings.Join(n, ","), strings.Join(i, ",")
}
