package rbac

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// key names an object of a source.
type key struct {
	kind            Kind
	namespace, name string
}

// objects is a Source in memory. Its mark is the number of changes read.
type objects struct {
	all     map[key]meta.Object
	changes []key
	reads   int
	err     error
}

func newObjects(list ...meta.Object) *objects {
	s := &objects{all: map[key]meta.Object{}}
	for _, obj := range list {
		s.put(obj)
	}
	return s
}

func keyOf(obj meta.Object) key {
	m := obj.GetObjectMeta()
	k := key{namespace: m.Namespace, name: m.Name}
	switch obj.(type) {
	case *rbacv1.ClusterRole:
		k.kind = ClusterRole
	case *rbacv1.RoleBinding:
		k.kind = RoleBinding
	case *rbacv1.ClusterRoleBinding:
		k.kind = ClusterRoleBinding
	}
	return k
}

func (s *objects) put(obj meta.Object) { s.set(keyOf(obj), obj) }

func (s *objects) set(k key, obj meta.Object) {
	s.all[k] = obj
	s.changes = append(s.changes, k)
}

func (s *objects) Holds(mark any) bool { return *mark.(*int) == len(s.changes) }

func (s *objects) Read(_ context.Context, mark any) (Update, error) {
	if s.reads++; s.err != nil {
		return Update{}, s.err
	}
	end := len(s.changes)
	u, keys := Update{Mark: &end, Whole: mark == nil}, maps.Keys(s.all)
	if mark != nil {
		keys = slices.Values(s.changes[*mark.(*int):])
	}
	for k := range keys {
		u.Changes = append(u.Changes, Change{k.kind, k.namespace, k.name, s.all[k]})
	}
	return u, nil
}

func ruleOf(verbs, groups, resources []string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: verbs, APIGroups: groups, Resources: resources, ResourceNames: names}
}

func list(words ...string) []string { return words }

func roleOf(namespace, name string, rules ...rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: meta.ObjectMeta{Namespace: namespace, Name: name}, Rules: rules}
}

func clusterRoleOf(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: meta.ObjectMeta{Name: name}, Rules: rules}
}

func bind(namespace, name, kind, role string, subjects ...rbacv1.Subject) meta.Object {
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupVersion.Group, Kind: kind, Name: role}
	m := meta.ObjectMeta{Namespace: namespace, Name: name}
	if namespace == "" {
		return &rbacv1.ClusterRoleBinding{ObjectMeta: m, RoleRef: ref, Subjects: subjects}
	}
	return &rbacv1.RoleBinding{ObjectMeta: m, RoleRef: ref, Subjects: subjects}
}

func user(name string) rbacv1.Subject  { return rbacv1.Subject{Kind: rbacv1.UserKind, Name: name} }
func group(name string) rbacv1.Subject { return rbacv1.Subject{Kind: rbacv1.GroupKind, Name: name} }
func account(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
}

// ask is the decision about a request.
func ask(t testing.TB, a *Authorizer, q request.Attributes) (request.Decision, string) {
	t.Helper()
	decision, reason, err := a.Authorize(t.Context(), &q)
	if err != nil {
		t.Fatal(err)
	}
	return decision, reason
}
