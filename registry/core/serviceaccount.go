package core

import (
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

const mountableAnnotation = "kubernetes.io/enforce-mountable-secrets"

// serviceAccounts makes the resource serviceaccounts.
func serviceAccounts() registry.Resource {
	prepare := func(obj meta.Object) {
		sa := obj.(*corev1.ServiceAccount)
		for i := range sa.Secrets { // secrets of the account's namespace: nothing but the name counts
			sa.Secrets[i] = corev1.ObjectReference{Name: sa.Secrets[i].Name}
		}
	}
	return registry.Resource{
		GroupResource: meta.GroupResource{Resource: "serviceaccounts"},
		Kind:          "ServiceAccount", Singular: "serviceaccount", ShortNames: []string{"sa"},
		Namespaced: true,
		Strategy: registry.Strategy{
			Metadata:      registry.MetaWhole,
			Prepare:       func(_ *registry.Request, obj meta.Object) { prepare(obj) },
			PrepareUpdate: func(_ *registry.Request, obj, _ meta.Object) { prepare(obj) },
			Warnings: func(_ *registry.Request, obj, old meta.Object) []string {
				if _, ok := obj.GetObjectMeta().Annotations[mountableAnnotation]; !ok {
					return nil
				}
				if old != nil {
					if _, ok := old.GetObjectMeta().Annotations[mountableAnnotation]; ok {
						return nil
					}
				}
				return []string{"metadata.annotations[" + mountableAnnotation + "]: deprecated in v1.32+; prefer separate " +
					"namespaces to isolate access to mounted secrets"}
			},
			AllowUnconditionalUpdate: true,
		},
		Table: &registry.Table{
			Columns: []meta.TableColumnDefinition{registry.NameColumn, registry.AgeColumn},
			Cells: func(obj meta.Object, now time.Time) []any {
				m := obj.GetObjectMeta()
				return []any{m.Name, registry.Age(m, now)}
			},
		},
		ReturnsDeleted: true,
	}
}
