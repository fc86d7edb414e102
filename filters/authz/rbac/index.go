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

// index is all roles and bindings. It is immutable: with makes the next one, which shares with it what has not changed.
type index struct {
	mark   any
	scopes map[string]*scope // by namespace; "" is the cluster
}

// scope is what a namespace has.
type scope struct {
	roles    map[string]*role
	bindings map[string]*binding
	users    map[string][]*grant // by the user's name, in the order of the bindings; service accounts are users
	groups   map[string][]*grant
}

type role struct {
	rules    []rbacv1.PolicyRule
	compiled []rule
}

type binding struct {
	name    string
	roles   string // the scope that the role is in
	role    string
	missing string // what there is to say if there is no such role
	odd     bool   // there cannot be one
	grants  []*grant
}

// serviceAccounts is what the names of service accounts as users begin with.
const serviceAccounts = "system:serviceaccount:"

// grant is a binding for one of its subjects.
type grant struct {
	*binding
	subject int // the place among the binding's subjects
	group   bool
	to      string
	reason  string
}

// order compares the places of two grants in the order in which those of a scope are asked.
func (g *grant) order(other *grant) int {
	if g.binding == other.binding {
		return cmp.Compare(g.subject, other.subject)
	}
	return cmp.Compare(g.name, other.name)
}

// find returns the role of a binding, nil if there is none.
func (x *index) find(b *binding) *role {
	if b.odd {
		return nil
	}
	if s := x.scopes[b.roles]; s != nil {
		return s.roles[b.role]
	}
	return nil
}

// allows returns the first grant of a scope that allows what is asked about, nil if none does.
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

// first returns the first of grants that allows what is asked about, or best if that is before it.
func (x *index) first(grants []*grant, q *question, best *grant) *grant {
	for _, g := range grants {
		if best != nil && g.order(best) >= 0 {
			break
		}
		role := x.find(g.binding)
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

// with returns the index with what has changed. x may be nil.
func (x *index) with(u *Update) *index {
	next := &index{mark: u.Mark, scopes: map[string]*scope{}}
	if x != nil && !u.Whole {
		next.scopes = x.scopes
		if len(u.Changes) > 0 {
			next.scopes = maps.Clone(x.scopes)
		}
	}
	own := map[string]*scope{} // those made here, which may be changed
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

func (s *scope) clone() *scope {
	if s == nil {
		return &scope{map[string]*role{}, map[string]*binding{}, map[string][]*grant{}, map[string][]*grant{}}
	}
	return &scope{maps.Clone(s.roles), maps.Clone(s.bindings), maps.Clone(s.users), maps.Clone(s.groups)}
}

// set takes in a change. What earlier scopes share is replaced, not changed.
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
			s.take(old)
			delete(s.bindings, ch.Name)
		}
		if b := bindingOf(ch); b != nil {
			s.give(b)
			s.bindings[ch.Name] = b
		}
	}
}

// of is the grants to users, or to groups.
func (s *scope) of(group bool) map[string][]*grant {
	if group {
		return s.groups
	}
	return s.users
}

func (s *scope) give(b *binding) {
	for _, g := range b.grants {
		grants := s.of(g.group)
		list := grants[g.to]
		at, _ := slices.BinarySearchFunc(list, g, (*grant).order)
		grants[g.to] = slices.Insert(slices.Clip(list), at, g)
	}
}

func (s *scope) take(b *binding) {
	for _, g := range b.grants {
		grants := s.of(g.group)
		rest := slices.DeleteFunc(slices.Clone(grants[g.to]), func(other *grant) bool { return other.binding == b })
		if grants[g.to] = rest; len(rest) == 0 {
			delete(grants, g.to)
		}
	}
}

func rulesOf(obj meta.Object) ([]rbacv1.PolicyRule, bool) {
	switch obj := obj.(type) {
	case *rbacv1.Role:
		return obj.Rules, true
	case *rbacv1.ClusterRole:
		return obj.Rules, true
	}
	return nil, false
}

// bindingOf makes the binding of a change, nil if it is gone.
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
	b.refer(&ref, ch.Namespace)
	about = "RBAC: allowed by " + about + " of " + ref.Kind + " " + strconv.Quote(ref.Name) + " to "
	for i := range subjects {
		b.grant(i, &subjects[i], ch.Namespace, about)
	}
	return b
}

// refer notes which role it is.
func (b *binding) refer(ref *rbacv1.RoleRef, namespace string) {
	b.role = ref.Name
	switch ref.Kind {
	case "Role":
		b.roles, b.odd = namespace, namespace == ""
		b.missing = missing("role", ref.Name)
	case "ClusterRole":
		b.missing = missing("clusterrole", ref.Name)
	default:
		b.odd, b.missing = true, fmt.Sprintf("unsupported role reference kind: %q", ref.Kind)
	}
}

func missing(resource, name string) string {
	return meta.NewNotFound(meta.GroupResource{Group: rbacv1.GroupVersion.Group, Resource: resource}, name).Error()
}

// grant adds a subject, unless it is there already or stands for nobody.
func (b *binding) grant(place int, s *rbacv1.Subject, namespace, about string) {
	g := &grant{binding: b, subject: place, to: s.Name, group: s.Kind == rbacv1.GroupKind}
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
