package flowcontrol

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme/api/flowcontrolv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// The validation of the spec of a FlowSchema: its precedence, and rules of three sorts (subjects,
// resource rules, non-resource rules). flowschema.go calls checkFlowSchemaSpec. The texts are those
// of Kubernetes' pkg/apis/flowcontrol/validation.

// distinguishers are the ways in which the requests of a schema can be divided into flows, in the
// order in which the error lists them.
var distinguishers = []flowcontrolv1.FlowDistinguisherMethodType{
	flowcontrolv1.FlowDistinguisherMethodByNamespaceType, flowcontrolv1.FlowDistinguisherMethodByUserType,
}

// checkFlowSchemaSpec validates the spec of the schema of that name. The priority level need not
// exist: then the schema has the condition Dangling.
func checkFlowSchemaSpec(name string, spec *flowcontrolv1.FlowSchemaSpec) field.ErrorList {
	p := field.NewPath("spec")
	errs := checkPrecedence(p.Child("matchingPrecedence"), name, spec.MatchingPrecedence)
	if m := spec.DistinguisherMethod; m != nil && !slices.Contains(distinguishers, m.Type) {
		errs = append(errs, field.NotSupported(p.Child("distinguisherMethod", "type"), govalue.JSON(m), distinguishers))
	}
	level := p.Child("priorityLevelConfiguration", "name")
	if spec.PriorityLevelConfiguration.Name == "" {
		errs = append(errs, field.Required(level, "must reference a priority level"))
	} else {
		errs = append(errs, check.DNSSubdomain(level, spec.PriorityLevelConfiguration.Name)...)
	}
	for i, rule := range field.Each(&errs, spec.Rules) {
		errs = append(errs, checkRule(p.Child("rules").Index(i), rule)...)
	}
	return errs
}

// checkPrecedence checks that the precedence is from 1 to MaxMatchingPrecedence, and that only the
// schema "exempt" comes first.
func checkPrecedence(p *field.Path, name string, n int32) field.ErrorList {
	switch {
	case n <= 0:
		return field.ErrorList{field.Invalid(p, n, "must be a positive value")}
	case n > flowcontrolv1.MaxMatchingPrecedence:
		return field.ErrorList{field.Invalid(p, n,
			fmt.Sprintf("must not be greater than %d", flowcontrolv1.MaxMatchingPrecedence))}
	case n == 1 && name != flowcontrolv1.NameExempt:
		return field.ErrorList{field.Invalid(p, n, "only the schema named 'exempt' may have matchingPrecedence 1")}
	}
	return nil
}

// checkRule checks that a rule has subjects, and requests that it is about.
func checkRule(p *field.Path, rule *flowcontrolv1.PolicyRulesWithSubjects) field.ErrorList {
	var errs field.ErrorList
	if len(rule.Subjects) == 0 {
		errs = append(errs, field.Required(p.Child("subjects"), "subjects must contain at least one value"))
	}
	for i, s := range field.Each(&errs, rule.Subjects) {
		errs = append(errs, checkSubject(p.Child("subjects").Index(i), s)...)
	}
	if len(rule.ResourceRules) == 0 && len(rule.NonResourceRules) == 0 {
		errs = append(errs, field.Required(p, "at least one of resourceRules and nonResourceRules has to be non-empty"))
	}
	for i, r := range field.Each(&errs, rule.ResourceRules) {
		errs = append(errs, checkResourceRule(p.Child("resourceRules").Index(i), r)...)
	}
	for i, r := range field.Each(&errs, rule.NonResourceRules) {
		errs = append(errs, checkNonResourceRule(p.Child("nonResourceRules").Index(i), r)...)
	}
	return errs
}

// checkSubject checks that exactly the field is set that belongs to the subject's kind.
func checkSubject(p *field.Path, s *flowcontrolv1.Subject) field.ErrorList {
	var errs field.ErrorList
	switch account := p.Child("serviceAccount"); {
	case s.Kind == flowcontrolv1.SubjectKindServiceAccount && s.ServiceAccount != nil:
		errs = checkAccount(account, s.ServiceAccount)
	case s.Kind == flowcontrolv1.SubjectKindServiceAccount:
		errs = field.ErrorList{field.Required(account,
			"serviceAccount is required when subject kind is 'ServiceAccount'")}
	case s.Kind == flowcontrolv1.SubjectKindUser && s.User != nil:
		errs = check.Required(p.Child("user", "name"), s.User.Name)
	case s.Kind == flowcontrolv1.SubjectKindUser:
		errs = field.ErrorList{field.Required(p.Child("user"), "user is required when subject kind is 'User'")}
	case s.Kind == flowcontrolv1.SubjectKindGroup && s.Group != nil:
		errs = check.Required(p.Child("group", "name"), s.Group.Name)
	case s.Kind == flowcontrolv1.SubjectKindGroup:
		errs = field.ErrorList{field.Required(p.Child("group"), "group is required when subject kind is 'Group'")}
	default:
		return field.ErrorList{field.NotSupported(p.Child("kind"), s.Kind, []flowcontrolv1.SubjectKind{
			flowcontrolv1.SubjectKindGroup, flowcontrolv1.SubjectKindServiceAccount, flowcontrolv1.SubjectKindUser})}
	}
	for _, other := range []struct {
		name string
		kind flowcontrolv1.SubjectKind
		set  bool
	}{
		{"serviceAccount", flowcontrolv1.SubjectKindServiceAccount, s.ServiceAccount != nil},
		{"user", flowcontrolv1.SubjectKindUser, s.User != nil},
		{"group", flowcontrolv1.SubjectKindGroup, s.Group != nil},
	} {
		if other.set && other.kind != s.Kind {
			errs = append(errs, field.Forbidden(p.Child(other.name),
				fmt.Sprintf("%s is forbidden when subject kind is not '%s'", other.name, other.kind)))
		}
	}
	return errs
}

