package batch

import (
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// checkJobUpdate checks what changes of a job.
func checkJobUpdate(j, old *batchv1.Job) field.ErrorList {
	spec, was, p := &j.Spec, &old.Spec, field.NewPath("spec")
	errs := checkCompletions(p.Child("completions"), spec, was)
	errs = append(errs, check.Unchanged(p.Child("selector"), spec.Selector, was.Selector)...)
	errs = append(errs, checkTemplateUpdate(p, &spec.Template, old)...)
	errs = append(errs, check.ImmutablePointer(p.Child("completionMode"), spec.CompletionMode, was.CompletionMode)...)
	errs = append(errs, check.Unchanged(p.Child("podFailurePolicy"), spec.PodFailurePolicy, was.PodFailurePolicy)...)
	errs = append(errs, check.ImmutablePointer(p.Child("backoffLimitPerIndex"), spec.BackoffLimitPerIndex, was.BackoffLimitPerIndex)...)
	errs = append(errs, check.ImmutablePointer(p.Child("managedBy"), spec.ManagedBy, was.ManagedBy)...)
	return append(errs, check.Unchanged(p.Child("successPolicy"), spec.SuccessPolicy, was.SuccessPolicy)...)
}

// checkCompletions lets the number of completions change of indexed jobs only, whose parallelism changes with it.
func checkCompletions(p *field.Path, spec, was *batchv1.JobSpec) field.ErrorList {
	switch {
	case !isIndexed(spec):
		return check.ImmutablePointer(p, spec.Completions, was.Completions)
	case spec.Completions == nil || check.SamePointer(spec.Completions, was.Completions):
	case *spec.Completions != orZero(spec.Parallelism):
		return field.ErrorList{field.Invalid(p, spec.Completions, "can only be modified in tandem with spec.parallelism")}
	}
	return nil
}

// checkTemplateUpdate lets the template of a job that is suspended and has no active pods change in what the scheduler goes by. A job
// that has been running must have been seen to be suspended.
func checkTemplateUpdate(spec *field.Path, t *corev1.PodTemplateSpec, old *batchv1.Job) field.ErrorList {
	s := &old.Status
	suspended := orZero(old.Spec.Suspend) && (s.StartTime == nil || has(s, batchv1.JobSuspended, corev1.ConditionTrue)) && s.Active == 0
	if !suspended {
		return check.Unchanged(spec.Child("template"), t, &old.Spec.Template)
	}
	allowed := scheme.DeepCopy(old.Spec.Template)
	allowScheduling(&allowed.Spec, &t.Spec)
	allowResources(allowed.Spec.Containers, t.Spec.Containers)
	allowResources(allowed.Spec.InitContainers, t.Spec.InitContainers)
	if scheme.Equal(&allowed.Spec, &t.Spec) {
		return nil
	}
	return field.ErrorList{field.Invalid(spec.Child("template.spec"), govalue.JSON(t.Spec), "field is immutable")}
}

// allowScheduling takes over what is wanted of nodes, and until when pods are not to be scheduled.
func allowScheduling(spec, wanted *corev1.PodSpec) {
	switch a := spec.Affinity; {
	case wanted.Affinity != nil && a == nil:
		spec.Affinity = &corev1.Affinity{NodeAffinity: wanted.Affinity.NodeAffinity}
	case wanted.Affinity != nil:
		a.NodeAffinity = wanted.Affinity.NodeAffinity
	case a != nil:
		if a.NodeAffinity = nil; *a == (corev1.Affinity{}) {
			spec.Affinity = nil
		}
	}
	spec.NodeSelector, spec.Tolerations, spec.SchedulingGates = wanted.NodeSelector, wanted.Tolerations, wanted.SchedulingGates
}

// allowResources takes over the resources that are wanted for containers if there are as many as before.
func allowResources(list, wanted []corev1.Container) {
	if len(list) != len(wanted) {
		return
	}
	for i := range list {
		if list[i].Name == wanted[i].Name {
			list[i].Resources = wanted[i].Resources
		}
	}
}
