package rbac

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file is the index of roles and bindings: how it is searched (allows) and how the next one is
// made after a change (afterUpdate).

// index holds all roles and bindings. It is immutable. afterUpdate makes the next index, which
// shares all unchanged scopes.
type index struct {
	mark   any               // the Source's mark of this state
	scopes map[string]*scope // by namespace; "" is the cluster
}

// scope holds the roles and bindings of one namespace, or of the cluster.
type scope struct {
	roles    map[string]*role
	bindings map[string]*binding
	users    map[string][]*grant // by user name, service accounts included; sorted by grant.order
	groups   map[string][]*grant // by group; sorted by grant.order
}

// role is the rules of a Role or ClusterRole, as they were written and compiled.
type role struct {
	rules    []rbacv1.PolicyRule
	compiled []rule
}

// binding is a RoleBinding or ClusterRoleBinding.
type binding struct {
	name       string
	roles      string // the scope of its role: a namespace, or "" for a ClusterRole
	role       string
	missing    string // the message if the role does not exist
	impossible bool   // no such role can exist: the kind is wrong, or a Role in no namespace
	grants     []*grant
}

// serviceAccounts begins the user names of service accounts.
const serviceAccounts = "system:serviceaccount:"

// grant gives a binding's role to one of its subjects.
type grant struct {
	*binding
	subject int    // index in the binding's subjects
	group   bool   // to is a group
	to      string // user or group name
	reason  string // of the decision that it allows
}

// order compares two grants by the order in which they are asked: by binding name, then by subject.
// Kubernetes names the first binding that allows a request, so the order is visible in reasons.
func (g *grant) order(other *grant) int {
	if g.binding == other.binding {
		return cmp.Compare(g.subject, other.subject)
	}
	return cmp.Compare(g.name, other.name)
}

// roleOf returns the role of a binding, nil if it does not exist.
func (x *index) roleOf(b *binding) *role {
	if b.impossible {
		return nil
	}
	if s := x.scopes[b.roles]; s != nil {
		return s.roles[b.role]
	}
	return nil
}

// allows returns the first grant of a scope that allows the request, nil if none does.
func (x *index) allows(namespace string, q *question) *grant {
	s := x.scopes[namespace]
	if s == nil {
		return nil
	}
	best := x.first(s.users[q.User.Name], q, nil)
	for _, group := range q.User.Groups {
		best = x.first(s.groups[group], q, best)
	}
	return best
}

// first returns the first of grants that allows the request, or best if best comes before it.
// Grants behind best are not asked.
func (x *index) first(grants []*grant, q *question, best *grant) *grant {
	for _, g := range grants {
		if best != nil && g.order(best) >= 0 {
			break
		}
		role := x.roleOf(g.binding)
		if role == nil {
			q.missing = true
			continue
		}
		for j := range role.compiled {
			if role.compiled[j].allows(q) {
				return g
			}
		}
	}
	return best
}

// afterUpdate returns the index after an update. x may be nil.
func (x *index) afterUpdate(u *Update) *index {
	next := &index{mark: u.Mark, scopes: map[string]*scope{}}
	if x != nil && !u.Whole {
		next.scopes = x.scopes
		if len(u.Changes) > 0 {
			next.scopes = maps.Clone(x.scopes)
		}
	}
	own := map[string]*scope{} // scopes copied in this call, which may be changed
	for i := range u.Changes {
		ch := &u.Changes[i]
		s := own[ch.Namespace]
		if s == nil {
			s = next.scopes[ch.Namespace].clone()
			own[ch.Namespace], next.scopes[ch.Namespace] = s, s
		}
		s.set(ch)
	}
	for namespace, s := range own {
		if len(s.roles) == 0 && len(s.bindings) == 0 {
			delete(next.scopes, namespace)
		}
	}
	return next
}

// clone returns a copy of s whose maps may be changed; their slices are shared.
func (s *scope) clone() *scope {
	if s == nil {
		return &scope{map[string]*role{}, map[string]*binding{}, map[string][]*grant{}, map[string][]*grant{}}
	}
	return &scope{maps.Clone(s.roles), maps.Clone(s.bindings), maps.Clone(s.users), maps.Clone(s.groups)}
}

