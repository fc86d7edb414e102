package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file declares resourcequotas, which bound the sums of resources and the number of objects in
// a namespace. The admission plugin ResourceQuota charges them; here they are only checked.
// Resources calls resourceQuotas.
//
// A scope narrows the objects that a quota counts. Each scope fits certain resources only, so a
// quota that bounds another resource is refused.

// resourceQuotas declares resourcequotas.
func resourceQuotas() registry.Resource {
	return registry.Typed(registry.ResourceOf[*corev1.ResourceQuota]{
		GroupResource: meta.GroupResource{Resource: "resourcequotas"},
		Kind:          "ResourceQuota", ShortNames: []string{"quota"},
		Namespaced: true,
		Strategy: registry.StrategyOf[*corev1.ResourceQuota]{
			Metadata:                 registry.MetaChange,
			Validate:                 checkQuota,
			Warnings:                 quotaWarnings,
			AllowUnconditionalUpdate: true,
		},
		Status: &registry.StatusOf[*corev1.ResourceQuota]{Validate: checkQuotaStatus},
		Table: &registry.TableOf[*corev1.ResourceQuota]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Request", "What is used, and may be used, of each resource that is not limits.", 0),
				registry.Column("Limit", "What is used, and may be used, of limits.", 0),
				registry.AgeColumn,
			},
			Cells: quotaCells,
		},
		ReturnsDeleted: true,
	})
}

// checkQuota checks amounts and scopes. The set of scopes is immutable: the usage was counted by
// it.
func checkQuota(q, old *corev1.ResourceQuota) field.ErrorList {
	p, spec := field.NewPath("spec"), &q.Spec
	errs := checkQuotaAmounts(p.Child("hard"), spec.Hard)
	errs = append(errs, checkScopes(p.Child("scopes"), spec)...)
	if spec.ScopeSelector != nil {
		errs = append(errs, checkScopeSelector(p.Child("scopeSelector", "matchExpressions"), spec)...)
	}
	if old != nil && !maps.Equal(scopeSet(spec.Scopes), scopeSet(old.Spec.Scopes)) {
		errs = append(errs, field.Invalid(p.Child("scopes"), spec.Scopes, "field is immutable"))
	}
	return errs
}

// scopeSet returns the scopes without order and repetition.
func scopeSet(scopes []corev1.ResourceQuotaScope) map[corev1.ResourceQuotaScope]bool {
	set := make(map[corev1.ResourceQuotaScope]bool, len(scopes))
	for _, s := range scopes {
		set[s] = true
	}
	return set
}

func checkQuotaStatus(q, _ *corev1.ResourceQuota) field.ErrorList {
	p := field.NewPath("status")
	return append(checkQuotaAmounts(p.Child("hard"), q.Status.Hard),
		checkQuotaAmounts(p.Child("used"), q.Status.Used)...)
}

// checkQuotaAmounts checks names and amounts. A name without a domain must be one that quotas
// count.
func checkQuotaAmounts(p *field.Path, list corev1.ResourceList) field.ErrorList {
	var errs field.ErrorList
	for name, q := range field.Entries(&errs, list) {
		p := p.Key(string(name))
		errs = append(errs, podspec.ResourceName(p, name)...)
		if !strings.Contains(string(name), "/") && !isQuotaResource(name) {
			errs = append(errs, field.Invalid(p, name, "must be a standard resource for quota"))
		}
		errs = append(errs, podspec.ResourceAmount(p, name, q)...)
	}
	return errs
}

// isQuotaResource reports whether quotas count a resource whose name has no domain. "storage" is
// not counted, requests.storage is.
func isQuotaResource(name corev1.ResourceName) bool {
	return name != corev1.ResourceStorage && podspec.IsStandardResource(name)
}

// The resources that each scope fits: pods and what they use, or claims. A scope that is not a key
// of scopeResources is unknown.
var (
	podResources = []corev1.ResourceName{
		corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceLimitsCPU,
		corev1.ResourceLimitsMemory,
		corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory,
	}
	scopeResources = map[corev1.ResourceQuotaScope][]corev1.ResourceName{
		corev1.ResourceQuotaScopeTerminating:               podResources,
		corev1.ResourceQuotaScopeNotTerminating:            podResources,
		corev1.ResourceQuotaScopeBestEffort:                {corev1.ResourcePods},
		corev1.ResourceQuotaScopeNotBestEffort:             podResources,
		corev1.ResourceQuotaScopePriorityClass:             podResources,
		corev1.ResourceQuotaScopeCrossNamespacePodAffinity: podResources,
		corev1.ResourceQuotaScopeVolumeAttributesClass: {
			corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage,
		},
	}
)

// countMisapplied returns, for each scope, how many resources in hard do not fit the scope. The
// client gets one error for each of these resources, so counting stops at the number of errors that
// are shown.
func countMisapplied(hard corev1.ResourceList) map[corev1.ResourceQuotaScope]int {
	numbers := make(map[corev1.ResourceQuotaScope]int, len(scopeResources))
	for scope, fit := range scopeResources {
		for name := range hard {
			if isQuotaResource(name) && !slices.Contains(fit, name) && numbers[scope] <= field.MaxErrors {
				numbers[scope]++
			}
		}
	}
	return numbers
}

