package core

import (
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// namespaces declares namespaces. A deleted namespace stays, in phase Terminating, until
// spec.finalizers is empty. The namespace controller deletes the content first and then takes its
// finalizer away, through the subresource finalize. As in Kubernetes, there is no deletecollection.
func namespaces() registry.Resource {
	return registry.Typed(registry.ResourceOf[*corev1.Namespace]{
		GroupResource: meta.GroupResource{Resource: "namespaces"},
		Kind:          "Namespace", ShortNames: []string{"ns"},
		Strategy: registry.StrategyOf[*corev1.Namespace]{
			Metadata:                 registry.MetaWhole,
			ValidateName:             names.DNSLabelName,
			Prepare:                  prepareNamespace,
			Validate:                 checkNamespace,
			Canonicalize:             labelNamespace,
			AllowUnconditionalUpdate: true,
			Held:                     func(ns *corev1.Namespace) bool { return len(ns.Spec.Finalizers) > 0 },
			Terminate:                func(ns *corev1.Namespace) { ns.Status.Phase = corev1.NamespaceTerminating },
		},
		Status: &registry.StatusOf[*corev1.Namespace]{Validate: checkNamespacePhase},
		Subresources: []registry.SubresourceOf[*corev1.Namespace]{
			{
				Name: "finalize", Owns: []string{"spec.finalizers"}, ResetFields: []string{"status"},
				Verbs: []string{"update"}, Validate: checkFinalized,
			},
		},
		Fields: []registry.FieldValue{{Label: "status.phase", Path: "status.phase"}},
		Table: &registry.TableOf[*corev1.Namespace]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Status", "Active, or Terminating while it is being deleted.", 0),
				registry.AgeColumn,
			},
			Cells: func(ns *corev1.Namespace, now time.Time) []any {
				return []any{ns.Name, string(ns.Status.Phase), registry.Age(&ns.ObjectMeta, now)}
			},
		},
		Verbs: []string{"create", "delete", "get", "list", "patch", "update", "watch"},
	})
}

// prepareNamespace makes a new namespace Active and adds the finalizer of the namespace controller.
// On an update spec.finalizers and status are those of old already: their subresources own them.
func prepareNamespace(_ *registry.Request, ns, old *corev1.Namespace) {
	if old != nil {
		return
	}
	ns.Status.Phase = corev1.NamespaceActive
	if !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
		ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
}

// labelNamespace sets the label kubernetes.io/metadata.name, so that label selectors can select a
// namespace by its name (KEP-2161). It runs last, because the name may be generated after
// defaulting.
func labelNamespace(ns *corev1.Namespace) {
	if ns.Labels == nil {
		ns.Labels = make(map[string]string, 1)
	}
	ns.Labels[corev1.NamespaceNameLabel] = ns.Name
}

// checkNamespace checks the finalizers of a new namespace. An update cannot change them. As in
// kube-apiserver, an error does not say which of the finalizers is wrong.
func checkNamespace(ns, old *corev1.Namespace) field.ErrorList {
	if old != nil {
		return nil
	}
	var errs field.ErrorList
	p := field.NewPath("spec", "finalizers")
	for _, name := range field.Each(&errs, ns.Spec.Finalizers) {
		errs = append(errs, finalizerName(p, string(*name))...)
	}
	return errs
}

// checkFinalized checks the finalizers that a write to finalize sets. Its errors name the index of
// the finalizer; those of checkNamespace do not.
func checkFinalized(ns, _ *corev1.Namespace) field.ErrorList {
	var errs field.ErrorList
	p := field.NewPath("spec", "finalizers")
	for i, name := range field.Each(&errs, ns.Spec.Finalizers) {
		errs = append(errs, finalizerName(p.Index(i), string(*name))...)
	}
	return errs
}

// finalizerName checks the name of a finalizer: it has a domain, or it is one of the three names of
// Kubernetes' own that have none: kubernetes, orphan and foregroundDeletion.
func finalizerName(p *field.Path, name string) field.ErrorList {
	errs := check.QualifiedName(p, name)
	if !strings.Contains(name, "/") && name != string(corev1.FinalizerKubernetes) && name != "orphan" &&
		name != "foregroundDeletion" {
		errs = append(errs, field.Invalid(p, name,
			"name is neither a standard finalizer name nor is it fully qualified"))
	}
	return errs
}

// checkNamespacePhase ties the phase to deletionTimestamp, so that a client of the status can
// neither end nor fake a deletion. The path "status.Phase" is Kubernetes' own spelling.
func checkNamespacePhase(ns, _ *corev1.Namespace) field.ErrorList {
	want, when := corev1.NamespaceActive, "is empty"
	if ns.DeletionTimestamp != nil {
		want, when = corev1.NamespaceTerminating, "is not empty"
	}
	if ns.Status.Phase == want {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("status", "Phase"), ns.Status.Phase,
		"may only be '"+string(want)+"' if `deletionTimestamp` "+when)}
}
