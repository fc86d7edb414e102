package apps

import (
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// checkCollisionCount refuses a collisionCount that is lower than the old one. The controller
// hashes the count into the names of the objects that it creates, and increases the count when such
// a name is taken; with a lower count it would try taken names again.
func checkCollisionCount(p *field.Path, count, old *int32) field.ErrorList {
	if old == nil || count != nil && *count >= *old {
		return nil
	}
	return field.ErrorList{field.Invalid(p.Child("collisionCount"), scheme.OrZero(count), "cannot be decremented")}
}

// checkReplicaTemplate checks the selector and the template in a spec at p of a deployment or
// replica set. In both cases the messages say "deployment" about the selector and "ReplicaSet"
// about the template, as in kube-apiserver. If the selector is invalid, the template is not
// checked.
func checkReplicaTemplate(rules podspec.Rules, p *field.Path, s *meta.LabelSelector,
	t *corev1.PodTemplateSpec) field.ErrorList {
	errs := podspec.Selector(p.Child("selector"), s, "deployment")
	selector, err := meta.SelectorFrom(s)
	if err != nil {
		return append(errs, field.Invalid(p.Child("selector"), govalue.JSON(s), "invalid label selector"))
	}
	p = p.Child("template")
	errs = append(errs, podspec.SelectorMatchesTemplate(p, t, selector)...)
	errs = append(errs, rules.Template(p, t)...)
	return append(errs, podspec.LongRunningTemplate(p, t, "ReplicaSet")...)
}

// templateWarnings returns the warnings about the template of an object, which is at spec.template.
func templateWarnings(t *corev1.PodTemplateSpec) []string {
	return podspec.TemplateWarnings(field.NewPath("spec", "template"), t)
}
