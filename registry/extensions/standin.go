package extensions

import (
	"slices"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

func Resources() []registry.Resource {
	return []registry.Resource{registry.Typed(registry.ResourceOf[*apiextensionsv1.CustomResourceDefinition]{
		GroupResource: meta.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
		Kind:          "CustomResourceDefinition",
		Generation:    []string{"spec"},
		Strategy: registry.StrategyOf[*apiextensionsv1.CustomResourceDefinition]{
			Prepare: func(r *registry.Request, obj, old *apiextensionsv1.CustomResourceDefinition) {
				n := &obj.Spec.Names
				if n.ListKind == "" {
					n.ListKind = n.Kind + "List"
				}
				if n.Singular == "" {
					n.Singular = n.Kind
				}
				for _, v := range obj.Spec.Versions {
					if v.Storage && !slices.Contains(obj.Status.StoredVersions, v.Name) {
						obj.Status.StoredVersions = append(obj.Status.StoredVersions, v.Name)
					}
				}
			},
			Terminate: func(def *apiextensionsv1.CustomResourceDefinition) {
				def.Finalizers = append(def.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer)
				SetCondition(def, apiextensionsv1.CustomResourceDefinitionCondition{Type: "Terminating", Status: "True", Reason: "InstanceDeletionPending", Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"}, *def.DeletionTimestamp)
			},
		},
		Status: &registry.StatusOf[*apiextensionsv1.CustomResourceDefinition]{},
	})}
}
