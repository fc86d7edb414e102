package rbac

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// roles declares the resource roles.
func roles(c Config) registry.Resource {
	return registry.Typed(registry.ResourceOf[*rbacv1.Role]{
		GroupResource: resource("roles"),
		Kind:          "Role",
		Guard:         guarded(c, guardRole),
		Namespaced:    true,
		Strategy: registry.StrategyOf[*rbacv1.Role]{
			Metadata:                 registry.MetaWhole,
			ValidateName:             anyName,
			Validate:                 func(r, _ *rbacv1.Role) field.ErrorList { return checkRules(r.Rules, true) },
			AllowCreateOnUpdate:      true,
			AllowUnconditionalUpdate: true,
		},
	})
}

// clusterRoles declares the resource clusterroles.
func clusterRoles(c Config) registry.Resource {
	return registry.Typed(registry.ResourceOf[*rbacv1.ClusterRole]{
		GroupResource: resource("clusterroles"),
		Kind:          "ClusterRole",
		Guard:         guarded(c, guardClusterRole),
		Strategy: registry.StrategyOf[*rbacv1.ClusterRole]{
			Metadata:                 registry.MetaWhole,
			ValidateName:             anyName,
			Validate:                 checkClusterRole,
			AllowCreateOnUpdate:      true,
			AllowUnconditionalUpdate: true,
		},
	})
}

// checkClusterRole validates a cluster role. Its rules may be about paths. An aggregation rule has
// at least one selector: its rules are then collected from the cluster roles that a selector
// matches.
func checkClusterRole(r, _ *rbacv1.ClusterRole) field.ErrorList {
	errs := checkRules(r.Rules, false)
	if r.AggregationRule == nil {
		return errs
	}
	p := field.NewPath("aggregationRule", "clusterRoleSelectors")
	if len(r.AggregationRule.ClusterRoleSelectors) == 0 {
		errs = append(errs,
			field.Required(p, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
	}
	for i, s := range field.Each(&errs, r.AggregationRule.ClusterRoleSelectors) {
		errs = append(errs, meta.ValidateLabelSelector(s, p.Index(i))...)
		if _, err := meta.SelectorFrom(s); err != nil {
			errs = append(errs, field.Invalid(p.Index(i), nil, "invalid label selector."))
		}
	}
	return errs
}

// checkRules validates the rules of a role.
func checkRules(rules []rbacv1.PolicyRule, namespaced bool) field.ErrorList {
	var errs field.ErrorList
	for i, rule := range field.Each(&errs, rules) {
		errs = append(errs, checkRule(field.NewPath("rules").Index(i), rule, namespaced)...)
	}
	return errs
}

// checkRule validates a rule. It is about resources or about paths (non-resource URLs), never both.
// A role with a namespace cannot be about paths, which are in no namespace.
func checkRule(p *field.Path, rule *rbacv1.PolicyRule, namespaced bool) field.ErrorList {
	var errs field.ErrorList
	if len(rule.Verbs) == 0 {
		errs = append(errs, field.Required(p.Child("verbs"), "verbs must contain at least one value"))
	}
	if urls := rule.NonResourceURLs; len(urls) > 0 {
		if namespaced {
			errs = append(errs,
				field.Invalid(p.Child("nonResourceURLs"), urls, "namespaced rules cannot apply to non-resource URLs"))
		}
		if len(rule.APIGroups) > 0 || len(rule.Resources) > 0 || len(rule.ResourceNames) > 0 {
			errs = append(errs, field.Invalid(p.Child("nonResourceURLs"), urls,
				"rules cannot apply to both regular resources and non-resource URLs"))
		}
		return errs
	}
	if len(rule.APIGroups) == 0 {
		errs = append(errs, field.Required(p.Child("apiGroups"), "resource rules must supply at least one api group"))
	}
	if len(rule.Resources) == 0 {
		errs = append(errs, field.Required(p.Child("resources"), "resource rules must supply at least one resource"))
	}
	return errs
}