// set applies a change. Slices that other indexes share are replaced, never changed.
func (s *scope) set(ch *Change) {
	switch ch.Kind {
	case Role, ClusterRole:
		if rules, ok := rulesOf(ch.Object); ok {
			s.roles[ch.Name] = &role{rules, compile(rules)}
		} else {
			delete(s.roles, ch.Name)
		}
	default:
		if old := s.bindings[ch.Name]; old != nil {
			s.removeGrants(old)
			delete(s.bindings, ch.Name)
		}
		if b := bindingOf(ch); b != nil {
			s.addGrants(b)
			s.bindings[ch.Name] = b
		}
	}
}

// grantsTo returns the grants to groups or to users.
func (s *scope) grantsTo(group bool) map[string][]*grant {
	if group {
		return s.groups
	}
	return s.users
}

// addGrants adds the grants of a binding.
func (s *scope) addGrants(b *binding) {
	for _, g := range b.grants {
		grants := s.grantsTo(g.group)
		list := grants[g.to]
		at, _ := slices.BinarySearchFunc(list, g, (*grant).order)
		grants[g.to] = slices.Insert(slices.Clip(list), at, g)
	}
}

// removeGrants removes the grants of a binding.
func (s *scope) removeGrants(b *binding) {
	for _, g := range b.grants {
		grants := s.grantsTo(g.group)
		rest := slices.DeleteFunc(slices.Clone(grants[g.to]), func(other *grant) bool { return other.binding == b })
		if grants[g.to] = rest; len(rest) == 0 {
			delete(grants, g.to)
		}
	}
}

// rulesOf returns the rules of a role; ok is false if obj is none.
func rulesOf(obj meta.Object) ([]rbacv1.PolicyRule, bool) {
	switch obj := obj.(type) {
	case *rbacv1.Role:
		return obj.Rules, true
	case *rbacv1.ClusterRole:
		return obj.Rules, true
	}
	return nil, false
}

// bindingOf returns the binding in a change, nil if it was deleted.
func bindingOf(ch *Change) *binding {
	b := &binding{name: ch.Name}
	var ref rbacv1.RoleRef
	var subjects []rbacv1.Subject
	var about string
	switch obj := ch.Object.(type) {
	case *rbacv1.RoleBinding:
		ref, subjects = obj.RoleRef, obj.Subjects
		about = "RoleBinding " + strconv.Quote(ch.Name+"/"+ch.Namespace)
	case *rbacv1.ClusterRoleBinding:
		ref, subjects = obj.RoleRef, obj.Subjects
		about = "ClusterRoleBinding " + strconv.Quote(ch.Name)
	default:
		return nil
	}
	b.setRole(&ref, ch.Namespace)
	about = "RBAC: allowed by " + about + " of " + ref.Kind + " " + strconv.Quote(ref.Name) + " to "
	for i := range subjects {
		b.addGrant(i, &subjects[i], ch.Namespace, about)
	}
	return b
}

// setRole sets the role that the binding refers to.
func (b *binding) setRole(ref *rbacv1.RoleRef, namespace string) {
	b.role = ref.Name
	switch ref.Kind {
	case "Role":
		b.roles, b.impossible = namespace, namespace == ""
		b.missing = notFoundText("role", ref.Name)
	case "ClusterRole":
		b.missing = notFoundText("clusterrole", ref.Name)
	default:
		b.impossible, b.missing = true, fmt.Sprintf("unsupported role reference kind: %q", ref.Kind)
	}
}

// notFoundText returns the message about a role that does not exist.
func notFoundText(resource, name string) string {
	return meta.NewNotFound(meta.GroupResource{Group: rbacv1.GroupVersion.Group, Resource: resource}, name).Error()
}

// addGrant adds a grant for a subject, unless an earlier subject is the same user or group, or the
// subject's kind is unknown.
func (b *binding) addGrant(index int, s *rbacv1.Subject, namespace, about string) {
	g := &grant{binding: b, subject: index, to: s.Name, group: s.Kind == rbacv1.GroupKind}
	who := s.Name
	switch s.Kind {
	case rbacv1.UserKind, rbacv1.GroupKind:
	case rbacv1.ServiceAccountKind:
		of := cmp.Or(s.Namespace, namespace)
		if of == "" {
			return
		}
		g.to, who = serviceAccounts+of+":"+s.Name, s.Name+"/"+of
	default:
		return
	}
	if slices.ContainsFunc(b.grants, func(other *grant) bool { return other.group == g.group && other.to == g.to }) {
		return
	}
	g.reason = about + s.Kind + " " + strconv.Quote(who)
	b.grants = append(b.grants, g)
}
