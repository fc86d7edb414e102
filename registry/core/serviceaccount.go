package core

import (
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// mountableAnnotation restricts the secrets that pods of an account may mount.
const mountableAnnotation = "kubernetes.io/enforce-mountable-secrets"

// serviceAccounts declares serviceaccounts. The subresource token is there only if the server can
// sign tokens.
func serviceAccounts(c Config) registry.Resource {
	var subresources []registry.SubresourceOf[*corev1.ServiceAccount]
	if c.Tokens.Sign != nil {
		subresources = append(subresources, accountToken(c.Tokens, c.Stores))
	}
	return registry.Typed(registry.ResourceOf[*corev1.ServiceAccount]{
		GroupResource: meta.GroupResource{Resource: "serviceaccounts"},
		Kind:          "ServiceAccount", ShortNames: []string{"sa"},
		Namespaced:   true,
		Subresources: subresources,
		Strategy: registry.StrategyOf[*corev1.ServiceAccount]{
			Metadata:                 registry.MetaWhole,
			Prepare:                  prepareServiceAccount,
			Warnings:                 serviceAccountWarnings,
			AllowUnconditionalUpdate: true,
		},
		Table: &registry.TableOf[*corev1.ServiceAccount]{
			Columns: []meta.TableColumnDefinition{registry.NameColumn, registry.AgeColumn},
			Cells: func(sa *corev1.ServiceAccount, now time.Time) []any {
				return []any{sa.Name, registry.Age(&sa.ObjectMeta, now)}
			},
		},
		ReturnsDeleted: true,
	})
}

// prepareServiceAccount keeps the names alone of the references to secrets: the secrets of an
// account are always in its namespace, and the other fields of a reference would only mislead.
func prepareServiceAccount(_ *registry.Request, sa, _ *corev1.ServiceAccount) {
	for i := range sa.Secrets {
		sa.Secrets[i] = corev1.ObjectReference{Name: sa.Secrets[i].Name}
	}
}

// serviceAccountWarnings warns once, by the write that sets the deprecated annotation, not by each
// later write.
func serviceAccountWarnings(sa, old *corev1.ServiceAccount) []string {
	marked := func(sa *corev1.ServiceAccount) bool { _, ok := sa.Annotations[mountableAnnotation]; return ok }
	if !marked(sa) || old != nil && marked(old) {
		return nil
	}
	return []string{"metadata.annotations[" + mountableAnnotation + "]: deprecated in v1.32+; prefer separate " +
		"namespaces to isolate access to mounted secrets"}
}
