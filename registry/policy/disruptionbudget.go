package policy

import (
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme/api/policyv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// disruptionBudgets declares poddisruptionbudgets. The name may be anything that fits into a
// segment of a path, because Kubernetes checks no more for this kind. A PUT must name the
// resourceVersion: AllowUnconditionalUpdate is not set.
func disruptionBudgets() registry.Resource {
	return registry.Typed(registry.ResourceOf[*policyv1.PodDisruptionBudget]{
		GroupResource: meta.GroupResource{Group: policyv1.GroupVersion.Group, Resource: "poddisruptionbudgets"},
		Kind:          "PodDisruptionBudget", ShortNames: []string{"pdb"},
		Namespaced: true,
		Strategy: registry.StrategyOf[*policyv1.PodDisruptionBudget]{
			ValidateName: names.PathSegmentName,
			Validate:     checkBudget,
		},
		Generation: []string{"spec"},
		Status:     &registry.StatusOf[*policyv1.PodDisruptionBudget]{Validate: checkBudgetStatus},
		Table: &registry.TableOf[*policyv1.PodDisruptionBudget]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Min Available", "How many pods must be available.", 0),
				registry.Column("Max Unavailable", "How many pods may be unavailable.", 0),
				registry.IntegerColumn("Allowed Disruptions", "How many pods may be evicted now.", 0),
				registry.AgeColumn,
			},
			Cells: func(b *policyv1.PodDisruptionBudget, now time.Time) []any {
				return []any{
					b.Name, limitText(b.Spec.MinAvailable), limitText(b.Spec.MaxUnavailable),
					int64(b.Status.DisruptionsAllowed),
					registry.Age(&b.ObjectMeta, now),
				}
			},
		},
	})
}

// limitText prints a limit, "N/A" if it is unset.
func limitText(v *meta.IntOrString) string {
	if v == nil {
		return "N/A"
	}
	return v.String()
}

// checkBudget checks a budget. The two limits exclude each other, and both may be missing: nothing
// is then required.
func checkBudget(b, _ *policyv1.PodDisruptionBudget) field.ErrorList {
	spec, p := &b.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if spec.MinAvailable != nil && spec.MaxUnavailable != nil {
		errs = append(errs, field.Invalid(p, govalue.JSON(spec), "minAvailable and maxUnavailable cannot be both set"))
	}
	errs = append(errs, checkLimit(p.Child("minAvailable"), spec.MinAvailable)...)
	errs = append(errs, checkLimit(p.Child("maxUnavailable"), spec.MaxUnavailable)...)
	errs = append(errs, meta.ValidateLabelSelector(spec.Selector, p.Child("selector"))...)
	return append(errs, check.OptionalOneOf(p.Child("unhealthyPodEvictionPolicy"), spec.UnhealthyPodEvictionPolicy,
		policyv1.AlwaysAllow, policyv1.IfHealthyBudget)...)
}

// checkLimit checks one limit: a number of pods or a percentage up to 100%.
func checkLimit(p *field.Path, v *meta.IntOrString) field.ErrorList {
	if v == nil {
		return nil
	}
	return append(check.IntOrPercent(p, *v), check.AtMost100Percent(p, *v)...)
}

// checkBudgetStatus checks a status. Evictions write it as well, but past this check
// (registry/core).
func checkBudgetStatus(b, _ *policyv1.PodDisruptionBudget) field.ErrorList {
	s, p := &b.Status, field.NewPath("status")
	errs := check.Conditions(p.Child("conditions"), s.Conditions)
	return append(errs, check.NotNegative(p, check.Count("disruptionsAllowed", &s.DisruptionsAllowed),
		check.Count("currentHealthy", &s.CurrentHealthy), check.Count("desiredHealthy", &s.DesiredHealthy),
		check.Count("expectedPods", &s.ExpectedPods))...)
}
