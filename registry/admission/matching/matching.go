// Package matching decides for which requests a webhook or an admission policy is called.
//
// Words. A hook is a webhook, a policy or the binding of a policy. A rule names operations, groups,
// versions, resources and a scope. Two resources are equivalent if the same stored objects are
// served under both: the versions of one resource, and resources that share a store, such as the
// events of two groups. A target is the resource and kind as which a hook sees a request: those of
// the request, or equivalent ones that a rule of the hook names.
//
// Laws:
//   - Matcher.Match decides as kube-apiserver does, with the same errors.
//   - A hook whose rules or object selector do not match costs no look-up of a namespace.
//   - Index.Candidates yields every hook that matches, and more; it keeps the order of the hooks.
//   - A request that no rule names allocates nothing.
//
// A Matcher and an Index never change, so goroutines may share them. They do not keep the criteria
// from which they were made.
//
// Not here: match conditions (scheme/cel/policies), calling hooks (webhooks, admissionpolicy),
// which resources of a server are equivalent (server/generic).
//
// Read: matching.go, rule.go, world.go, index.go, exempt.go.
package matching

import (
	"context"

	"github.com/coracle-project/coracle/registry/admission"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Criteria say for which requests a hook is called.
type Criteria struct {
	// Rules are the rules of the hook. At least one must match.
	Rules []v1.NamedRuleWithOperations
	// AnyResource says that an empty list of Rules matches every request. If it is not set, an
	// empty list matches none.
	AnyResource bool
	// Excluded are rules for requests for which the hook is not called, even if one of Rules
	// matches.
	Excluded []v1.NamedRuleWithOperations
	// Policy says whether the rules also match equivalent resources; nil means Exact.
	Policy *v1.MatchPolicyType
	// Namespaces selects the namespace of the object by its labels, and Objects selects the object
	// or the old object. nil selects nothing.
	Namespaces, Objects *meta.LabelSelector
}

// OfWebhook returns the Criteria of a webhook. The parameters are the fields of its configuration.
func OfWebhook(
	rules []v1.RuleWithOperations, policy *v1.MatchPolicyType, namespaces, objects *meta.LabelSelector,
) Criteria {
	named := make([]v1.NamedRuleWithOperations, len(rules))
	for i := range rules {
		named[i].RuleWithOperations = rules[i]
	}
	return Criteria{Rules: named, Policy: policy, Namespaces: namespaces, Objects: objects}
}

// OfResources returns the Criteria of a policy or binding with the match resources m. The defaults
// of m must be set.
func OfResources(m *v1.MatchResources) Criteria {
	return Criteria{
		Rules: m.ResourceRules, AnyResource: true, Excluded: m.ExcludeResourceRules, Policy: m.MatchPolicy,
		Namespaces: m.NamespaceSelector, Objects: m.ObjectSelector,
	}
}

// Target is the resource and kind as which a hook sees a request. Targets are comparable.
type Target struct {
	Resource    meta.GroupVersionResource
	Subresource string // that of the request
	Kind        meta.GroupVersionKind
	// Type converts the objects of the request to Kind. See Object and Old.
	Type kind.Kind
}

// Object returns the object of a request as the target shows it, nil if there is no object. The
// result must not be changed, and is valid until the plugin returns.
func (t *Target) Object(ctx context.Context, a *admission.Attributes) (meta.Typed, error) {
	return a.ObjectAs(ctx, t.Type, t.Kind.Version)
}

// Old returns the old object of a request as the target shows it, nil if there is no old object.
// The result must not be changed, and is valid until the plugin returns.
func (t *Target) Old(ctx context.Context, a *admission.Attributes) (meta.Typed, error) {
	return a.OldAs(ctx, t.Type, t.Kind.Version)
}

// Matcher decides for which requests a hook is called.
type Matcher struct {
	rules, excluded     []rule
	anyResource         bool // there are no rules, so that every resource matches
	equivalent          bool
	namespaces, objects selector
}

// selector is a compiled label selector. If the selector is invalid, Match returns err for each
// request that the hook would otherwise be called for.
type selector struct {
	meta.LabelRequirements
	err error // a *meta.StatusError or nil
}

// Compile returns the Matcher of a hook. It never fails: if a selector is invalid, Match returns
// the error for each request that the hook would otherwise be called for.
func Compile(c Criteria) *Matcher {
	return &Matcher{
		rules: compileRules(c.Rules), excluded: compileRules(c.Excluded),
		anyResource: c.AnyResource && len(c.Rules) == 0,
		equivalent:  c.Policy != nil && *c.Policy == v1.Equivalent,
		namespaces:  compileSelector(c.Namespaces), objects: compileSelector(c.Objects),
	}
}

func compileSelector(s *meta.LabelSelector) selector {
	compiled, err := meta.SelectorFrom(s)
	if err != nil {
		return selector{err: meta.NewInternalError(err)}
	}
	return selector{LabelRequirements: compiled}
}

// Match reports whether a hook is to be called for a request, and as which target the hook sees the
// request. Match fails if a rule matches but a selector cannot be decided; matched is then false.
// The error is a *meta.StatusError with code 404 if the namespace does not exist, else with code
// 500.
func (m *Matcher) Match(ctx context.Context, a *admission.Attributes, w *World) (t Target, matched bool, err error) {
	t, matched = m.target(a, w)
	if !matched {
		return Target{}, false, nil
	}
	object, objectErr := m.matchObject(a)
	if !object && objectErr == nil {
		return Target{}, false, nil
	}
	namespace, namespaceErr := m.matchNamespace(ctx, a, w)
	if !namespace && namespaceErr == nil {
		return Target{}, false, nil
	}
	switch {
	case namespaceErr != nil:
		return Target{}, false, namespaceErr
	case objectErr != nil:
		return Target{}, false, objectErr
	}
	return t, true, nil
}

// Why returns why a hook is not called for a request for which Match has reported false and no
// error.
func (m *Matcher) Why(a *admission.Attributes, w *World) string {
	if _, matched := m.target(a, w); !matched {
		if _, excluded := m.find(m.excluded, a, a.ReviewedNamespace(), w); excluded {
			return "a rule of excludeResourceRules matches"
		}
		return "no rule matches the operation, the resource and its scope"
	}
	if object, err := m.matchObject(a); !object && err == nil {
		return "objectSelector selects neither the object nor the old object"
	}
	return "namespaceSelector does not select the namespace"
}

// target returns the target that the rules match.
func (m *Matcher) target(a *admission.Attributes, w *World) (t Target, matched bool) {
	namespace := a.ReviewedNamespace()
	if len(m.excluded) > 0 {
		if _, excluded := m.find(m.excluded, a, namespace, w); excluded {
			return Target{}, false
		}
	}
	if m.anyResource {
		return own(a), true
	}
	return m.find(m.rules, a, namespace, w)
}

// own returns the target of a hook that sees the request as it is.
func own(a *admission.Attributes) Target {
	return Target{a.Resource, a.Subresource, a.Kind, a.Type}
}

// find returns the target of the first rule that matches. A rule that names the resource of the
// request wins over earlier rules that name an equivalent resource.
func (m *Matcher) find(rules []rule, a *admission.Attributes, namespace string, w *World) (Target, bool) {
	about := false
	for i := range rules {
		if r := &rules[i]; r.isAbout(a) {
			if about = true; r.covers(&a.Resource, namespace) {
				return own(a), true
			}
		}
	}
	if !about || !m.equivalent { // equivalent resources have the same name, so no rule is about them
		return Target{}, false
	}
	equivalents := w.equivalents(a)
	for i := range rules {
		r := &rules[i]
		if !r.isAbout(a) {
			continue
		}
		for j := range equivalents {
			if t := &equivalents[j]; t.Resource != a.Resource && r.covers(&t.Resource, namespace) {
				return *t, true
			}
		}
	}
	return Target{}, false
}

// matchObject reports whether the selector selects the object or the old object.
func (m *Matcher) matchObject(a *admission.Attributes) (bool, error) {
	switch s := &m.objects; {
	case s.err != nil:
		return false, s.err
	case s.Empty():
		return true, nil
	default:
		return s.selects(a.Object) || a.Old != nil && s.selects(a.Old), nil
	}
}

// selects reports whether obj has metadata and the selector matches its labels.
func (s *selector) selects(obj meta.Typed) bool {
	labelled, ok := obj.(meta.Object)
	return ok && s.Matches(meta.Set(labelled.GetObjectMeta().Labels))
}

// matchNamespace reports whether the selector selects the namespace of the object. Objects that are
// in no namespace, except namespaces themselves, are always selected.
func (m *Matcher) matchNamespace(ctx context.Context, a *admission.Attributes, w *World) (bool, error) {
	if a.ReviewedNamespace() == "" && a.Resource.Resource != "namespaces" {
		return true, nil
	}
	switch s := &m.namespaces; {
	case s.err != nil:
		return false, s.err
	case s.Empty():
		return true, nil
	default:
		labels, err := w.namespaceLabels(ctx, a)
		if err != nil {
			return false, err
		}
		return s.Matches(labels), nil
	}
}
