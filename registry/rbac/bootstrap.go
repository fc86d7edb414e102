package rbac

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// bootstrap is read by Bootstrap; its head says how.
//
//go:embed bootstrap.txt
var bootstrap string

// What roles and bindings say of themselves that come with the server.
const (
	// AutoUpdate is the annotation by which an administrator keeps a role or binding as it is:
	// "false".
	AutoUpdate = "rbac.authorization.kubernetes.io/autoupdate"

	bootstrapping = "kubernetes.io/bootstrapping"
	aggregateTo   = "rbac.authorization.k8s.io/aggregate-to-"
	controllers   = "system:controller:"
)

// Policy is roles and bindings.
type Policy struct {
	ClusterRoles        []*rbacv1.ClusterRole
	ClusterRoleBindings []*rbacv1.ClusterRoleBinding
	Roles               []*rbacv1.Role
	RoleBindings        []*rbacv1.RoleBinding
}

// Bootstrap returns the roles and bindings that a cluster has from the start. They are the
// caller's.
func Bootstrap() *Policy {
	p := new(Policy)
	for part := range strings.SplitSeq(strings.ReplaceAll(bootstrap, "\n      ", " "), "\n\n") {
		lines := strings.Split(strings.TrimSpace(part), "\n")
		switch head := strings.Fields(lines[0]); head[0] {
		case "ClusterRole":
			p.addClusterRole(head[1], head[2:], lines[1:])
		case "Controller":
			p.addClusterRole(controllers+head[1], nil, append(lines[1:], "to s/kube-system/"+head[1]))
		case "Role":
			p.addRole(head[1], head[2], head[len(head)-1], lines[1:])
		}
	}
	return p
}

func (p *Policy) addClusterRole(name string, traits, lines []string) {
	role := &rbacv1.ClusterRole{ObjectMeta: fromStart("", name)}
	if slices.Contains(traits, "gathers") {
		role.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []meta.LabelSelector{
			{MatchLabels: map[string]string{aggregateTo + name: "true"}},
		}}
	}
	if at := slices.Index(traits, "into"); at >= 0 {
		role.Labels[aggregateTo+traits[at+1]] = "true"
	}
	var subjects []rbacv1.Subject
	var bound bool
	role.Rules, subjects, bound = readLines(lines)
	p.ClusterRoles = append(p.ClusterRoles, role)
	if bound {
		p.ClusterRoleBindings = append(p.ClusterRoleBindings, &rbacv1.ClusterRoleBinding{
			ObjectMeta: fromStart("", name), Subjects: subjects, RoleRef: refTo("ClusterRole", name),
		})
	}
}

func (p *Policy) addRole(namespace, name, binding string, lines []string) {
	rules, subjects, _ := readLines(lines)
	p.Roles = append(p.Roles, &rbacv1.Role{ObjectMeta: fromStart(namespace, name), Rules: rules})
	p.RoleBindings = append(p.RoleBindings, &rbacv1.RoleBinding{
		ObjectMeta: fromStart(namespace, binding), Subjects: subjects, RoleRef: refTo("Role", name),
	})
}

func fromStart(namespace, name string) meta.ObjectMeta {
	return meta.ObjectMeta{
		Namespace: namespace, Name: name,
		Labels: map[string]string{bootstrapping: "rbac-defaults"}, Annotations: map[string]string{AutoUpdate: "true"},
	}
}

func refTo(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupVersion.Group, Kind: kind, Name: name}
}

// readLines reads what a role allows, and to whom. bound: there is a binding, maybe to nobody.
func readLines(lines []string) (rules []rbacv1.PolicyRule, subjects []rbacv1.Subject, bound bool) {
	for _, line := range lines {
		what, things, _ := strings.Cut(strings.TrimSpace(line), ": ")
		words := strings.Fields(what)
		if words[0] == "to" {
			bound = true
			for _, who := range words[1:] {
				subjects = append(subjects, subjectOf(who))
			}
			continue
		}
		rule := rbacv1.PolicyRule{Verbs: strings.Split(words[0], ",")}
		things, names, _ := strings.Cut(things, "(")
		if words[1] == "paths" {
			rule.NonResourceURLs = strings.Fields(things)
		} else {
			rule.APIGroups = strings.Split(words[1], ",")
			for i, group := range rule.APIGroups {
				if group == "core" {
					rule.APIGroups[i] = ""
				}
			}
			rule.Resources, rule.ResourceNames = strings.Fields(things), strings.Fields(strings.TrimSuffix(names, ")"))
		}
		rules = append(rules, rule)
	}
	return rules, subjects, bound
}

func subjectOf(who string) rbacv1.Subject {
	kind, name, _ := strings.Cut(who, "/")
	switch kind {
	case "u":
		return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupVersion.Group, Name: name}
	case "g":
		return rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupVersion.Group, Name: name}
	}
	namespace, name, _ := strings.Cut(name, "/")
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
}
