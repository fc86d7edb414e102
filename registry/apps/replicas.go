package apps

import (
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// notLess reports a count of collisions that has fallen: names that are taken would be tried again.
func notLess(p *field.Path, count, old *int32) field.ErrorList {
	if old == nil || count != nil && *count >= *old {
		return nil
	}
	return field.ErrorList{field.Invalid(p.Child("collisionCount"), scheme.OrZero(count), "cannot be decremented")}
}

// checkReplicaTemplate checks what deployments and replica sets, which messages call by the same
// names, have in common: the selector at spec.selector, and the template that it must match.
func checkReplicaTemplate(rules podspec.Rules, p *field.Path, s *meta.LabelSelector,
	t *corev1.PodTemplateSpec) field.ErrorList {
	errs := podspec.Selector(p.Child("selector"), s, "deployment")
	selector, err := meta.SelectorFrom(s)
	if err != nil {
		return append(errs, field.Invalid(p.Child("selector"), govalue.JSON(s), "invalid label selector"))
	}
	p = p.Child("template")
	errs = append(errs, podspec.Selected(p, t, selector)...)
	errs = append(errs, rules.Template(p, t)...)
	return append(errs, podspec.Lasting(p, t, "ReplicaSet")...)
}

// templateWarnings are those about the template of a spec.
func templateWarnings(t *corev1.PodTemplateSpec) []string {
	return podspec.TemplateWarnings(field.NewPath("spec", "template"), t)
}
