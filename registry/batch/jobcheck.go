package batch

import (
	"fmt"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// Bounds of jobs.
const (
	maxIndexed      = 100000 // pods at a time, and failed indexes, of an indexed job
	manyCompletions = 100000 // above it, the next two hold
	highParallelism = 10000
	highFailed      = 10000
	maxManagedBy    = 63
)

func isIndexed(spec *batchv1.JobSpec) bool {
	return spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
}

func checkJob(rules podspec.Rules, j, old *batchv1.Job) field.ErrorList {
	errs := checkGenerated(j, old)
	errs = append(errs, checkSelectedSpec(rules, &j.Spec)...)
	if n := j.Spec.Completions; isIndexed(&j.Spec) && n != nil && *n > 0 {
		// The last of the pods has the longest name.
		if host := fmt.Sprintf("%s-%d", j.Name, *n-1); len(names.IsDNS1123Label(host)) > 0 {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), j.Name, "will not able to create pod with invalid DNS label: "+host))
		}
	}
	if old != nil {
		errs = append(errs, checkSelectedSpec(rules, &j.Spec)...) // Kubernetes reports it all again
		errs = append(errs, checkJobUpdate(j, old)...)
	}
	return errs
}

// checkGenerated checks that a selector and labels that are not the client's are as they are generated. The labels with a domain
// came later: jobs that are without them stay so.
func checkGenerated(j, old *batchv1.Job) field.ErrorList {
	if orZero(j.Spec.ManualSelector) || j.Spec.Selector == nil {
		return nil
	}
	var errs field.ErrorList
	if j.UID == "" {
		errs = append(errs, field.Required(field.NewPath("metadata", "uid"), ""))
	}
	expected := generatedLabels(j)
	keys := []string{batchv1.LegacyControllerUIDLabel, batchv1.LegacyJobNameLabel, batchv1.ControllerUIDLabel, batchv1.JobNameLabel}
	if old != nil && !hasDomainLabels(&old.Spec.Template) {
		keys = keys[:2]
		delete(expected, batchv1.ControllerUIDLabel)
		delete(expected, batchv1.JobNameLabel)
	}
	p := field.NewPath("spec", "template", "metadata")
	for _, key := range keys {
		errs = append(errs, hasLabel(p, j.Spec.Template.Labels, key, expected[key])...)
	}
	if s, err := meta.SelectorFrom(j.Spec.Selector); err == nil && !s.Matches(meta.Set(expected)) {
		errs = append(errs, field.Invalid(field.NewPath("spec", "selector"), govalue.JSON(j.Spec.Selector), "`selector` not auto-generated"))
	}
	return errs
}

func hasDomainLabels(t *corev1.PodTemplateSpec) bool {
	_, name := t.Labels[batchv1.JobNameLabel]
	_, uid := t.Labels[batchv1.ControllerUIDLabel]
	return name && uid
}

// hasLabel checks that labels of the metadata at p have one with a value.
func hasLabel(p *field.Path, labels map[string]string, key, value string) field.ErrorList {
	p = p.Child("labels")
	switch got, ok := labels[key]; {
	case !ok:
		return field.ErrorList{field.Required(p.Key(key), fmt.Sprintf("must be '%s'", value))}
	case got != value:
		return field.ErrorList{field.Invalid(p.Key(key), labels, fmt.Sprintf("must be '%s'", value))}
	}
	return nil
}

// checkSelectedSpec checks the spec of a job that exists, which has a selector.
func checkSelectedSpec(rules podspec.Rules, spec *batchv1.JobSpec) field.ErrorList {
	p := field.NewPath("spec")
	errs := checkSpec(rules, p, spec)
	if spec.Selector == nil {
		errs = append(errs, field.Required(p.Child("selector"), ""))
	} else {
		errs = append(errs, meta.ValidateLabelSelector(spec.Selector, p.Child("selector"))...)
	}
	if s, err := meta.SelectorFrom(spec.Selector); err == nil && !s.Matches(meta.Set(spec.Template.Labels)) {
		errs = append(errs, field.Invalid(p.Child("template", "metadata", "labels"), spec.Template.Labels, "`selector` does not match template `labels`"))
	}
	return errs
}

