package batch

import (
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// checkSpecUpdate checks what of a spec has changed.
func checkSpecUpdate(p *field.Path, j, old *batchv1.Job) field.ErrorList {
	spec, was := &j.Spec, &old.Spec
	errs := checkCompletionsUpdate(p.Child("completions"), spec, was)
	errs = append(errs, check.Immutable(p.Child("selector"), spec.Selector, was.Selector)...)
	errs = append(errs, checkTemplateUpdate(p, &spec.Template, old)...)
	errs = append(errs, check.Immutable(p.Child("completionMode"), spec.CompletionMode, was.CompletionMode)...)
	errs = append(errs, check.Immutable(p.Child("podFailurePolicy"), spec.PodFailurePolicy, was.PodFailurePolicy)...)
	errs = append(errs, check.Immutable(p.Child("backoffLimitPerIndex"), spec.BackoffLimitPerIndex,
		was.BackoffLimitPerIndex)...)
	errs = append(errs, check.Immutable(p.Child("managedBy"), spec.ManagedBy, was.ManagedBy)...)
	return append(errs, check.Immutable(p.Child("successPolicy"), spec.SuccessPolicy, was.SuccessPolicy)...)
}

// checkCompletionsUpdate lets the completions of an indexed job change together with its
// parallelism.
func checkCompletionsUpdate(p *field.Path, spec, old *batchv1.JobSpec) field.ErrorList {
	if !isIndexed(spec) {
		return check.Immutable(p, spec.Completions, old.Completions)
	}
	if spec.Completions == nil || scheme.Equal(spec.Completions, old.Completions) ||
		*spec.Completions == scheme.OrZero(spec.Parallelism) {
		return nil
	}
	return field.ErrorList{field.Invalid(p, *spec.Completions, "can only be modified in tandem with spec.parallelism")}
}

// checkTemplateUpdate refuses another template. While a job is suspended and none of its pods is
// active, what the pods ask of nodes, their resources, labels and annotations may change.
func checkTemplateUpdate(p *field.Path, t *corev1.PodTemplateSpec, old *batchv1.Job) field.ErrorList {
	if !rests(old) {
		return check.Immutable(p.Child("template"), t, &old.Spec.Template)
	}
	allowed := scheme.DeepCopy(&old.Spec.Template.Spec)
	takeScheduling(allowed, &t.Spec)
	takeResources(allowed.Containers, t.Spec.Containers)
	takeResources(allowed.InitContainers, t.Spec.InitContainers)
	if scheme.Equal(&t.Spec, allowed) {
		return nil
	}
	return field.ErrorList{field.Invalid(p.Child("template.spec"), govalue.JSON(&t.Spec), "field is immutable")}
}

// rests reports whether a job is suspended, and has no active pods or never had any.
func rests(j *batchv1.Job) bool {
	return scheme.OrZero(j.Spec.Suspend) && (j.Status.StartTime == nil || stateOf(j).suspended) && j.Status.Active == 0
}

// takeScheduling takes over from next what pods ask of nodes.
func takeScheduling(spec, next *corev1.PodSpec) {
	spec.NodeSelector, spec.Tolerations, spec.SchedulingGates =
		next.NodeSelector, next.Tolerations, next.SchedulingGates
	var nodes *corev1.NodeAffinity
	if next.Affinity != nil {
		nodes = next.Affinity.NodeAffinity
		scheme.SetPointer(&spec.Affinity, corev1.Affinity{})
	}
	if spec.Affinity != nil {
		spec.Affinity.NodeAffinity = nodes
		if next.Affinity == nil && *spec.Affinity == (corev1.Affinity{}) {
			spec.Affinity = nil
		}
	}
}

// takeResources takes over from next the resources of containers, if they are as many, by place and
// name.
func takeResources(list, next []corev1.Container) {
	if len(list) != len(next) {
		return
	}
	for i := range list {
		if list[i].Name == next[i].Name {
			list[i].Resources = next[i].Resources
		}
	}
}
