package batch

import (
	"fmt"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// Limits of jobs. They keep the lists of indexes in a status short.
const (
	maxParallelism  = 100_000 // of indexed jobs
	maxFailed       = 100_000 // indexes
	manyCompletions = 100_000

	// Of jobs with more completions than that, whose indexes fail one by one.
	maxParallelismOfMany = 10_000
	maxFailedOfMany      = 10_000

	maxManagedBy = 63 // bytes
)

func isIndexed(spec *batchv1.JobSpec) bool {
	return scheme.OrZero(spec.CompletionMode) == batchv1.IndexedCompletion
}

// checkJob checks a job, and on an update what has changed. kube-apiserver checks the spec twice
// then, and says so; here that ends when there is enough to say.
func checkJob(rules podspec.Rules, j, old *batchv1.Job) field.ErrorList {
	if old != nil {
		rules = rules.AfterTemplate(&old.Spec.Template)
	}
	p := field.NewPath("spec")
	errs := checkGenerated(j, old == nil || hasDomainLabels(&old.Spec.Template))
	errs = append(errs, checkSelectingSpec(rules, p, &j.Spec)...)
	errs = append(errs, checkHostnames(j)...)
	if old != nil && !errs.Full() {
		errs = append(errs, checkSelectingSpec(rules, p, &j.Spec)...)
		errs = append(errs, checkSpecUpdate(p, j, old)...)
	}
	return errs
}

// hasDomainLabels reports whether generated labels include those that have a domain. Old jobs lack
// them.
func hasDomainLabels(t *corev1.PodTemplateSpec) bool {
	_, name := t.Labels[batchv1.JobNameLabel]
	_, uid := t.Labels[batchv1.ControllerUIDLabel]
	return name && uid
}

// checkGenerated checks that a selector and labels that the server generates have not been chosen
// by the client. domain says whether the labels that have a domain must be there.
func checkGenerated(j *batchv1.Job, domain bool) field.ErrorList {
	if scheme.OrZero(j.Spec.ManualSelector) || j.Spec.Selector == nil {
		return nil
	}
	labels := generatedLabels(j)
	required := []string{batchv1.LegacyControllerUIDLabel, batchv1.LegacyJobNameLabel, batchv1.ControllerUIDLabel,
		batchv1.JobNameLabel}
	if !domain {
		for _, key := range required[2:] {
			delete(labels, key)
		}
		required = required[:2]
	}
	p := field.NewPath("spec")
	var errs field.ErrorList
	for _, key := range required {
		errs = append(errs, hasLabel(p.Child("template", "metadata", "labels"), j.Spec.Template.Labels, key,
			labels[key])...)
	}
	if s, err := meta.SelectorFrom(j.Spec.Selector); err == nil && !s.Matches(meta.Set(labels)) {
		errs = append(errs, field.Invalid(p.Child("selector"), govalue.JSON(j.Spec.Selector),
			"`selector` not auto-generated"))
	}
	return errs
}

// hasLabel reports a label at p that is missing or has another value.
func hasLabel(p *field.Path, labels map[string]string, key, want string) field.ErrorList {
	value, ok := labels[key]
	switch {
	case !ok:
		return field.ErrorList{field.Required(p.Key(key), fmt.Sprintf("must be '%s'", want))}
	case value != want:
		return field.ErrorList{field.Invalid(p.Key(key), labels, fmt.Sprintf("must be '%s'", want))}
	}
	return nil
}

// checkHostnames checks that the pod of the last index gets a host name from the name of the job.
func checkHostnames(j *batchv1.Job) field.ErrorList {
	if !isIndexed(&j.Spec) || scheme.OrZero(j.Spec.Completions) <= 0 {
		return nil
	}
	last := fmt.Sprintf("%s-%d", j.Name, *j.Spec.Completions-1)
	if len(names.IsDNS1123Label(last)) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), j.Name,
		"will not able to create pod with invalid DNS label: "+last)}
}

// checkSelectingSpec checks a spec whose selector must be there, and match its template.
func checkSelectingSpec(rules podspec.Rules, p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	errs := checkSpec(rules, p, spec)
	if spec.Selector == nil {
		errs = append(errs, field.Required(p.Child("selector"), ""))
	} else {
		errs = append(errs, meta.ValidateLabelSelector(spec.Selector, p.Child("selector"))...)
	}
	if s, err := meta.SelectorFrom(spec.Selector); err == nil && !s.Matches(meta.Set(spec.Template.Labels)) {
		errs = append(errs, field.Invalid(p.Child("template", "metadata", "labels"), spec.Template.Labels,
			"`selector` does not match template `labels`"))
	}
	return errs
}