func checkScopes(p *field.Path, spec *corev1.ResourceQuotaSpec) field.ErrorList {
	var errs field.ErrorList
	bad := func(msg string) { errs = append(errs, field.Invalid(p, spec.Scopes, msg)) }
	wrong := countMisapplied(spec.Hard)
	for _, scope := range field.Each(&errs, spec.Scopes) {
		if scopeResources[*scope] == nil {
			bad("unsupported scope")
		}
		for range wrong[*scope] {
			bad("unsupported scope applied to resource")
		}
	}
	for range countConflicts(scopeSet(spec.Scopes)) {
		bad("conflicting scopes")
	}
	return errs
}

// countConflicts returns the number of pairs of scopes that exclude each other.
func countConflicts(set map[corev1.ResourceQuotaScope]bool) (n int) {
	if set[corev1.ResourceQuotaScopeBestEffort] && set[corev1.ResourceQuotaScopeNotBestEffort] {
		n++
	}
	if set[corev1.ResourceQuotaScopeTerminating] && set[corev1.ResourceQuotaScopeNotTerminating] {
		n++
	}
	return n
}

// checkScopeSelector checks spec.scopeSelector, the newer form of scopes, which can compare values.
func checkScopeSelector(p *field.Path, spec *corev1.ResourceQuotaSpec) field.ErrorList {
	var errs field.ErrorList
	set, wrong := map[corev1.ResourceQuotaScope]bool{}, countMisapplied(spec.Hard)
	for _, r := range field.Each(&errs, spec.ScopeSelector.MatchExpressions) {
		set[r.ScopeName] = true
		if scopeResources[r.ScopeName] == nil {
			errs = append(errs, field.Invalid(p.Child("scopeName"), r.ScopeName, "unsupported scope"))
		}
		for range wrong[r.ScopeName] {
			errs = append(errs, field.Invalid(p, govalue.JSON(spec.ScopeSelector),
				"unsupported scope applied to resource"))
		}
		errs = append(errs, checkScopeOperator(p, r)...)
	}
	for range countConflicts(set) {
		errs = append(errs, field.Invalid(p, spec.Scopes, "conflicting scopes"))
	}
	return errs
}

// checkScopeOperator checks the operator of a requirement. Only two scopes have values to compare
// with, PriorityClass and VolumeAttributesClass; the others just exist.
func checkScopeOperator(p *field.Path, r *corev1.ScopedResourceSelectorRequirement) field.ErrorList {
	var errs field.ErrorList
	valued := r.ScopeName == corev1.ResourceQuotaScopePriorityClass ||
		r.ScopeName == corev1.ResourceQuotaScopeVolumeAttributesClass
	if scopeResources[r.ScopeName] != nil && !valued && r.Operator != corev1.ScopeSelectorOpExists {
		errs = append(errs, field.Invalid(p.Child("operator"), r.Operator, "must be 'Exists' when scope is any of "+
			"ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "+
			"ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"))
	}
	switch r.Operator {
	case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
		if len(r.Values) == 0 {
			errs = append(errs, field.Required(p.Child("values"),
				"must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"))
		}
	case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			errs = append(errs, field.Invalid(p.Child("values"), r.Values,
				"must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"))
		}
	default:
		errs = append(errs, field.Invalid(p.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	return errs
}

// comparedResources are the resources of which a quota may bound requests and limits.
var comparedResources = []corev1.ResourceName{
	corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceStorage, corev1.ResourceEphemeralStorage,
}

// quotaWarnings tells of a new quota that bounds requests above limits. "cpu" and "memory" are
// older names of requests.cpu and requests.memory, and count if the quota does not have those.
func quotaWarnings(q, old *corev1.ResourceQuota) []string {
	if old != nil {
		return nil
	}
	var warnings []string
	for _, of := range comparedResources {
		name := "requests." + of
		request, ok := q.Spec.Hard[name]
		if !ok && (of == corev1.ResourceCPU || of == corev1.ResourceMemory) {
			name = of
			request, ok = q.Spec.Hard[name]
		}
		if limit, limited := q.Spec.Hard["limits."+of]; ok && limited && request.Cmp(limit) > 0 {
			warnings = append(warnings, fmt.Sprintf("ResourceQuota %s (%s) should be less than limits.%s (%s)",
				name, request, of, limit))
		}
	}
	return warnings
}

// quotaCells prints used/hard of each resource, such as "pods: 3/10", limits in a column of their
// own.
func quotaCells(q *corev1.ResourceQuota, now time.Time) []any {
	var requests, limits []string
	for _, name := range slices.Sorted(maps.Keys(q.Status.Hard)) {
		text := fmt.Sprintf("%s: %s/%s", name, q.Status.Used[name], q.Status.Hard[name])
		if strings.HasPrefix(string(name), "limits.") {
			limits = append(limits, text)
		} else {
			requests = append(requests, text)
		}
	}
	return []any{q.Name, strings.Join(requests, ", "), strings.Join(limits, ", "), registry.Age(&q.ObjectMeta, now)}
}
