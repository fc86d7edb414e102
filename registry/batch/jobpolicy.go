package batch

import (
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// This file checks podFailurePolicy (KEP-3329) and successPolicy (KEP-3998) of jobs. checkSpec
// calls checkFailurePolicy and checkSuccessPolicy.

// Limits of policies: rules of a policy, exit codes and condition patterns of a rule, and the
// length of the list of indexes in a rule.
const (
	maxRules            = 20
	maxExitCodes        = 255
	maxPatterns         = 20
	maxSucceededIndexes = 64 << 10 // bytes
)

// The values that fields of a failure policy can have, in the order in which messages list them.
var (
	failureActions = []batchv1.PodFailurePolicyAction{
		batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailIndex,
		batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore}
	exitCodeOperators = []batchv1.PodFailurePolicyOnExitCodesOperator{batchv1.PodFailurePolicyOnExitCodesOpIn,
		batchv1.PodFailurePolicyOnExitCodesOpNotIn}
	conditionStatuses = []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown}
)

// requiredOneOf reports a value at p that is none of valid. The message for an empty value lists
// the valid ones.
func requiredOneOf[T ~string](p *field.Path, value T, valid []T) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(p, fmt.Sprintf("valid values: %q", valid))}
	}
	return check.Supported(p, value, valid...)
}

// checkFailurePolicy checks the rules at p that decide what the failure of a pod means for the job.
// The names of containers are collected once for all rules.
func checkFailurePolicy(p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	rules := spec.PodFailurePolicy.Rules
	var errs field.ErrorList
	if len(rules) > maxRules {
		errs = append(errs, field.TooMany(p, len(rules), maxRules))
	}
	containers := check.Duplicates{}
	for _, list := range [][]corev1.Container{spec.Template.Spec.Containers, spec.Template.Spec.InitContainers} {
		for i := range list {
			containers.Add(list[i].Name)
		}
	}
	for i, rule := range field.Each(&errs, rules) {
		errs = append(errs, checkFailureRule(p.Index(i), rule, spec, containers)...)
	}
	return errs
}

// checkFailureRule checks one rule. It looks either at exit codes or at conditions of the failed
// pod. containers are the names of containers and init containers.
func checkFailureRule(p *field.Path, rule *batchv1.PodFailurePolicyRule, spec *batchv1.JobSpec,
	containers check.Duplicates) field.ErrorList {
	errs := requiredOneOf(p.Child("action"), rule.Action, failureActions)
	if rule.Action == batchv1.PodFailurePolicyActionFailIndex && spec.BackoffLimitPerIndex == nil {
		errs = append(errs, field.Invalid(p.Child("action"), rule.Action,
			"requires the backoffLimitPerIndex to be set"))
	}
	codes, conditions := rule.OnExitCodes != nil, len(rule.OnPodConditions) > 0
	if codes {
		errs = append(errs, checkExitCodes(p.Child("onExitCodes"), rule.OnExitCodes, containers)...)
	}
	if conditions {
		errs = append(errs, checkConditionPatterns(p.Child("onPodConditions"), rule.OnPodConditions)...)
	}
	switch {
	case codes && conditions:
		errs = append(errs, field.Invalid(p, field.Omit{}, "specifying both OnExitCodes and OnPodConditions is not supported"))
	case !codes && !conditions:
		errs = append(errs, field.Invalid(p, field.Omit{}, "specifying one of OnExitCodes and OnPodConditions is required"))
	}
	return errs
}

// checkConditionPatterns checks the conditions of a pod, one of which must match for the rule to
// apply.
func checkConditionPatterns(p *field.Path, list []batchv1.PodFailurePolicyOnPodConditionsPattern) field.ErrorList {
	var errs field.ErrorList
	if len(list) > maxPatterns {
		errs = append(errs, field.TooMany(p, len(list), maxPatterns))
	}
	for i, pattern := range field.Each(&errs, list) {
		p := p.Index(i)
		errs = append(errs, check.QualifiedName(p.Child("type"), string(pattern.Type))...)
		errs = append(errs, requiredOneOf(p.Child("status"), pattern.Status, conditionStatuses)...)
	}
	return errs
}

