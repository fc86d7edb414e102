package rbac

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meter"
)

// all stands for everything in rules.
const all = "*"

// maxMissing bounds what Missing returns: what a client sends can stand for more than anybody could
// read.
const maxMissing = 1 << 14

// Missing returns what rules allow and held do not, in rules of one verb, one group and resource,
// or path, and at most one name each. There may be more than are returned, and the error is that of
// ctx.
func Missing(ctx context.Context, held, rules []rbacv1.PolicyRule) ([]rbacv1.PolicyRule, error) {
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
			if missing = append(missing, one.rule()); len(missing) == maxMissing {
				return missing, nil
			}
		}
	}
	return missing, nil
}

// single is a right that cannot be taken apart.
type single struct {
	verb, group, resource string
	name                  string
	named                 bool
	path                  string
	isPath                bool
}

// singles yields the rights that a rule consists of.
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

// coveredBy reports whether one rule gives the right.
func (s *single) coveredBy(r *rbacv1.PolicyRule) bool {
	switch {
	case !slices.Contains(r.Verbs, all) && !slices.Contains(r.Verbs, s.verb):
		return false
	case len(r.ResourceNames) > 0 && (!s.named || !slices.Contains(r.ResourceNames, s.name)):
		return false
	case s.isPath:
		return slices.ContainsFunc(r.NonResourceURLs, func(path string) bool {
			return path == s.path || strings.HasSuffix(path, all) && strings.HasPrefix(s.path, strings.TrimRight(path, all))
		})
	}
	return (slices.Contains(r.APIGroups, all) || slices.Contains(r.APIGroups, s.group)) && coversResource(r.Resources, s.resource)
}

// coversResource reports whether a resource is among some, or its subresource is among those of
// all.
func coversResource(resources []string, resource string) bool {
	if slices.Contains(resources, all) || slices.Contains(resources, resource) {
		return true
	}
	_, sub, ok := strings.Cut(resource, "/")
	return ok && slices.Contains(resources, "*/"+sub)
}

// describe is how people are told of what Missing returns: rights that differ in the verb alone
// together, one in a line.
func describe(missing []rbacv1.PolicyRule) string {
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
		if known := verbs[of]; known != nil {
			known.Verbs = append(known.Verbs, r.Verbs...)
			continue
		}
		verbs[of] = r
		compact = append(compact, r)
	}
	lines := make([]string, len(compact))
	for i, r := range compact {
		lines[i] = text(r)
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}

// text is a rule in one line, as Kubernetes writes it.
func text(r *rbacv1.PolicyRule) string {
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
