package differential

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	leasestore "k8s.io/kubernetes/pkg/registry/coordination/lease/storage"
)

func init() {
	add(Row{
		Kind: schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}, Resource: "leases",
		REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := leasestore.NewREST(o)
			return Doors{"": s}, err
		},
	})
}
