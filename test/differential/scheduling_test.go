package differential

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	priorityclassstore "k8s.io/kubernetes/pkg/registry/scheduling/priorityclass/storage"
)

func init() {
	class := schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"}
	add(Row{Kind: class, Resource: "priorityclasses", Cluster: true, Alone: true, REST: alone(priorityclassstore.NewREST)})
}
