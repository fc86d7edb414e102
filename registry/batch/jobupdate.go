package batch

import (
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// checkSpecUpdate returns what an update changes in the spec at p and must not change. Fields that
// it does not mention may change, such as parallelism and suspend.
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

// checkCompletionsUpdate checks a change of completions. An indexed job may change them together
// with parallelism, to the same value (KEP-3715): the size of such a job is a single number, which
// can grow and shrink.
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

// checkTemplateUpdate refuses a change of the template. Jobs that are suspended and have no active
// pods are an exception: a queue may still decide where the pods run, so scheduling fields
// (KEP-2926), resources (KEP-5440), labels and annotations may change.
//
// It copies the old spec, sets the fields that may change to their values in t, and compares the
// result with the spec of t.
func checkTemplateUpdate(p *field.Path, t *corev1.PodTemplateSpec, old *batchv1.Job) field.ErrorList {
	if !isIdle(old) {
		return check.Immutable(p.Child("template"), t, &old.Spec.Template)
	}
	allowed := scheme.DeepCopy(&old.Spec.Template.Spec)
	copyScheduling(allowed, &t.Spec)
	copyResources(allowed.Containers, t.Spec.Containers)
	copyResources(allowed.InitContainers, t.Spec.InitContainers)
	if scheme.Equal(&t.Spec, allowed) {
		return nil
	}
	return field.ErrorList{field.Invalid(p.Child("template.spec"), govalue.JSON(&t.Spec), "field is immutable")}
}

// isIdle reports whether a job is suspended and has no active pods. If it was started before, its
// condition Suspended must be true, because until then its pods may still be terminating.
func isIdle(j *batchv1.Job) bool {
	return scheme.OrZero(j.Spec.Suspend) &&
		(j.Status.StartTime == nil || jobStateOf(j).suspended) && j.Status.Active == 0
}

// copyScheduling sets the fields of spec by which a scheduler chooses nodes to those of next: node
// selector, tolerations, scheduling gates and node affinity. It leaves affinity to other pods
// alone.
func copyScheduling(spec, next *corev1.PodSpec) {
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

// copyResources sets the resources of the containers in list to those of the containers in next
// with the same index and name. It does nothing if their numbers differ.
func copyResources(list, next []corev1.Container) {
	if len(list) != len(next) {
		return
	}
	for i := range list {
		if list[i].Name == next[i].Name {
			list[i].Resources = next[i].Resources
		}
	}
}
