package extensions

import (
	"encoding/json"
	"slices"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
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

func Declare(def *apiextensionsv1.CustomResourceDefinition) (registry.Resource, error) {
	d := kind.Dynamic{GroupKind: meta.GroupKind{Group: def.Spec.Group, Kind: def.Status.AcceptedNames.Kind}}
	stored := ""
	for _, v := range def.Spec.Versions {
		if v.Storage {
			stored = v.Name
		}
		if !v.Served {
			continue
		}
		data, _ := json.Marshal(map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true})
		s, _ := schema.Parse(nil, data)
		d.Versions = append(d.Versions, kind.DynamicVersion{Name: v.Name, Schema: s})
	}
	k, err := d.New()
	if err != nil {
		return registry.Resource{}, err
	}
	return registry.Typed(registry.ResourceOf[*scheme.Unstructured]{
		GroupResource: meta.GroupResource{Group: def.Spec.Group, Resource: def.Spec.Names.Plural}, Kind: def.Status.AcceptedNames.Kind,
		Singular: def.Status.AcceptedNames.Singular, ShortNames: def.Status.AcceptedNames.ShortNames, Categories: def.Status.AcceptedNames.Categories,
		Namespaced: def.Spec.Scope == apiextensionsv1.NamespaceScoped, Type: k, StorageVersion: stored, KeepItemKind: true, ReturnsDeleted: true,
		Generation: []string{"spec"}, Status: &registry.StatusOf[*scheme.Unstructured]{},
	}), nil
}
