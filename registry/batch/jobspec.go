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

// This file checks new jobs and, with jobupdate.go, updates of jobs. checkSpec is also for the jobs
// that a cron job creates. Rules for failure and success policies are in jobpolicy.go.

// Limits of indexed jobs (KEP-2214, KEP-3850). The status lists completed and failed indexes; these
// limits keep the lists below the size that an object can have.
const (
	maxParallelism  = 100_000 // pods at a time
	maxFailed       = 100_000 // failed indexes
	manyCompletions = 100_000 // completions above which the stricter limits below apply

	// Limits of jobs with more than manyCompletions and with backoffLimitPerIndex.
	maxParallelismOfMany = 10_000
	maxFailedOfMany      = 10_000

	maxManagedBy = 63 // bytes
)

// isIndexed reports whether the pods of a job have indexes.
func isIndexed(spec *batchv1.JobSpec) bool {
	return scheme.OrZero(spec.CompletionMode) == batchv1.IndexedCompletion
}

// checkJob returns what is wrong with a new job, or with an update of old. On an update it checks
// the spec twice, because kube-apiserver does, and reports each error twice. It skips the second
// time if there are enough errors.
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

// hasDomainLabels reports whether t has the generated labels of the domain batch.kubernetes.io.
// Jobs from before Kubernetes 1.27 have only those without a domain.
func hasDomainLabels(t *corev1.PodTemplateSpec) bool {
	_, name := t.Labels[batchv1.JobNameLabel]
	_, uid := t.Labels[batchv1.ControllerUIDLabel]
	return name && uid
}

// checkGenerated checks that a generated selector and its labels are as the server generates them.
// A client that chose others could select pods of other jobs. domain says whether the labels with a
// domain are required.
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

// hasLabel reports a label among those at p that is missing or has another value than want.
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

// checkHostnames checks the name of an indexed job: with a dash and the last index it is the host
// name of a pod, so it must be a DNS label.
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

// checkSelectingSpec checks the spec of a job: what checkSpec checks, and that there is a valid
// selector, which matches the template.
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

// checkSpec checks a spec without its selector, which the specs inside cron jobs must not have.
// Deadline and TTL are in seconds. managedBy names a controller in the form domain/path (KEP-4368);
// its TooLong error shows no value.
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

// checkCompletionMode checks the completion mode, and that a job without indexes has no limits per
// index.
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

// checkReplacementPolicy checks podReplacementPolicy: when a pod that is terminating is replaced
// (KEP-3939). With a failure policy only Failed is possible: the failure policy needs to know how
// the pod ended.
func checkReplacementPolicy(p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	if spec.PodFailurePolicy != nil {
		return check.OptionalOneOf(p, spec.PodReplacementPolicy, batchv1.Failed)
	}
	return check.OptionalOneOf(p, spec.PodReplacementPolicy, batchv1.Failed, batchv1.TerminatingOrFailed)
}

// checkRestartPolicy refuses pods that never end. The default of pods is Always, so a client must
// choose. With a failure policy the kubelet must not restart containers, as it would hide their
// failures.
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
