package autoscaling

import (
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv2"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file validates autoscalers: bounds, target and scaling rules. metric.go validates their
// metrics. autoscalers declares checkAutoscaler for the object and checkAutoscalerStatus for the
// status.

// The longest times of scaling rules, in seconds: the period of a policy, and the stabilization
// window.
const (
	maxPeriod = 1800
	maxWindow = 3600
)

func checkAutoscaler(a, old *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	spec, p := &a.Spec, field.NewPath("spec")
	errs := checkBounds(p, spec, lowestMinReplicas(old))
	errs = append(errs, checkTarget(p.Child("scaleTargetRef"), spec, old)...)
	errs = append(errs, checkMetrics(p.Child("metrics"), spec, old)...)
	if b := spec.Behavior; b != nil {
		errs = append(errs, checkRules(p.Child("behavior", "scaleUp"), b.ScaleUp)...)
		errs = append(errs, checkRules(p.Child("behavior", "scaleDown"), b.ScaleDown)...)
	}
	return errs
}

// lowestMinReplicas returns the lowest minReplicas that is accepted: 0 only if the old autoscaler
// has it. Scaling to zero (KEP-2021) is not served, but an object that another server stored may
// stay.
func lowestMinReplicas(old *autoscalingv2.HorizontalPodAutoscaler) int32 {
	if old != nil && old.Spec.MinReplicas != nil && *old.Spec.MinReplicas == 0 {
		return 0
	}
	return 1
}

// checkBounds checks minReplicas, which may be unset, and maxReplicas. A maxReplicas of 0 counts as
// unset.
func checkBounds(p *field.Path, spec *autoscalingv2.HorizontalPodAutoscalerSpec, least int32) field.ErrorList {
	var errs field.ErrorList
	low, high := spec.MinReplicas, spec.MaxReplicas
	if low != nil && *low < least {
		errs = append(errs, field.Invalid(p.Child("minReplicas"), *low,
			fmt.Sprintf("must be greater than or equal to %d", least)))
	}
	switch at := p.Child("maxReplicas"); {
	case high == 0:
		errs = append(errs, field.Required(at, "must be set and greater than 0"))
	case high < 0:
		errs = append(errs, field.Invalid(at, high, "must be greater than or equal to 1"))
	}
	if low != nil && high < *low {
		errs = append(errs, field.Invalid(p.Child("maxReplicas"), high,
			"must be greater than or equal to `minReplicas`"))
	}
	return errs
}

// checkTarget checks the object that is scaled. If an update changes neither apiVersion nor kind of
// the target, an apiVersion without a group is accepted, because older servers did not check it.
func checkTarget(
	p *field.Path, spec *autoscalingv2.HorizontalPodAutoscalerSpec, old *autoscalingv2.HorizontalPodAutoscaler,
) field.ErrorList {
	ref := &spec.ScaleTargetRef
	errs := checkReference(p, ref)
	if old != nil && old.Spec.ScaleTargetRef.APIVersion == ref.APIVersion && old.Spec.ScaleTargetRef.Kind == ref.Kind {
		return errs
	}
	return append(errs, checkAPIVersion(p, ref, ref.Kind == "ReplicationController")...)
}

func checkReference(p *field.Path, ref *autoscalingv2.CrossVersionObjectReference) field.ErrorList {
	errs := check.Needed(p.Child("kind"), ref.Kind, check.PathSegment)
	return append(errs, check.Needed(p.Child("name"), ref.Name, check.PathSegment)...)
}

// checkAPIVersion checks the apiVersion of a reference at p. core says that the core group is
// accepted.
func checkAPIVersion(p *field.Path, ref *autoscalingv2.CrossVersionObjectReference, core bool) field.ErrorList {
	gv, ok := meta.ParseGroupVersion(ref.APIVersion)
	var msg string
	switch {
	case strings.Count(ref.APIVersion, "/") > 1:
		msg = "unexpected GroupVersion string: " + ref.APIVersion
	case !core && (!ok || gv.Group == ""):
		msg = "apiVersion must specify API group"
	default:
		return nil
	}
	return field.ErrorList{field.Invalid(p.Child("apiVersion"), ref.APIVersion, msg)}
}

// checkMetrics checks the metrics. If the target may go to zero replicas, some metric must come
// from outside of its pods: without pods nothing else can be measured.
func checkMetrics(
	p *field.Path, spec *autoscalingv2.HorizontalPodAutoscalerSpec, old *autoscalingv2.HorizontalPodAutoscaler,
) field.ErrorList {
	var errs field.ErrorList
	c := metricCheck{anyVersion: hasWrongVersion(old)}
	outside := false // a metric comes from outside of the pods
	for i, m := range field.Each(&errs, spec.Metrics) {
		errs = append(errs, c.checkSpec(p.Index(i), m)...)
		outside = outside || m.Type == autoscalingv2.ObjectMetricSourceType ||
			m.Type == autoscalingv2.ExternalMetricSourceType
	}
	if n := spec.MinReplicas; n != nil && *n == 0 && !outside {
		errs = append(errs, field.Forbidden(p,
			"must specify at least one Object or External metric to support scaling to zero replicas"))
	}
	return errs
}

// hasWrongVersion reports whether an Object metric of an autoscaler, which may be nil, refers to an
// invalid apiVersion. Then no apiVersion of the new metrics is checked.
func hasWrongVersion(a *autoscalingv2.HorizontalPodAutoscaler) bool {
	if a == nil {
		return false
	}
	for i := range a.Spec.Metrics {
		m := &a.Spec.Metrics[i]
		if m.Type == autoscalingv2.ObjectMetricSourceType && m.Object != nil &&
			len(checkAPIVersion(nil, &m.Object.DescribedObject, true)) > 0 {
			return true
		}
	}
	return false
}

// checkRules checks the rules for one direction; nil is valid. At least one policy is required,
// because only policies say how fast to scale.
func checkRules(p *field.Path, r *autoscalingv2.HPAScalingRules) field.ErrorList {
	if r == nil {
		return nil
	}
	var errs field.ErrorList
	if w, at := r.StabilizationWindowSeconds, p.Child("stabilizationWindowSeconds"); w != nil && *w < 0 {
		errs = append(errs, field.Invalid(at, *w, "must be greater than or equal to zero"))
	} else if w != nil && *w > maxWindow {
		errs = append(errs, field.Invalid(at, *w, fmt.Sprintf("must be less than or equal to %d", maxWindow)))
	}
	errs = append(errs, check.OptionalOneOf(p.Child("selectPolicy"), r.SelectPolicy,
		autoscalingv2.DisabledPolicySelect, autoscalingv2.MaxChangePolicySelect,
		autoscalingv2.MinChangePolicySelect)...)
	policies := p.Child("policies")
	if len(r.Policies) == 0 {
		errs = append(errs, field.Required(policies, "must specify at least one Policy"))
	}
	for i, policy := range field.Each(&errs, r.Policies) {
		errs = append(errs, checkPolicy(policies.Index(i), policy)...)
	}
	if r.Tolerance != nil {
		errs = append(errs, check.NonNegativeQuantity(p.Child("tolerance"), *r.Tolerance)...)
	}
	return errs
}

// checkPolicy checks one policy: at most value pods, or percent, per period.
func checkPolicy(p *field.Path, policy *autoscalingv2.HPAScalingPolicy) field.ErrorList {
	errs := check.Supported(p.Child("type"), policy.Type, autoscalingv2.PercentScalingPolicy,
		autoscalingv2.PodsScalingPolicy)
	errs = append(errs, check.Positive(p.Child("value"), policy.Value)...)
	errs = append(errs, check.Positive(p.Child("periodSeconds"), policy.PeriodSeconds)...)
	if policy.PeriodSeconds > maxPeriod {
		errs = append(errs, field.Invalid(p.Child("periodSeconds"), policy.PeriodSeconds,
			fmt.Sprintf("must be less than or equal to %d", maxPeriod)))
	}
	return errs
}

func checkAutoscalerStatus(a, _ *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	p := field.NewPath("status")
	errs := check.NonNegative(p.Child("currentReplicas"), a.Status.CurrentReplicas)
	return append(errs, check.NonNegative(p.Child("desiredReplicas"), a.Status.DesiredReplicas)...)
}
