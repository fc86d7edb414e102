package audit

import (
	"slices"
	"strings"

	"github.com/coracle-project/coracle/router/request"
)

// Policy decides what is recorded of each request. LoadPolicy makes it from a file. A Policy never
// changes.
type Policy struct {
	// resources are the rules that may match requests for resources, others those that may match
	// all other requests, both in the order of the file. A rule may be in both.
	resources, others []rule
	// unmatched is the decision about requests that no rule matches. Its level is None.
	unmatched Decision
}

// Decision says what is recorded of one request.
type Decision struct {
	// Level is the level of all events of the request.
	Level Level
	// OmitManagedFields says that the objects in the events have no metadata.managedFields.
	OmitManagedFields bool
	omitted           stageSet
}

// stageSet is a set of stages. The bit 1<<s stands for the stage s.
type stageSet uint8

// Omits reports whether no event is recorded at a stage. A request of level None has no events at
// all, whatever Omits reports.
func (d Decision) Omits(s Stage) bool { return d.omitted&(1<<s) != 0 }

// rule is one rule of a policy. It matches a request if each of its lists does, and an empty list
// matches every request. A rule has entries in resources and namespaces, or in paths, or in none of
// the three.
type rule struct {
	users, groups, verbs []string
	namespaces           []string // "" for resources that are not in a namespace
	resources            []groupResources
	paths                []path
	decision             Decision
}

// groupResources are resources of one API group, or of all groups.
type groupResources struct {
	group string // "*" for all groups
	// patterns are RESOURCE, RESOURCE/SUBRESOURCE, RESOURCE/*, */SUBRESOURCE or *; if there are
	// none, all resources of the group match.
	patterns []string
	names    []string // of objects; if there are none, all objects match
}

// path matches the paths that begin with text if prefix is set, otherwise text alone.
type path struct {
	text   string
	prefix bool
}

// Decide returns the decision of the first rule that matches the request. It allocates nothing.
func (p *Policy) Decide(a *request.Attributes) Decision {
	rules := p.others
	if a.IsResource {
		rules = p.resources
	}
	for i := range rules {
		if rules[i].matches(a) {
			return rules[i].decision
		}
	}
	return p.unmatched
}

// matches reports whether the rule matches a request of its kind: a rule in Policy.resources matches
// requests for resources, and one in Policy.others all other requests. The lists that rule out most
// requests by the fewest comparisons come first.
func (r *rule) matches(a *request.Attributes) bool {
	return (len(r.verbs) == 0 || slices.Contains(r.verbs, a.Verb)) &&
		(len(r.users) == 0 || a.User != nil && slices.Contains(r.users, a.User.Name)) &&
		(len(r.namespaces) == 0 || slices.Contains(r.namespaces, a.Namespace)) &&
		(len(r.resources) == 0 || r.hasResource(a)) &&
		(len(r.paths) == 0 || r.hasPath(a.Path)) &&
		(len(r.groups) == 0 || a.User != nil && r.hasGroup(a.User.Groups))
}

// hasGroup reports whether a user with groups is in a group of the rule.
func (r *rule) hasGroup(groups []string) bool {
	for _, group := range groups {
		if slices.Contains(r.groups, group) {
			return true
		}
	}
	return false
}

// hasPath reports whether the path of a request is one of the rule.
func (r *rule) hasPath(asked string) bool {
	for _, p := range r.paths {
		if asked == p.text || p.prefix && strings.HasPrefix(asked, p.text) {
			return true
		}
	}
	return false
}

// hasResource reports whether what the request asks for is a resource of the rule.
func (r *rule) hasResource(a *request.Attributes) bool {
	for i := range r.resources {
		if r.resources[i].has(a) {
			return true
		}
	}
	return false
}

// has reports whether what the request asks for is among the resources.
func (g *groupResources) has(a *request.Attributes) bool {
	if g.group != a.Group && g.group != "*" {
		return false
	}
	if len(g.patterns) == 0 {
		return true
	}
	for _, pattern := range g.patterns {
		if covers(pattern, a.Resource, a.Subresource) {
			return len(g.names) == 0 || slices.Contains(g.names, a.Name)
		}
	}
	return false
}

// covers reports whether a pattern covers a resource or, if sub is not "", its subresource. The
// pattern RESOURCE/* covers the resource itself as well, and RESOURCE/ nothing.
func covers(pattern, resource, sub string) bool {
	if pattern == "*" || sub == "" && pattern == resource {
		return true
	}
	if rest, ok := strings.CutPrefix(pattern, resource); ok {
		if rest, ok = strings.CutPrefix(rest, "/"); ok && (rest == "*" || sub != "" && rest == sub) {
			return true
		}
	}
	rest, ok := strings.CutPrefix(pattern, "*/")
	return ok && sub != "" && rest == sub
}
