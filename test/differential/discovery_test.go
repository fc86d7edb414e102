package differential

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	endpointslicestore "k8s.io/kubernetes/pkg/registry/discovery/endpointslice/storage"
)

func init() {
	add(Row{
		Kind:     schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"},
		Resource: "endpointslices",
		REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := endpointslicestore.NewREST(o)
			return Doors{"": s}, err
		},
	})
}
