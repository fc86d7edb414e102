package audit

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/router/request"
)

// Policy decides what is recorded of each request. LoadPolicy makes it from a file. A Policy never
// changes.
type Policy struct {
	// resources has the rules that may match requests for resources, others those that may match
	// all other requests, both in the order of the file. A rule may be in both.
	resources, others []block
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
	verbs, users []string // which the index of a block compares
	groups       []string
	namespaces   []string // "" for resources that are not in a namespace
	resources    []groupResources
	paths        []path
	decision     Decision
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

// block is a part of a list of rules. Its indexes tell which rules may match a request, so that few
// rules have to be compared with it.
type block struct {
	rules        []rule // at most blockSize
	verbs, users index
	asked        index // by the resource without its subresource, or by the path
}

const blockSize = 64

// ruleSet is a set of rules of a block. The bit 1<<i stands for the rule rules[i].
type ruleSet uint64

// index finds the rules that may match a text.
type index struct {
	some map[string]ruleSet // the rules that list the text
	all  ruleSet            // the rules that may match every text
}

// find returns the rules that may match a text.
func (x *index) find(text string) ruleSet { return x.all | x.some[text] }

// add adds rules that match the listed texts; if there are none, every text.
func (x *index) add(rules ruleSet, listed []string) {
	if len(listed) == 0 {
		x.all |= rules
		return
	}
	if x.some == nil {
		x.some = map[string]ruleSet{}
	}
	for _, text := range listed {
		x.some[text] |= rules
	}
}

// addRule returns blocks with one more rule. asked are its resources or paths; none means all.
func addRule(blocks []block, r rule, asked []string) []block {
	if n := len(blocks); n == 0 || len(blocks[n-1].rules) == blockSize {
		blocks = append(blocks, block{})
	}
	b := &blocks[len(blocks)-1]
	set := ruleSet(1) << len(b.rules)
	b.rules = append(b.rules, r)
	b.verbs.add(set, r.verbs)
	b.users.add(set, r.users)
	b.asked.add(set, asked)
	return blocks
}

// Decide returns the decision of the first rule that matches the request. It allocates nothing.
func (p *Policy) Decide(a *request.Attributes) Decision {
	blocks, asked := p.others, a.Path
	if a.IsResource {
		blocks, asked = p.resources, a.Resource
	}
	for i := range blocks {
		b := &blocks[i]
		for left := b.mayMatch(a, asked); left != 0; left &= left - 1 {
			if r := &b.rules[bits.TrailingZeros64(uint64(left))]; r.matches(a) {
				return r.decision
			}
		}
	}
	return p.unmatched
}

// mayMatch returns the rules that match a request if their other lists do. It compares verbs and
// users, and the part of resources and paths that an index can compare.
func (b *block) mayMatch(a *request.Attributes, asked string) ruleSet {
	set := b.verbs.find(a.Verb) & b.asked.find(asked)
	switch {
	case set&^b.users.all == 0: // no rule that is left asks for the user's name
		return set
	case a.User == nil:
		return set & b.users.all
	}
	return set & b.users.find(a.User.Name)
}

// matches reports whether a rule that mayMatch returned matches the request.
func (r *rule) matches(a *request.Attributes) bool {
	return (len(r.namespaces) == 0 || slices.Contains(r.namespaces, a.Namespace)) &&
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

// askedPaths returns the paths of the rule; none if there is a prefix among them.
func (r *rule) askedPaths() []string {
	var out []string
	for _, p := range r.paths {
		if p.prefix {
			return nil
		}
		out = append(out, p.text)
	}
	return out
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

// askedResources returns the resources that the rule names, without subresources; none if the rule
// matches resources that it does not name.
func (r *rule) askedResources() []string {
	var out []string
	for _, g := range r.resources {
		if len(g.patterns) == 0 {
			return nil
		}
		for _, pattern := range g.patterns {
			resource, _, _ := strings.Cut(pattern, "/")
			if resource == "*" {
				return nil
			}
			out = append(out, resource)
		}
	}
	return out
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
