package rbac

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meter"
)

// Comparing rights: does a list of rules allow all that another list allows? A rule is taken apart
// into single rights, and each must be covered by one of the rules that are held. This is the
// algorithm of Kubernetes' pkg/registry/rbac/validation (Covers). guard.go and server/bootstrap
// call MissingRights.

// all is the wildcard of verbs, groups, resources and paths in rules.
const all = "*"

// maxMissingRights bounds what MissingRights returns. A rule of some kilobytes can stand for
// millions of rights, and an error with all of them would help nobody.
const maxMissingRights = 1 << 14

// MissingRights returns the rights that rules allow and held does not, each as a rule with one
// verb, one group and resource (or one path), and at most one name. It returns at most
// maxMissingRights of them, and an error only if ctx ends: comparing takes len(held) steps for each
// right, and a client can send many.
func MissingRights(ctx context.Context, held, rules []rbacv1.PolicyRule) ([]rbacv1.PolicyRule, error) {
	var missing []rbacv1.PolicyRule
	m := meter.New(ctx)
	for i := range rules {
		for one := range singles(&rules[i]) {
			if err := m.Step(len(held) * 16); err != nil {
				return nil, err
			}
			if slices.ContainsFunc(held, func(h rbacv1.PolicyRule) bool { return one.coveredBy(&h) }) {
				continue
			}
			if missing = append(missing, one.rule()); len(missing) == maxMissingRights {
				return missing, nil
			}
		}
	}
	return missing, nil
}

// single is one right. It may hold a wildcard, such as the verb "*", which only a rule with a
// wildcard covers.
type single struct {
	verb, group, resource string
	name                  string // of the object, if named
	named                 bool   // the right is about one object, not all
	path                  string
	isPath                bool
}

// singles yields the rights that a rule consists of. A rule without verbs, or without resources and
// paths, has none.
func singles(r *rbacv1.PolicyRule) func(yield func(single) bool) {
	return func(yield func(single) bool) {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					s := single{verb: verb, group: group, resource: resource}
					if len(r.ResourceNames) == 0 && !yield(s) {
						return
					}
					for _, name := range r.ResourceNames {
						if s.name, s.named = name, true; !yield(s) {
							return
						}
					}
				}
			}
		}
		for _, path := range r.NonResourceURLs {
			for _, verb := range r.Verbs {
				if !yield(single{verb: verb, path: path, isPath: true}) {
					return
				}
			}
		}
	}
}

// rule returns the right as a rule.
func (s *single) rule() rbacv1.PolicyRule {
	if s.isPath {
		return rbacv1.PolicyRule{Verbs: []string{s.verb}, NonResourceURLs: []string{s.path}}
	}
	r := rbacv1.PolicyRule{Verbs: []string{s.verb}, APIGroups: []string{s.group}, Resources: []string{s.resource}}
	if s.named {
		r.ResourceNames = []string{s.name}
	}
	return r
}

// coveredBy reports whether the rule r gives the right. A rule with names gives no right to all
// objects.
func (s *single) coveredBy(r *rbacv1.PolicyRule) bool {
	switch {
	case !slices.Contains(r.Verbs, all) && !slices.Contains(r.Verbs, s.verb):
		return false
	case len(r.ResourceNames) > 0 && (!s.named || !slices.Contains(r.ResourceNames, s.name)):
		return false
	case s.isPath:
		return slices.ContainsFunc(r.NonResourceURLs, func(path string) bool {
			return path == s.path || strings.HasSuffix(path, all) &&
				strings.HasPrefix(s.path, strings.TrimRight(path, all))
		})
	}
	return (slices.Contains(r.APIGroups, all) || slices.Contains(r.APIGroups, s.group)) &&
		coversResource(r.Resources, s.resource)
}

// coversResource reports whether a list of resources in a rule includes resource. "*/scale"
// includes the subresource scale of every resource; "pods" does not include "pods/scale".
func coversResource(resources []string, resource string) bool {
	if slices.Contains(resources, all) || slices.Contains(resources, resource) {
		return true
	}
	_, sub, ok := strings.Cut(resource, "/")
	return ok && slices.Contains(resources, "*/"+sub)
}

// describeMissing returns the rights of MissingRights as text: a rule on each line, in which rights
// that differ only in the verb are merged. The lines are sorted, as Kubernetes sorts them.
func describeMissing(missing []rbacv1.PolicyRule) string {
	type thing struct{ group, resource, name string }
	verbs := map[thing]*rbacv1.PolicyRule{}
	var compact []*rbacv1.PolicyRule
	for i := range missing {
		r := &missing[i]
		if len(r.NonResourceURLs) > 0 {
			compact = append(compact, r)
			continue
		}
		of := thing{r.APIGroups[0], r.Resources[0], fmt.Sprint(r.ResourceNames)}
		if same := verbs[of]; same != nil {
			same.Verbs = append(same.Verbs, r.Verbs...)
			continue
		}
		verbs[of] = r
		compact = append(compact, r)
	}
	lines := make([]string, len(compact))
	for i, r := range compact {
		lines[i] = ruleText(r)
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}

// ruleText returns a rule in one line, as Kubernetes prints it: {APIGroups:["apps"],
// Resources:["deployments"], Verbs:["get"]}.
func ruleText(r *rbacv1.PolicyRule) string {
	var parts []string
	for _, part := range []struct {
		name   string
		values []string
	}{
		{"APIGroups", r.APIGroups}, {"Resources", r.Resources}, {"NonResourceURLs", r.NonResourceURLs},
		{"ResourceNames", r.ResourceNames}, {"Verbs", r.Verbs},
	} {
		if len(part.values) > 0 {
			parts = append(parts, fmt.Sprintf("%s:%q", part.name, part.values))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
