package differential

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	runtimeclassstore "k8s.io/kubernetes/pkg/registry/node/runtimeclass/storage"
)

func init() {
	class := schema.GroupVersionKind{Group: "node.k8s.io", Version: "v1", Kind: "RuntimeClass"}
	add(Row{Kind: class, Resource: "runtimeclasses", Cluster: true, Alone: true, REST: alone(runtimeclassstore.NewREST)})
}