// checkSpec checks what is the same for jobs and for what they are made from.
func checkSpec(rules podspec.Rules, p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	var errs field.ErrorList
	notNegative := func(name string, n *int32) { errs = append(errs, check.NonNegative(p.Child(name), orZero(n))...) }
	notNegative("parallelism", spec.Parallelism)
	notNegative("completions", spec.Completions)
	errs = append(errs, check.NonNegative(p.Child("activeDeadlineSeconds"), orZero(spec.ActiveDeadlineSeconds))...)
	notNegative("backoffLimit", spec.BackoffLimit)
	notNegative("ttlSecondsAfterFinished", spec.TTLSecondsAfterFinished)
	notNegative("backoffLimitPerIndex", spec.BackoffLimitPerIndex)
	notNegative("maxFailedIndexes", spec.MaxFailedIndexes)
	if spec.MaxFailedIndexes != nil && spec.BackoffLimitPerIndex == nil {
		errs = append(errs, field.Required(p.Child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"))
	}
	if spec.ManagedBy != nil {
		errs = append(errs, check.DomainPath(p.Child("managedBy"), *spec.ManagedBy)...)
		if len(*spec.ManagedBy) > maxManagedBy {
			errs = append(errs, field.TooLong(p.Child("managedBy"), "", maxManagedBy))
		}
	}
	errs = append(errs, check.OptionalOneOf(p.Child("completionMode"), spec.CompletionMode, batchv1.NonIndexedCompletion, batchv1.IndexedCompletion)...)
	errs = append(errs, checkIndexes(p, spec)...)
	errs = append(errs, checkPolicies(p, spec)...)
	errs = append(errs, rules.Template(p.Child("template"), &spec.Template)...)
	return append(errs, checkRestart(p.Child("template", "spec", "restartPolicy"), spec)...)
}

// checkRestart checks that pods end.
func checkRestart(p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	switch policy := spec.Template.Spec.RestartPolicy; {
	case policy == corev1.RestartPolicyAlways || policy == "": // the default of pods is none of jobs
		return field.ErrorList{field.Required(p, fmt.Sprintf("valid values: %q, %q", corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever))}
	case policy != corev1.RestartPolicyOnFailure && policy != corev1.RestartPolicyNever:
		return check.Supported(p, policy, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	case spec.PodFailurePolicy != nil && policy != corev1.RestartPolicyNever:
		return field.ErrorList{field.Invalid(p, policy, fmt.Sprintf("only %q is supported when podFailurePolicy is specified", corev1.RestartPolicyNever))}
	}
	return nil
}

// checkIndexes checks the numbers that depend on whether completions are numbered.
func checkIndexes(p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	var errs field.ErrorList
	if !isIndexed(spec) {
		if spec.CompletionMode != nil && *spec.CompletionMode != batchv1.NonIndexedCompletion {
			return nil
		}
		if n := spec.BackoffLimitPerIndex; n != nil {
			errs = append(errs, field.Invalid(p.Child("backoffLimitPerIndex"), *n, "requires indexed completion mode"))
		}
		if n := spec.MaxFailedIndexes; n != nil {
			errs = append(errs, field.Invalid(p.Child("maxFailedIndexes"), *n, "requires indexed completion mode"))
		}
		return errs
	}
	atMost := func(name string, n *int32, limit int32, detail string) {
		if orZero(n) > limit {
			errs = append(errs, field.Invalid(p.Child(name), *n, detail))
		}
	}
	if spec.Completions == nil {
		errs = append(errs, field.Required(p.Child("completions"), "when completion mode is Indexed"))
	}
	atMost("parallelism", spec.Parallelism, maxIndexed, fmt.Sprintf("must be less than or equal to %d when completion mode is Indexed", maxIndexed))
	if spec.Completions != nil && spec.MaxFailedIndexes != nil && *spec.MaxFailedIndexes > *spec.Completions {
		errs = append(errs, field.Invalid(p.Child("maxFailedIndexes"), *spec.MaxFailedIndexes, "must be less than or equal to completions"))
	}
	atMost("maxFailedIndexes", spec.MaxFailedIndexes, maxIndexed, fmt.Sprintf("must be less than or equal to %d", maxIndexed))
	if orZero(spec.Completions) <= manyCompletions || spec.BackoffLimitPerIndex == nil {
		return errs
	}
	if spec.MaxFailedIndexes == nil {
		errs = append(errs, field.Required(p.Child("maxFailedIndexes"), fmt.Sprintf("must be specified when completions is above %d", manyCompletions)))
	}
	const detail = "must be less than or equal to %d when completions are above %d and used with backoff limit per index"
	atMost("parallelism", spec.Parallelism, highParallelism, fmt.Sprintf(detail, highParallelism, manyCompletions))
	atMost("maxFailedIndexes", spec.MaxFailedIndexes, highFailed, fmt.Sprintf(detail, highFailed, manyCompletions))
	return errs
}
