package rbac

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The roles and bindings that every cluster has from its start. bootstrap.txt lists them, in a form
// that its head explains; this file reads it. server/bootstrap creates the objects, and repairs
// them after an upgrade.

// bootstrap is the text of bootstrap.txt.
//
//go:embed bootstrap.txt
var bootstrap string

// The labels and annotations of roles and bindings from bootstrap.txt.
const (
	// AutoUpdate is the annotation that, with the value "false", keeps the server from repairing a
	// role or binding at its start.
	AutoUpdate = "rbac.authorization.kubernetes.io/autoupdate"

	bootstrapping = "kubernetes.io/bootstrapping"             // the label of all of them
	aggregateTo   = "rbac.authorization.k8s.io/aggregate-to-" // with a role's name: the label that the role selects
	controllers   = "system:controller:"                      // prefix of the names of controllers' roles
)

// Policy is a set of roles and bindings.
type Policy struct {
	ClusterRoles        []*rbacv1.ClusterRole
	ClusterRoleBindings []*rbacv1.ClusterRoleBinding
	Roles               []*rbacv1.Role
	RoleBindings        []*rbacv1.RoleBinding
}

// Bootstrap returns the roles and bindings that a cluster has from its start: those of Kubernetes
// 1.36. The caller owns them. Each call reads the text again; a server calls it once.
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

// addClusterRole adds a cluster role, and its binding if a line has subjects.
func (p *Policy) addClusterRole(name string, traits, lines []string) {
	role := &rbacv1.ClusterRole{ObjectMeta: bootstrapMeta("", name)}
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
			ObjectMeta: bootstrapMeta("", name), Subjects: subjects, RoleRef: refTo("ClusterRole", name),
		})
	}
}

// addRole adds a role and its binding in a namespace.
func (p *Policy) addRole(namespace, name, binding string, lines []string) {
	rules, subjects, _ := readLines(lines)
	p.Roles = append(p.Roles, &rbacv1.Role{ObjectMeta: bootstrapMeta(namespace, name), Rules: rules})
	p.RoleBindings = append(p.RoleBindings, &rbacv1.RoleBinding{
		ObjectMeta: bootstrapMeta(namespace, binding), Subjects: subjects, RoleRef: refTo("Role", name),
	})
}

// bootstrapMeta returns the metadata of an object from bootstrap.txt.
func bootstrapMeta(namespace, name string) meta.ObjectMeta {
	return meta.ObjectMeta{
		Namespace: namespace, Name: name,
		Labels: map[string]string{bootstrapping: "rbac-defaults"}, Annotations: map[string]string{AutoUpdate: "true"},
	}
}

// refTo returns a reference to a role.
func refTo(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupVersion.Group, Kind: kind, Name: name}
}

// readLines reads the lines below a role's head: rules, and "to" with subjects. bound reports
// whether there is such a line; it may list no subject, because some bindings exist without any.
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

// subjectOf reads a subject: u/NAME, g/NAME or s/NAMESPACE/NAME.
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
