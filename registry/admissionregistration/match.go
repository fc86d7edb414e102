package admissionregistration

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/cel/policies"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// What may be chosen, in the order of messages.
var (
	operations = []admissionregistrationv1.OperationType{
		admissionregistrationv1.OperationAll, admissionregistrationv1.Connect, admissionregistrationv1.Create,
		admissionregistrationv1.Delete, admissionregistrationv1.Update,
	}
	mutatingOperations = []admissionregistrationv1.OperationType{
		admissionregistrationv1.OperationAll, admissionregistrationv1.Connect, admissionregistrationv1.Create,
		admissionregistrationv1.Update,
	}
	failurePolicies = []admissionregistrationv1.FailurePolicyType{admissionregistrationv1.Fail,
		admissionregistrationv1.Ignore}
	matchPolicies = []admissionregistrationv1.MatchPolicyType{admissionregistrationv1.Equivalent,
		admissionregistrationv1.Exact}
	reinvocationPolicies = []admissionregistrationv1.ReinvocationPolicyType{
		admissionregistrationv1.IfNeededReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy,
	}
)

// neededOneOf reports a value that is unset, or none of valid.
func neededOneOf[T ~string](p *field.Path, value *T, valid ...T) field.ErrorList {
	if value == nil {
		return field.ErrorList{field.Required(p, "")}
	}
	return check.Supported(p, *value, valid...)
}

// checkRule checks which requests are meant.
func checkRule(p *field.Path, r *admissionregistrationv1.RuleWithOperations) field.ErrorList {
	at := p.Child("operations")
	errs := checkWildcard(at, r.Operations, "operations")
	for i, o := range field.Each(&errs, r.Operations) {
		errs = append(errs, check.Supported(at.Index(i), *o, operations...)...)
	}
	errs = append(errs, checkWildcard(p.Child("apiGroups"), r.APIGroups, "API groups")...)
	at = p.Child("apiVersions")
	errs = append(errs, checkWildcard(at, r.APIVersions, "API versions")...)
	for i, v := range field.Each(&errs, r.APIVersions) {
		errs = append(errs, check.Required(at.Index(i), *v)...)
	}
	errs = append(errs, checkResources(p.Child("resources"), r.Resources)...)
	return append(errs, check.OptionalOneOf(p.Child("scope"), r.Scope,
		admissionregistrationv1.AllScopes, admissionregistrationv1.ClusterScope,
		admissionregistrationv1.NamespacedScope)...)
}

// checkWildcard wants something in a list, and nothing beside a "*".
func checkWildcard[T ~string](p *field.Path, list []T, what string) field.ErrorList {
	switch {
	case len(list) == 0:
		return field.ErrorList{field.Required(p, "")}
	case len(list) > 1 && slices.Contains(list, "*"):
		return field.ErrorList{field.Invalid(p, list, "if '*' is present, must not specify other "+what)}
	}
	return nil
}

// checkResources wants nothing that a wildcard before it stands for.
func checkResources(p *field.Path, resources []string) field.ErrorList {
	if len(resources) == 0 {
		return field.ErrorList{field.Required(p, "")}
	}
	var errs field.ErrorList
	allOf, ofAll := map[string]bool{}, map[string]bool{} // the x of x/*, and of */x
	named := false
	for i, r := range field.Each(&errs, resources) {
		if *r == "" {
			errs = append(errs, field.Required(p.Index(i), ""))
			continue
		}
		resource, sub, isSub := strings.Cut(*r, "/")
		if !isSub {
			named = *r != "*" // the last one decides
			continue
		}
		if allOf[resource] {
			errs = append(errs, field.Invalid(p.Index(i), *r,
				fmt.Sprintf("if '%s/*' is present, must not specify %s", resource, *r)))
		}
		if ofAll[sub] {
			errs = append(errs, field.Invalid(p.Index(i), *r,
				fmt.Sprintf("if '*/%s' is present, must not specify %s", sub, *r)))
		}
		allOf[resource] = allOf[resource] || sub == "*"
		ofAll[sub] = ofAll[sub] || resource == "*"
	}
	if len(resources) > 1 && slices.Contains(resources, "*/*") {
		errs = append(errs, field.Invalid(p, resources, "if '*/*' is present, must not specify other resources"))
	}
	if named && slices.Contains(resources, "*") {
		errs = append(errs, field.Invalid(p, resources,
			"if '*' is present, must not specify other resources without subresources"))
	}
	return errs
}

