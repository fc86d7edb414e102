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

// Validation of the parts that webhooks, policies and bindings have in common: rules, match
// resources and match conditions. checkWebhook (webhookcheck.go), checkPolicy and checkBinding
// (policy.go) call it. The defaults of v1 were set before, so a field that has a default is
// required here.

// The valid values of enumerations. They are sorted, because errors list them in this order.
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

// requiredOneOf requires value to be set, and to be one of valid.
func requiredOneOf[T ~string](p *field.Path, value *T, valid ...T) field.ErrorList {
	if value == nil {
		return field.ErrorList{field.Required(p, "")}
	}
	return check.Supported(p, *value, valid...)
}

// checkRule validates a rule, which says by operation, group, version and resource which requests
// are meant.
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

// checkWildcard requires a list that is not empty, and that has no other element if it has "*".
// what names the other elements in the error.
func checkWildcard[T ~string](p *field.Path, list []T, what string) field.ErrorList {
	switch {
	case len(list) == 0:
		return field.ErrorList{field.Required(p, "")}
	case len(list) > 1 && slices.Contains(list, "*"):
		return field.ErrorList{field.Invalid(p, list, "if '*' is present, must not specify other "+what)}
	}
	return nil
}

// checkResources validates the resources of a rule, such as "pods", "pods/status", "pods/*",
// "*/scale", "*" and "*/*". A resource that an earlier wildcard includes is an error.
func checkResources(p *field.Path, resources []string) field.ErrorList {
	if len(resources) == 0 {
		return field.ErrorList{field.Required(p, "")}
	}
	var errs field.ErrorList
	allOf, ofAll := map[string]bool{}, map[string]bool{} // resources x of "x/*", and subresources x of "*/x"
	named := false
	for i, r := range field.Each(&errs, resources) {
		if *r == "" {
			errs = append(errs, field.Required(p.Index(i), ""))
			continue
		}
		resource, sub, isSub := strings.Cut(*r, "/")
		if !isSub {
			named = *r != "*" // only the last resource without a subresource counts, as in kube-apiserver
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

// checkMatch validates the match resources of a policy or binding. nil is valid: a binding may
// leave them out, and checkPolicy refuses a policy without them.
func checkMatch(p *field.Path, m *admissionregistrationv1.MatchResources) field.ErrorList {
	if m == nil {
		return nil
	}
	errs := requiredOneOf(p.Child("matchPolicy"), m.MatchPolicy, matchPolicies...)
	errs = append(errs, checkSelector(p.Child("namespaceSelector"), m.NamespaceSelector)...)
	errs = append(errs, checkSelector(p.Child("objectSelector"), m.ObjectSelector)...)
	errs = append(errs, checkNamedRules(p.Child("resourceRules"), m.ResourceRules)...)
	return append(errs, checkNamedRules(p.Child("excludeResourceRules"), m.ExcludeResourceRules)...)
}

// checkSelector requires a selector; the defaults set an empty one.
func checkSelector(p *field.Path, s *meta.LabelSelector) field.ErrorList {
	if s == nil {
		return field.ErrorList{field.Required(p, "")}
	}
	return meta.ValidateLabelSelector(s, p)
}

// checkNamedRules validates rules that may also name objects. A rule must not name an object twice.
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

// checkMutable refuses the operation DELETE, which has no object that a mutation could change. The
// path of the error has no indexes, as in kube-apiserver.
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

// maxMatchConditions is the number of match conditions that a webhook or policy may have
// (KEP-3716).
const maxMatchConditions = 64

// checkMatchConditions validates match conditions: each has a unique name and an expression of type
// bool. The expressions may use the authorizer, and params if params is true.
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

// checkExpression requires an expression that compiles and has one of the types results. A blank
// expression is an error with the text detail. uses says which variables the expression may read.
func checkExpression(e *policies.Scope, p *field.Path, expression, detail string, uses policies.Uses,
	results ...*types.Type) field.ErrorList {
	if isBlank(expression) {
		return field.ErrorList{field.Required(p, detail)}
	}
	return listOf(e.Check(p, expression, uses, results...))
}

// listOf returns err as a list, which is empty if err is nil.
func listOf(err *field.Error) field.ErrorList {
	if err == nil {
		return nil
	}
	return field.ErrorList{err}
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }
