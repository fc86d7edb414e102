package matching

import (
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry/admission"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has one rule of a hook.

// wildcard stands for everything in a rule.
const wildcard = "*"

// rule is a compiled rule. Strings are compared as they are, so that an invalid one matches
// nothing.
type rule struct {
	operations operations
	scope      v1.ScopeType
	groups     []string
	versions   []string
	resources  []pattern
	names      []string // of objects; empty: every object
}

// operations is a set of operations.
type operations uint8

// bits has the bit of each operation in a set.
var bits = [...]admission.Operation{admission.Create, admission.Update, admission.Delete, admission.Connect}

// bit returns the set of one operation; the empty set for an unknown one.
func bit(op admission.Operation) operations {
	if i := slices.Index(bits[:], op); i >= 0 {
		return 1 << i
	}
	return 0
}

// pattern is a resource of a rule: "pods", "pods/status", "pods/*", "*/scale", "*" or "*/*". A
// pattern without a subresource matches only the resource itself.
type pattern struct{ resource, subresource string }

func compileRules(rules []v1.NamedRuleWithOperations) []rule {
	compiled := make([]rule, len(rules))
	for i := range rules {
		r := &rules[i]
		c := &compiled[i]
		*c = rule{
			scope: v1.AllScopes, groups: slices.Clone(r.APIGroups), versions: slices.Clone(r.APIVersions),
			names: slices.Clone(r.ResourceNames),
		}
		if r.Scope != nil {
			c.scope = *r.Scope
		}
		for _, op := range r.Operations {
			if op == v1.OperationAll {
				c.operations = 1<<len(bits) - 1
			}
			c.operations |= bit(admission.Operation(op))
		}
		for _, res := range r.Resources {
			name, sub, _ := strings.Cut(res, "/")
			c.resources = append(c.resources, pattern{name, sub})
		}
	}
	return compiled
}

// matches reports whether the rule matches a request as a request for res. namespace is
// NamespaceOf(a).
func (r *rule) matches(a *admission.Attributes, res *meta.GroupVersionResource, namespace string) bool {
	return r.operations&bit(a.Operation) != 0 &&
		has(r.groups, res.Group) &&
		r.matchesResource(res.Resource, a.Subresource) &&
		has(r.versions, res.Version) &&
		r.matchesScope(res, namespace) &&
		(len(r.names) == 0 || slices.Contains(r.names, a.Name))
}

// has reports whether items has the item or the wildcard.
func has(items []string, item string) bool {
	for _, s := range items {
		if s == item || s == wildcard {
			return true
		}
	}
	return false
}

func (r *rule) matchesResource(resource, subresource string) bool {
	for i := range r.resources {
		p := &r.resources[i]
		if (p.resource == resource || p.resource == wildcard) &&
			(p.subresource == subresource || p.subresource == wildcard) {
			return true
		}
	}
	return false
}

// namespaces are cluster-scoped, although their requests have a namespace.
var namespaces = meta.GroupVersionResource{Version: "v1", Resource: "namespaces"}

func (r *rule) matchesScope(res *meta.GroupVersionResource, namespace string) bool {
	namespaced := namespace != "" && *res != namespaces
	switch r.scope {
	case v1.AllScopes:
		return true
	case v1.NamespacedScope:
		return namespaced
	case v1.ClusterScope:
		return !namespaced
	default:
		return false
	}
}
