package admissionregistration

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/cel/policies"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// Validation of the parts that validating and mutating policies have in common, and of the parts
// that their bindings have in common, with the cells of their tables. validatingpolicy.go and
// mutatingpolicy.go call it.

// checkPolicy validates the fields that both kinds of policies have, except for expressions. A
// policy must have at least one resource rule; a binding need not (checkMatch).
func checkPolicy(p *field.Path, failure *admissionregistrationv1.FailurePolicyType,
	params *admissionregistrationv1.ParamKind,
	match *admissionregistrationv1.MatchResources) field.ErrorList {
	errs := requiredOneOf(p.Child("failurePolicy"), failure, failurePolicies...)
	if params != nil {
		errs = append(errs, checkParamKind(p.Child("paramKind"), params)...)
	}
	p = p.Child("matchConstraints")
	if match == nil {
		return append(errs, field.Required(p, ""))
	}
	errs = append(errs, checkMatch(p, match)...)
	if len(match.ResourceRules) == 0 {
		errs = append(errs, field.Required(p.Child("resourceRules"), ""))
	}
	return errs
}

// checkParamKind validates the kind of the objects that hold parameters of a policy.
func checkParamKind(p *field.Path, k *admissionregistrationv1.ParamKind) field.ErrorList {
	errs := checkParamVersion(p.Child("apiVersion"), k.APIVersion)
	if k.Kind == "" {
		return append(errs, field.Required(p.Child("kind"), ""))
	}
	if msgs := names.IsDNS1035Label(strings.ToLower(k.Kind)); len(msgs) > 0 {
		errs = append(errs, field.Invalid(p.Child("kind"), k.Kind,
			"may have mixed case, but should otherwise match: "+strings.Join(msgs, ",")))
	}
	return errs
}

// checkParamVersion requires an apiVersion such as "v1" or "apps/v1".
func checkParamVersion(p *field.Path, apiVersion string) field.ErrorList {
	group, version, ok := strings.Cut(apiVersion, "/")
	switch {
	case apiVersion == "":
		return field.ErrorList{field.Required(p, "")}
	case strings.Contains(version, "/"):
		return field.ErrorList{field.Invalid(p, apiVersion, "unexpected GroupVersion string: "+apiVersion)}
	case !ok:
		group, version = "", apiVersion
	}
	var errs field.ErrorList
	if msgs := names.IsDNS1123Subdomain(group); group != "" && len(msgs) > 0 {
		errs = append(errs, field.Invalid(p, group, strings.Join(msgs, ",")))
	}
	if version == "" {
		return append(errs, field.Invalid(p, apiVersion, "version must be specified"))
	}
	if msgs := names.IsDNS1035Label(version); len(msgs) > 0 {
		errs = append(errs, field.Invalid(p, version, strings.Join(msgs, ",")))
	}
	return errs
}

// checkVariables validates the variables of a policy in their order, and declares each in e. A
// variable can be used by the variables after it and by the other expressions of the policy.
func checkVariables(e *policies.Scope, p *field.Path, variables []admissionregistrationv1.Variable,
	uses policies.Uses) field.ErrorList {
	var errs field.ErrorList
	for i, v := range field.Each(&errs, variables) {
		at := p.Index(i)
		switch name := at.Child("name"); {
		case isBlank(v.Name):
			errs = append(errs, field.Required(name, "name is not specified"))
		case !isIdentifier(v.Name):
			errs = append(errs, field.Invalid(name, v.Name, "must be a valid CEL identifier"))
		}
		if at = at.Child("expression"); isBlank(v.Expression) {
			errs = append(errs, field.Required(at, "expression is not specified"))
		} else {
			errs = append(errs, listOf(e.Declare(at, v.Name, v.Expression, uses))...)
		}
	}
	return errs
}

// reservedWords are the words that cannot be identifiers in CEL.
var reservedWords = strings.Fields("true false null in as break const continue else for function if import let loop " +
	"package namespace return var void while")

// isIdentifier reports whether name is an identifier in CEL.
func isIdentifier(name string) bool {
	return len(names.IsCIdentifier(name)) == 0 && !slices.Contains(reservedWords, name)
}

// checkBinding validates the fields that both kinds of bindings have. The policy and the parameters
// need not exist.
func checkBinding(p *field.Path, policy string, params *admissionregistrationv1.ParamRef,
	match *admissionregistrationv1.MatchResources) field.ErrorList {
	errs := check.Needed(p.Child("policyName"), policy, check.DNSSubdomain)
	errs = append(errs, checkParamRef(p.Child("paramRef"), params)...)
	return append(errs, checkMatch(p.Child("matchResources"), match)...)
}

// checkParamRef requires exactly one of name and selector, and parameterNotFoundAction.
func checkParamRef(p *field.Path, r *admissionregistrationv1.ParamRef) field.ErrorList {
	if r == nil {
		return nil
	}
	const either = "name and selector are mutually exclusive"
	errs := check.Optional(p.Child("name"), r.Name, check.PathSegment)
	if r.Name != "" && r.Selector != nil {
		errs = append(errs, field.Forbidden(p.Child("name"), either))
	}
	errs = append(errs, meta.ValidateLabelSelector(r.Selector, p.Child("selector"))...)
	switch {
	case r.Name != "" && r.Selector != nil:
		errs = append(errs, field.Forbidden(p.Child("selector"), either))
	case r.Name == "" && r.Selector == nil:
		errs = append(errs, field.Required(p, "one of name or selector must be specified"))
	}
	p = p.Child("parameterNotFoundAction")
	if r.ParameterNotFoundAction == nil {
		return append(errs, field.Required(p, ""))
	}
	return append(errs, check.OneOf(p, *r.ParameterNotFoundAction,
		admissionregistrationv1.DenyAction, admissionregistrationv1.AllowAction)...)
}

// paramKindCell is the cell ParamKind of a policy.
func paramKindCell(k *admissionregistrationv1.ParamKind) string {
	if k == nil {
		return registry.Unset
	}
	return k.APIVersion + "/" + k.Kind
}

// paramRefCell is the cell ParamRef of a binding. A reference without a namespace is shown as
// "*/name".
func paramRefCell(r *admissionregistrationv1.ParamRef) string {
	switch {
	case r == nil, r.Name == "" && r.Selector == nil:
		return registry.Unset
	case r.Name == "":
		return selectorCell(r.Selector)
	case r.Namespace == "":
		return "*/" + r.Name
	}
	return r.Namespace + "/" + r.Name
}

// selectorCell returns a selector in the form of Go's generated String methods, which is what
// kube-apiserver shows.
func selectorCell(s *meta.LabelSelector) string {
	var b strings.Builder
	b.WriteString("&LabelSelector{MatchLabels:map[string]string{")
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		fmt.Fprintf(&b, "%s: %s,", key, s.MatchLabels[key])
	}
	b.WriteString("},MatchExpressions:[]LabelSelectorRequirement{")
	for _, r := range s.MatchExpressions {
		fmt.Fprintf(&b, "LabelSelectorRequirement{Key:%s,Operator:%s,Values:%v,},", r.Key, r.Operator, r.Values)
	}
	b.WriteString("},}")
	return b.String()
}