// checkMatch checks which requests a policy or a binding is for; nil is right.
func checkMatch(p *field.Path, m *admissionregistrationv1.MatchResources) field.ErrorList {
	if m == nil {
		return nil
	}
	errs := neededOneOf(p.Child("matchPolicy"), m.MatchPolicy, matchPolicies...)
	errs = append(errs, checkSelector(p.Child("namespaceSelector"), m.NamespaceSelector)...)
	errs = append(errs, checkSelector(p.Child("objectSelector"), m.ObjectSelector)...)
	errs = append(errs, checkNamedRules(p.Child("resourceRules"), m.ResourceRules)...)
	return append(errs, checkNamedRules(p.Child("excludeResourceRules"), m.ExcludeResourceRules)...)
}

func checkSelector(p *field.Path, s *meta.LabelSelector) field.ErrorList {
	if s == nil {
		return field.ErrorList{field.Required(p, "")}
	}
	return meta.ValidateLabelSelector(s, p)
}

func checkNamedRules(p *field.Path, rules []admissionregistrationv1.NamedRuleWithOperations) field.ErrorList {
	var errs field.ErrorList
	for i, r := range field.Each(&errs, rules) {
		at, seen := p.Index(i).Child("resourceNames"), check.Duplicates{}
		for j, name := range field.Each(&errs, r.ResourceNames) {
			errs = append(errs, check.PathSegment(at.Index(j), *name)...)
			if !seen.Add(*name) {
				errs = append(errs, field.Duplicate(at.Index(j), *name))
			}
		}
		errs = append(errs, checkRule(p.Index(i), &r.RuleWithOperations)...)
	}
	return errs
}

// checkMutable refuses requests that have no object to be changed.
func checkMutable(p *field.Path, m *admissionregistrationv1.MatchResources) field.ErrorList {
	if m == nil {
		return nil
	}
	var errs field.ErrorList
	for _, r := range field.Each(&errs, m.ResourceRules) {
		for _, o := range field.Each(&errs, r.Operations) {
			errs = append(errs, check.Supported(p.Child("resourceRules", "operations"), *o, mutatingOperations...)...)
		}
	}
	return errs
}

// maxMatchConditions is how many conditions there may be.
const maxMatchConditions = 64

func checkMatchConditions(e *policies.Scope, p *field.Path, conditions []admissionregistrationv1.MatchCondition,
	params bool) field.ErrorList {
	var errs field.ErrorList
	if len(conditions) > maxMatchConditions {
		errs = append(errs, field.TooMany(p, len(conditions), maxMatchConditions))
	}
	seen := check.Duplicates{}
	for i, c := range field.Each(&errs, conditions) {
		at := p.Index(i)
		errs = append(errs, checkExpression(e, at.Child("expression"), strings.TrimSpace(c.Expression), "",
			policies.Uses{Params: params, Authorizer: true}, types.BoolType)...)
		errs = append(errs, check.Needed(at.Child("name"), c.Name, check.QualifiedName)...)
		if c.Name != "" && !seen.Add(c.Name) {
			errs = append(errs, field.Duplicate(at.Child("name"), c.Name))
		}
	}
	return errs
}

// checkExpression wants an expression that is more than space, compiles, and has one of some types.
func checkExpression(e *policies.Scope, p *field.Path, expression, detail string, uses policies.Uses,
	results ...*types.Type) field.ErrorList {
	if isBlank(expression) {
		return field.ErrorList{field.Required(p, detail)}
	}
	return only(e.Check(p, expression, uses, results...))
}

// only returns a list of one error, or of none.
func only(err *field.Error) field.ErrorList {
	if err == nil {
		return nil
	}
	return field.ErrorList{err}
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }
