package differential

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	budgetstore "k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget/storage"
)

func init() {
	budget := schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}
	add(Row{Kind: budget, Resource: "poddisruptionbudgets", Big: true, REST: withStatus(budgetstore.NewREST)})
}