// checkAccount checks the name and namespace of a service account. The name may be "*", the
// namespace may not.
func checkAccount(p *field.Path, a *flowcontrolv1.ServiceAccountSubject) field.ErrorList {
	var errs field.ErrorList
	if a.Name != flowcontrolv1.All {
		errs = check.Needed(p.Child("name"), a.Name, check.DNSSubdomain)
	}
	if a.Namespace == "" {
		return append(errs, field.Required(p.Child("namespace"), "must specify namespace for service account"))
	}
	return append(errs, check.DNSLabel(p.Child("namespace"), a.Namespace)...)
}

// verbs are the verbs of requests that a rule can name, in the order in which the error lists them.
var verbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"}

// checkVerbs checks the verbs of a rule. With "*" among them the others are not looked at.
func checkVerbs(p *field.Path, list []string) field.ErrorList {
	errs := checkList(p, list, "verbs must contain at least one value", "verbs")
	isVerb := func(verb string) bool { return slices.Contains(verbs, verb) }
	if !slices.Contains(list, flowcontrolv1.All) &&
		slices.ContainsFunc(list, func(v string) bool { return !isVerb(v) }) {
		errs = append(errs, field.NotSupported(p, list, verbs))
	}
	return errs
}

// checkList checks that a list is not empty, and that nothing stands beside "*".
func checkList(p *field.Path, list []string, missing, what string) field.ErrorList {
	if len(list) == 0 {
		return field.ErrorList{field.Required(p, missing)}
	}
	if len(list) > 1 && slices.Contains(list, flowcontrolv1.All) {
		return field.ErrorList{field.Invalid(p, list, "if '*' is present, must not specify other "+what)}
	}
	return nil
}

// checkResourceRule checks a rule about resources. It must be about namespaces, about
// cluster-scoped requests, or about both.
func checkResourceRule(p *field.Path, r *flowcontrolv1.ResourcePolicyRule) field.ErrorList {
	errs := checkVerbs(p.Child("verbs"), r.Verbs)
	errs = append(errs, checkList(p.Child("apiGroups"), r.APIGroups,
		"resource rules must supply at least one api group", "api groups")...)
	errs = append(errs, checkList(p.Child("resources"), r.Resources,
		"resource rules must supply at least one resource", "resources")...)
	if len(r.Namespaces) == 0 && r.ClusterScope {
		return errs
	}
	namespaces := p.Child("namespaces")
	errs = append(errs, checkList(namespaces, r.Namespaces,
		"resource rules that are not cluster scoped must supply at least one namespace", "namespaces")...)
	if slices.Contains(r.Namespaces, flowcontrolv1.All) {
		return errs
	}
	for i, ns := range field.Each(&errs, r.Namespaces) {
		for _, msg := range names.IsDNS1123Label(*ns) {
			errs = append(errs,
				field.Invalid(namespaces.Index(i), *ns,
					"each member of this list must be '*' or a DNS-1123 label; "+msg))
		}
	}
	return errs
}

// checkNonResourceRule checks a rule about paths that are no resources.
func checkNonResourceRule(p *field.Path, r *flowcontrolv1.NonResourcePolicyRule) field.ErrorList {
	errs := checkVerbs(p.Child("verbs"), r.Verbs)
	urls := p.Child("nonResourceURLs")
	errs = append(errs,
		checkList(urls, r.NonResourceURLs, "nonResourceURLs must contain at least one value", "non-resource URLs")...)
	if slices.Contains(r.NonResourceURLs, flowcontrolv1.All) {
		return errs
	}
	for i, url := range field.Each(&errs, r.NonResourceURLs) {
		if msg := badPath(*url); msg != "" {
			errs = append(errs, field.Invalid(urls.Index(i), *url, msg))
		}
	}
	return errs
}

// badPath returns what is wrong with a path, or "". A path may end with "/*", which matches all
// paths below it; any other "*" is a mistake.
func badPath(path string) string {
	switch {
	case path == "":
		return "must not be empty"
	case path[0] != '/':
		return "must start with slash"
	case strings.Contains(path, " "):
		return "must not contain white-space"
	case strings.Contains(path, "//"):
		return "must not contain double slash"
	case strings.Contains(strings.TrimSuffix(path, "/*"), "*"):
		return "wildcard can only do suffix matching"
	}
	return ""
}
