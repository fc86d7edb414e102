package differential

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	autoscalerstore "k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler/storage"
)

func init() {
	autoscalers := func(o generic.RESTOptionsGetter) (Doors, error) {
		s, status, err := autoscalerstore.NewREST(o)
		return Doors{"": s, "status": status}, err
	}
	kind := schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
	first := kind
	first.Version = "v1"
	add(
		Row{Kind: kind, Resource: "horizontalpodautoscalers", Big: true, REST: autoscalers},
		Row{Kind: first, Resource: "horizontalpodautoscalers", Examples: "v1", Big: true, REST: autoscalers},
	)
}
