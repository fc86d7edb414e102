package rbac

import (
	"slices"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
)

// wildcard is the wildcard in rules.
const wildcard = "*"

// verbs are the common verbs. Each has a bit, so most decisions compare bits instead of strings.
var verbs = [...]string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "post",
	"put", "head", "options",
	"bind", "escalate", "impersonate", "use"}

// bitOf returns the bit of a verb, 0 if it is not a common one.
func bitOf(verb string) uint16 {
	for i := range verbs {
		if verbs[i] == verb {
			return 1 << i
		}
	}
	return 0
}

// rule is a compiled rule.
type rule struct {
	*rbacv1.PolicyRule
	verbs       uint16   // bits of the common verbs; all bits for "*"
	others      []string // verbs without a bit, and "*"
	anyGroup    bool
	anyResource bool
	urls        []url
}

// url is a path, or a prefix of paths.
type url struct {
	path   string
	prefix bool
}

// compile compiles rules. The result refers to rules, which must not be changed.
func compile(rules []rbacv1.PolicyRule) []rule {
	out := make([]rule, len(rules))
	for i := range rules {
		r := &out[i]
		r.PolicyRule = &rules[i]
		for _, verb := range r.Verbs {
			bit := bitOf(verb)
			if verb == wildcard {
				bit = ^uint16(0)
			}
			if r.verbs |= bit; bit == 0 || verb == wildcard {
				r.others = append(r.others, verb)
			}
		}
		r.anyGroup, r.anyResource = slices.Contains(r.APIGroups, wildcard), slices.Contains(r.Resources, wildcard)
		for _, path := range r.NonResourceURLs {
			r.urls = append(r.urls, url{strings.TrimRight(path, wildcard), strings.HasSuffix(path, wildcard)})
		}
	}
	return out
}

// question is the request that a decision is about.
type question struct {
	*request.Attributes
	verb    uint16 // the verb's bit; 0 if it has none
	missing bool   // set if a binding's role does not exist
}

// allows reports whether the rule allows the request.
func (r *rule) allows(q *question) bool {
	switch {
	case q.verb != 0 && r.verbs&q.verb == 0,
		q.verb == 0 && !slices.Contains(r.others, q.Verb) && !slices.Contains(r.others, wildcard):
		return false
	case !q.IsResource:
		return r.hasPath(q.Path)
	}
	return (r.anyGroup || slices.Contains(r.APIGroups, q.Group)) &&
		(r.anyResource || r.hasResource(q.Resource, q.Subresource)) &&
		(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, q.Name))
}

// hasResource reports whether the rule names the resource; for a subresource, whether it names
// resource/sub or */sub.
func (r *rule) hasResource(resource, sub string) bool {
	if sub == "" {
		return slices.Contains(r.Resources, resource)
	}
	for _, name := range r.Resources {
		of, ok := strings.CutSuffix(name, sub)
		if !ok {
			continue
		}
		if of, ok = strings.CutSuffix(of, "/"); ok && (of == resource || of == wildcard) {
			return true
		}
	}
	return false
}

// hasPath reports whether the rule names the path, or a prefix of it.
func (r *rule) hasPath(path string) bool {
	for _, u := range r.urls {
		if u.path == path && !u.prefix || u.prefix && strings.HasPrefix(path, u.path) {
			return true
		}
	}
	return false
}