// checkExitCodes checks exit codes. They are sorted and unique, so that people can read the policy
// at a glance. A rule with the operator In must not list 0, because 0 is the exit code of success.
func checkExitCodes(p *field.Path, r *batchv1.PodFailurePolicyOnExitCodesRequirement,
	containers check.Duplicates) field.ErrorList {
	errs := requiredOneOf(p.Child("operator"), r.Operator, exitCodeOperators)
	if name := r.ContainerName; name != nil && !containers[*name] {
		errs = append(errs, field.Invalid(p.Child("containerName"), *name,
			"must be one of the container or initContainer names in the pod template"))
	}
	p = p.Child("values")
	switch n := len(r.Values); {
	case n == 0:
		errs = append(errs, field.Invalid(p, r.Values, "at least one value is required"))
	case n > maxExitCodes:
		errs = append(errs, field.TooMany(p, n, maxExitCodes))
	}
	seen := make(map[int32]bool, min(len(r.Values), maxExitCodes))
	for i, code := range field.Each(&errs, r.Values) {
		if *code == 0 && r.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn {
			errs = append(errs, field.Invalid(p.Index(i), *code, "must not be 0 for the In operator"))
		}
		if seen[*code] {
			errs = append(errs, field.Duplicate(p.Index(i), *code))
		}
		seen[*code] = true
	}
	if !slices.IsSorted(r.Values) {
		errs = append(errs, field.Invalid(p, r.Values, "must be ordered"))
	}
	return errs
}

// checkSuccessPolicy checks the rules at p by which an indexed job succeeds before all indexes
// have. checkIndexed checks that an indexed job has completions.
func checkSuccessPolicy(p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	if !isIndexed(spec) {
		return field.ErrorList{field.Invalid(p, govalue.JSON(spec.SuccessPolicy), "requires indexed completion mode")}
	}
	rules := spec.SuccessPolicy.Rules
	p = p.Child("rules")
	var errs field.ErrorList
	switch n := len(rules); {
	case n == 0:
		errs = append(errs, field.Required(p, "at least one rules must be specified when the successPolicy is specified"))
	case n > maxRules:
		errs = append(errs, field.TooMany(p, n, maxRules))
	}
	for i, rule := range field.Each(&errs, rules) {
		errs = append(errs, checkSuccessRule(p.Index(i), rule, scheme.OrZero(spec.Completions))...)
	}
	return errs
}

// checkSuccessRule checks one rule: a set of indexes that must succeed, a number of them, or both.
func checkSuccessRule(p *field.Path, rule *batchv1.SuccessPolicyRule, completions int32) field.ErrorList {
	var errs field.ErrorList
	if rule.SucceededCount == nil && rule.SucceededIndexes == nil {
		errs = append(errs, field.Required(p, "at least one of succeededCount or succeededIndexes must be specified"))
	}
	var indexes int32
	if text := rule.SucceededIndexes; text != nil {
		p := p.Child("succeededIndexes")
		if len(*text) > maxSucceededIndexes {
			errs = append(errs, field.TooLong(p, "", maxSucceededIndexes))
		}
		var err error
		if indexes, err = countIndexes(*text, completions); err != nil {
			errs = append(errs, field.Invalid(p, *text, "error parsing succeededIndexes: "+err.Error()))
		}
	}
	if count := rule.SucceededCount; count != nil {
		p := p.Child("succeededCount")
		errs = append(errs, check.NonNegative(p, *count)...)
		if *count > completions {
			errs = append(errs, field.Invalid(p, *count,
				fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", completions)))
		}
		if rule.SucceededIndexes != nil && *count > indexes {
			errs = append(errs, field.Invalid(p, *count,
				fmt.Sprintf("must be less than or equal to %d (the number of indexes in the specified succeededIndexes field)", indexes)))
		}
	}
	return errs
}
