package matching

import (
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry/admission"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file matches one rule of a hook. Matcher.find and Matcher.target call it.

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

const (
	creates operations = 1 << iota
	updates
	deletes
	connects

	everyOperation = creates | updates | deletes | connects
)

// bit returns the set that has only op. An unknown operation has the empty set.
func bit(op admission.Operation) operations {
	switch op {
	case admission.Create:
		return creates
	case admission.Update:
		return updates
	case admission.Delete:
		return deletes
	case admission.Connect:
		return connects
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
				c.operations = everyOperation
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

// isAbout reports whether the rule names the operation, the resource, the subresource and the
// object of a request, whatever the group and version of the resource.
func (r *rule) isAbout(a *admission.Attributes) bool {
	return r.operations&bit(a.Operation) != 0 &&
		r.matchesResource(a.Resource.Resource, a.Subresource) &&
		(len(r.names) == 0 || slices.Contains(r.names, a.Name))
}

// covers reports whether the rule names the group and version of a resource and whether its scope
// includes the request. namespace is its ReviewedNamespace.
func (r *rule) covers(res *meta.GroupVersionResource, namespace string) bool {
	return has(r.groups, res.Group) && has(r.versions, res.Version) && r.matchesScope(res, namespace)
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
