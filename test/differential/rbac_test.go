package differential

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterrolestore "k8s.io/kubernetes/pkg/registry/rbac/clusterrole/storage"
	clusterrolebindingstore "k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding/storage"
	rolestore "k8s.io/kubernetes/pkg/registry/rbac/role/storage"
	rolebindingstore "k8s.io/kubernetes/pkg/registry/rbac/rolebinding/storage"
)

// These registries have no escalation checks. The escalation checks of kube-apiserver wrap them.
func init() {
	rbac := func(kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: kind}
	}
	add(
		Row{Kind: rbac("Role"), Resource: "roles", REST: alone(rolestore.NewREST)},
		Row{Kind: rbac("ClusterRole"), Resource: "clusterroles", Cluster: true, REST: alone(clusterrolestore.NewREST)},
		Row{Kind: rbac("RoleBinding"), Resource: "rolebindings", REST: alone(rolebindingstore.NewREST)},
		Row{Kind: rbac("ClusterRoleBinding"), Resource: "clusterrolebindings", Cluster: true, REST: alone(clusterrolebindingstore.NewREST)},
	)
}
