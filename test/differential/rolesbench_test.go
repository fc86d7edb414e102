package differential

import (
	"fmt"
	"slices"
	"testing"

	k8srbac "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	theirroles "k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"

	ourroles "github.com/coracle-project/coracle/filters/authz/rbac"
	"github.com/coracle-project/coracle/router/request"
)

// manyRoles are 1,000 roles and 5,000 bindings, a tenth of them of the cluster, on both sides.
// user-4321 and the service account bot may read in the namespace ns-321, and user-0 may
// impersonate everybody.
type manyRoles struct {
	ours   *ourroles.Authorizer
	theirs *theirroles.RBACAuthorizer
}

func newManyRoles(tb testing.TB) *manyRoles {
	c := &cluster{ours: ourroles.Update{Whole: true, Mark: true}}
	stores := map[ourroles.Kind]cache.Indexer{}
	for _, kind := range []ourroles.Kind{ourroles.Role, ourroles.ClusterRole, ourroles.RoleBinding, ourroles.ClusterRoleBinding} {
		stores[kind] = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	add := func(kind ourroles.Kind, m metav1.ObjectMeta, obj any) {
		if err := stores[kind].Add(obj); err != nil {
			tb.Fatal(err)
		}
		c.add(kind, m.Namespace, m.Name, obj)
	}
	rules := []k8srbac.PolicyRule{{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"pods", "secrets", "configmaps"}}}
	for i := range 500 {
		m := metav1.ObjectMeta{Name: fmt.Sprint("role-", i)}
		everywhere := rules
		if i == 0 {
			everywhere = append(slices.Clip(rules), k8srbac.PolicyRule{Verbs: []string{"impersonate"}, APIGroups: []string{""}, Resources: []string{"users"}})
		}
		add(ourroles.ClusterRole, m, &k8srbac.ClusterRole{ObjectMeta: m, Rules: everywhere})
		m.Namespace = fmt.Sprint("ns-", i)
		add(ourroles.Role, m, &k8srbac.Role{ObjectMeta: m, Rules: rules})
	}
	for i := range 5000 {
		m, n := metav1.ObjectMeta{Name: fmt.Sprint("binding-", i)}, i%500
		subjects := []k8srbac.Subject{{Kind: "User", Name: fmt.Sprint("user-", i)}, {Kind: "Group", Name: fmt.Sprint("group-", i)}}
		if i == 4321 {
			subjects = append(subjects, k8srbac.Subject{Kind: "ServiceAccount", Namespace: "ns-321", Name: "bot"})
		}
		if i%10 == 0 {
			add(ourroles.ClusterRoleBinding, m, &k8srbac.ClusterRoleBinding{
				ObjectMeta: m, Subjects: subjects, RoleRef: k8srbac.RoleRef{Kind: "ClusterRole", Name: fmt.Sprint("role-", n)},
			})
			continue
		}
		m.Namespace = fmt.Sprint("ns-", n)
		add(ourroles.RoleBinding, m, &k8srbac.RoleBinding{
			ObjectMeta: m, Subjects: subjects, RoleRef: k8srbac.RoleRef{Kind: "Role", Name: fmt.Sprint("role-", n)},
		})
	}
	theirs := theirroles.New(
		&theirroles.RoleGetter{Lister: rbaclisters.NewRoleLister(stores[ourroles.Role])},
		&theirroles.RoleBindingLister{Lister: rbaclisters.NewRoleBindingLister(stores[ourroles.RoleBinding])},
		&theirroles.ClusterRoleGetter{Lister: rbaclisters.NewClusterRoleLister(stores[ourroles.ClusterRole])},
		&theirroles.ClusterRoleBindingLister{Lister: rbaclisters.NewClusterRoleBindingLister(stores[ourroles.ClusterRoleBinding])},
	)
	return &manyRoles{ourroles.New(c), theirs}
}

// BenchmarkByRoles is one decision with 1,000 roles and 5,000 bindings on both sides.
func BenchmarkByRoles(b *testing.B) {
	policy := newManyRoles(b)
	groups := []string{"dev", "ops", "system:authenticated"}
	q := request.Attributes{User: &request.User{Name: "user-4321", Groups: groups}, IsResource: true, Verb: "get", Resource: "configmaps", Namespace: "ns-321"}
	k := authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "user-4321", Groups: groups}, ResourceRequest: true, Verb: "get", Resource: "configmaps", Namespace: "ns-321"}
	b.Run("coracle", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if got, _, _ := policy.ours.Authorize(b.Context(), &q); got != request.Allow {
				b.Fatal(got)
			}
		}
	})
	b.Run("kubernetes", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if got, _, _ := policy.theirs.Authorize(b.Context(), k); got != authorizer.DecisionAllow {
				b.Fatal(got)
			}
		}
	})
}
