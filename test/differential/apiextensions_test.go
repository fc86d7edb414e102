package differential

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// In Kubernetes, definitions have a server of their own (apiextensions-apiserver), with a scheme of
// its own.
func init() {
	install.Install(legacyscheme.Scheme)
	add(Row{
		Kind:     schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		Resource: "customresourcedefinitions", Cluster: true,
		REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := customresourcedefinition.NewREST(legacyscheme.Scheme, o)
			if err != nil {
				return nil, err
			}
			return Doors{"": s, "status": customresourcedefinition.NewStatusREST(legacyscheme.Scheme, s)}, nil
		},
	})
}