// checkSpec checks a spec, its selector apart.
func checkSpec(rules podspec.Rules, p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	errs := check.NotNegative(p, check.Count("parallelism", spec.Parallelism),
		check.Count("completions", spec.Completions),
		check.Count("activeDeadlineSeconds", spec.ActiveDeadlineSeconds),
		check.Count("backoffLimit", spec.BackoffLimit),
		check.Count("ttlSecondsAfterFinished", spec.TTLSecondsAfterFinished),
		check.Count("backoffLimitPerIndex", spec.BackoffLimitPerIndex),
		check.Count("maxFailedIndexes", spec.MaxFailedIndexes))
	if spec.MaxFailedIndexes != nil && spec.BackoffLimitPerIndex == nil {
		errs = append(errs, field.Required(p.Child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"))
	}
	if m := spec.ManagedBy; m != nil {
		errs = append(errs, check.Needed(p.Child("managedBy"), *m, check.DomainPath)...)
		if len(*m) > maxManagedBy {
			errs = append(errs, field.TooLong(p.Child("managedBy"), "", maxManagedBy))
		}
	}
	errs = append(errs, checkCompletionMode(p, spec)...)
	if spec.PodFailurePolicy != nil {
		errs = append(errs, checkFailurePolicy(p.Child("podFailurePolicy", "rules"), spec)...)
	}
	if spec.SuccessPolicy != nil {
		errs = append(errs, checkSuccessPolicy(p.Child("successPolicy"), spec)...)
	}
	errs = append(errs, checkReplacementPolicy(p.Child("podReplacementPolicy"), spec)...)
	errs = append(errs, rules.Template(p.Child("template"), &spec.Template)...)
	return append(errs, checkRestartPolicy(p.Child("template", "spec", "restartPolicy"), spec)...)
}

func checkCompletionMode(p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	errs := check.OptionalOneOf(p.Child("completionMode"), spec.CompletionMode, batchv1.NonIndexedCompletion,
		batchv1.IndexedCompletion)
	switch mode := spec.CompletionMode; {
	case mode == nil, *mode == batchv1.NonIndexedCompletion:
		const msg = "requires indexed completion mode"
		if n := spec.BackoffLimitPerIndex; n != nil {
			errs = append(errs, field.Invalid(p.Child("backoffLimitPerIndex"), *n, msg))
		}
		if n := spec.MaxFailedIndexes; n != nil {
			errs = append(errs, field.Invalid(p.Child("maxFailedIndexes"), *n, msg))
		}
	case *mode == batchv1.IndexedCompletion:
		errs = append(errs, checkIndexed(p, spec)...)
	}
	return errs
}

// checkIndexed checks the numbers of an indexed job.
func checkIndexed(p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	var errs field.ErrorList
	atMost := func(name string, value *int32, limit int32, msg string) {
		if value != nil && *value > limit {
			errs = append(errs, field.Invalid(p.Child(name), *value, msg))
		}
	}
	if spec.Completions == nil {
		errs = append(errs, field.Required(p.Child("completions"), "when completion mode is Indexed"))
	}
	atMost("parallelism", spec.Parallelism, maxParallelism,
		fmt.Sprintf("must be less than or equal to %d when completion mode is Indexed", maxParallelism))
	if spec.Completions != nil {
		atMost("maxFailedIndexes", spec.MaxFailedIndexes, *spec.Completions,
			"must be less than or equal to completions")
	}
	atMost("maxFailedIndexes", spec.MaxFailedIndexes, maxFailed,
		fmt.Sprintf("must be less than or equal to %d", maxFailed))
	if scheme.OrZero(spec.Completions) > manyCompletions && spec.BackoffLimitPerIndex != nil {
		if spec.MaxFailedIndexes == nil {
			errs = append(errs, field.Required(p.Child("maxFailedIndexes"),
				fmt.Sprintf("must be specified when completions is above %d", manyCompletions)))
		}
		const msg = "must be less than or equal to %d when completions are above %d and used with backoff limit per index"
		atMost("parallelism", spec.Parallelism, maxParallelismOfMany,
			fmt.Sprintf(msg, maxParallelismOfMany, manyCompletions))
		atMost("maxFailedIndexes", spec.MaxFailedIndexes, maxFailedOfMany,
			fmt.Sprintf(msg, maxFailedOfMany, manyCompletions))
	}
	return errs
}

func checkReplacementPolicy(p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	if spec.PodFailurePolicy != nil {
		return check.OptionalOneOf(p, spec.PodReplacementPolicy, batchv1.Failed)
	}
	return check.OptionalOneOf(p, spec.PodReplacementPolicy, batchv1.Failed, batchv1.TerminatingOrFailed)
}

// checkRestartPolicy refuses pods that never end. A client that says nothing is told to choose.
func checkRestartPolicy(p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	switch policy := spec.Template.Spec.RestartPolicy; policy {
	case corev1.RestartPolicyAlways, "":
		return field.ErrorList{field.Required(p,
			fmt.Sprintf("valid values: %q, %q", corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever))}
	case corev1.RestartPolicyOnFailure:
		if spec.PodFailurePolicy != nil {
			return field.ErrorList{field.Invalid(p, policy,
				fmt.Sprintf("only %q is supported when podFailurePolicy is specified", corev1.RestartPolicyNever))}
		}
		return nil
	default:
		return check.Supported(p, policy, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	}
}
