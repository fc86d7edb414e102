package differential

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	eventstore "k8s.io/kubernetes/pkg/registry/core/event/storage"
)

func init() {
	add(Row{
		Kind:     schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "Event"},
		Resource: "events",
		REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := eventstore.NewREST(o, 3600)
			return Doors{"": s}, err
		},
	})
}
