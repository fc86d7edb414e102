package batch

import (
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// Bounds of policies.
const (
	maxRules      = 20
	maxExitCodes  = 255
	maxConditions = 20
	maxIndexText  = 64 << 10
)

// checkPolicies checks when a job has failed or succeeded, and when it makes new pods.
func checkPolicies(p *field.Path, spec *batchv1.JobSpec) field.ErrorList {
	var errs field.ErrorList
	if f := spec.PodFailurePolicy; f != nil {
		p := p.Child("podFailurePolicy", "rules")
		errs = append(errs, atMost(p, len(f.Rules), maxRules)...)
		containers := containerNames(&spec.Template.Spec)
		for i, rule := range field.Each(&errs, f.Rules) {
			errs = append(errs, checkFailureRule(p.Index(i), spec, rule, containers)...)
		}
	}
	if s := spec.SuccessPolicy; s != nil {
		errs = append(errs, checkSuccessPolicy(p.Child("successPolicy"), spec, s)...)
	}
	p = p.Child("podReplacementPolicy")
	if spec.PodFailurePolicy != nil {
		return append(errs, check.OptionalOneOf(p, spec.PodReplacementPolicy, batchv1.Failed)...)
	}
	return append(errs, check.OptionalOneOf(p, spec.PodReplacementPolicy, batchv1.Failed, batchv1.TerminatingOrFailed)...)
}

func atMost(p *field.Path, got, limit int) field.ErrorList {
	if got > limit {
		return field.ErrorList{field.TooMany(p, got, limit)}
	}
	return nil
}

// containerNames are the names of the containers that end before a pod does.
func containerNames(spec *corev1.PodSpec) map[string]bool {
	found := make(map[string]bool, len(spec.Containers)+len(spec.InitContainers))
	for i := range spec.Containers {
		found[spec.Containers[i].Name] = true
	}
	for i := range spec.InitContainers {
		found[spec.InitContainers[i].Name] = true
	}
	return found
}

// named is check.OneOf with a message that names what a missing value may be.
func named[T ~string](p *field.Path, value T, valid ...T) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(p, fmt.Sprintf("valid values: %q", valid))}
	}
	return check.Supported(p, value, valid...)
}

func checkFailureRule(p *field.Path, spec *batchv1.JobSpec, rule *batchv1.PodFailurePolicyRule, containers map[string]bool) field.ErrorList {
	errs := named(p.Child("action"), rule.Action, batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailIndex,
		batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore)
	if rule.Action == batchv1.PodFailurePolicyActionFailIndex && spec.BackoffLimitPerIndex == nil {
		errs = append(errs, field.Invalid(p.Child("action"), rule.Action, "requires the backoffLimitPerIndex to be set"))
	}
	if rule.OnExitCodes != nil {
		errs = append(errs, checkExitCodes(p.Child("onExitCodes"), rule.OnExitCodes, containers)...)
	}
	conditions := p.Child("onPodConditions")
	errs = append(errs, atMost(conditions, len(rule.OnPodConditions), maxConditions)...)
	for i, c := range field.Each(&errs, rule.OnPodConditions) {
		p := conditions.Index(i)
		errs = append(errs, check.QualifiedName(p.Child("type"), string(c.Type))...)
		errs = append(errs, named(p.Child("status"), c.Status, corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown)...)
	}
	switch codes, conditions := rule.OnExitCodes != nil, len(rule.OnPodConditions) > 0; {
	case codes && conditions:
		errs = append(errs, field.Invalid(p, field.Omit{}, "specifying both OnExitCodes and OnPodConditions is not supported"))
	case !codes && !conditions:
		errs = append(errs, field.Invalid(p, field.Omit{}, "specifying one of OnExitCodes and OnPodConditions is required"))
	}
	return errs
}

func checkExitCodes(p *field.Path, r *batchv1.PodFailurePolicyOnExitCodesRequirement, containers map[string]bool) field.ErrorList {
	errs := named(p.Child("operator"), r.Operator, batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn)
	if r.ContainerName != nil && !containers[*r.ContainerName] {
		errs = append(errs, field.Invalid(p.Child("containerName"), *r.ContainerName,
			"must be one of the container or initContainer names in the pod template"))
	}
	p = p.Child("values")
	if len(r.Values) == 0 {
		errs = append(errs, field.Invalid(p, r.Values, "at least one value is required"))
	}
	errs = append(errs, atMost(p, len(r.Values), maxExitCodes)...)
	seen := make(map[int32]bool, len(r.Values))
	for i, code := range field.Each(&errs, r.Values) {
		if r.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn && *code == 0 {
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

func checkSuccessPolicy(p *field.Path, spec *batchv1.JobSpec, s *batchv1.SuccessPolicy) field.ErrorList {
	if !isIndexed(spec) {
		return field.ErrorList{field.Invalid(p, govalue.JSON(s), "requires indexed completion mode")}
	}
	p = p.Child("rules")
	var errs field.ErrorList
	if len(s.Rules) == 0 {
		errs = append(errs, field.Required(p, "at least one rules must be specified when the successPolicy is specified"))
	}
	errs = append(errs, atMost(p, len(s.Rules), maxRules)...)
	for i, rule := range field.Each(&errs, s.Rules) {
		errs = append(errs, checkSuccessRule(p.Index(i), orZero(spec.Completions), rule)...)
	}
	return errs
}

func checkSuccessRule(p *field.Path, completions int32, rule *batchv1.SuccessPolicyRule) field.ErrorList {
	text, count := rule.SucceededIndexes, rule.SucceededCount
	if text == nil && count == nil {
		return field.ErrorList{field.Required(p, "at least one of succeededCount or succeededIndexes must be specified")}
	}
	var errs field.ErrorList
	var total int32
	if text != nil {
		p := p.Child("succeededIndexes")
		if len(*text) > maxIndexText {
			errs = append(errs, field.TooLong(p, "", maxIndexText))
		}
		var err error
		if total, err = countIndexes(*text, completions); err != nil {
			errs = append(errs, field.Invalid(p, *text, "error parsing succeededIndexes: "+err.Error()))
		}
	}
	if count == nil {
		return errs
	}
	p = p.Child("succeededCount")
	errs = append(errs, check.NonNegative(p, *count)...)
	if *count > completions {
		errs = append(errs, field.Invalid(p, *count, fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", completions)))
	}
	if text != nil && *count > total {
		errs = append(errs, field.Invalid(p, *count,
			fmt.Sprintf("must be less than or equal to %d (the number of indexes in the specified succeededIndexes field)", total)))
	}
	return errs
}
