package filters

import (
	"context"
	"fmt"

	"github.com/coracle-project/coracle/filters/authz/rbac"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// policy is a rbac.Source that never changes.
type policy []rbac.Change

func (policy) Holds(any) bool { return true }

func (p policy) Read(context.Context, any) (rbac.Update, error) {
	return rbac.Update{Changes: p, Whole: true}, nil
}

func (p *policy) add(kind rbac.Kind, obj meta.Object) {
	m := obj.GetObjectMeta()
	*p = append(*p, rbac.Change{Kind: kind, Namespace: m.Namespace, Name: m.Name, Object: obj})
}

// largePolicy is 1,000 roles and 5,000 bindings, one of which lets Alice do everything.
func largePolicy() *policy {
	p := new(policy)
	ref := func(kind, name string) rbacv1.RoleRef { return rbacv1.RoleRef{Kind: kind, Name: name} }
	for i := range 500 {
		rules := []rbacv1.PolicyRule{{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"pods", "secrets", "configmaps"}}}
		p.add(rbac.ClusterRole, &rbacv1.ClusterRole{ObjectMeta: meta.ObjectMeta{Name: fmt.Sprint("role-", i)}, Rules: rules})
		p.add(rbac.Role, &rbacv1.Role{ObjectMeta: meta.ObjectMeta{Namespace: fmt.Sprint("ns-", i), Name: "role"}, Rules: rules})
	}
	for i := range 4500 {
		p.add(rbac.RoleBinding, &rbacv1.RoleBinding{
			ObjectMeta: meta.ObjectMeta{Namespace: fmt.Sprint("ns-", i%500), Name: fmt.Sprint("binding-", i)}, RoleRef: ref("Role", "role"),
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: fmt.Sprint("user-", i)}},
		})
	}
	for i := range 499 {
		p.add(rbac.ClusterRoleBinding, &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta.ObjectMeta{Name: fmt.Sprint("binding-", i)}, RoleRef: ref("ClusterRole", fmt.Sprint("role-", i)),
			Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: fmt.Sprint("group-", i)}},
		})
	}
	p.add(rbac.ClusterRole, &rbacv1.ClusterRole{ObjectMeta: meta.ObjectMeta{Name: "writer"}, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}, {Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
	}})
	p.add(rbac.ClusterRoleBinding, &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta.ObjectMeta{Name: "writer"}, RoleRef: ref("ClusterRole", "writer"), Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "alice"}},
	})
	return p
}
