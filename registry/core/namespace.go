package core

import (
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// namespaces makes the resource namespaces. A deleted namespace is Terminating until spec.finalizers is empty, which
// the namespace controller sees to once the content is gone, through the finalize subresource.
func namespaces() registry.Resource {
	return registry.Resource{
		GroupResource: meta.GroupResource{Resource: "namespaces"},
		Kind:          "Namespace", Singular: "namespace", ShortNames: []string{"ns"},
		Strategy: registry.Strategy{
			Metadata:     registry.MetaWhole,
			ValidateName: names.DNSLabelName,
			Prepare: func(_ *registry.Request, obj meta.Object) {
				ns := obj.(*corev1.Namespace)
				ns.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
				if !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
					ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
				}
			},
			PrepareUpdate: func(_ *registry.Request, obj, old meta.Object) {
				ns, was := obj.(*corev1.Namespace), old.(*corev1.Namespace)
				ns.Spec.Finalizers = slices.Clone(was.Spec.Finalizers)
				ns.Status = scheme.DeepCopy(was.Status)
			},
			Validate: func(_ *registry.Request, obj meta.Object) field.ErrorList {
				return checkNamespaceFinalizers(obj.(*corev1.Namespace))
			},
			Canonicalize: func(obj meta.Object) {
				// Defaulting could not know a generated name.
				ns := obj.(*corev1.Namespace)
				if ns.Labels == nil {
					ns.Labels = make(map[string]string, 1)
				}
				ns.Labels[corev1.NamespaceNameLabel] = ns.Name
			},
			AllowUnconditionalUpdate: true,
			Held:                     func(obj meta.Object) bool { return len(obj.(*corev1.Namespace).Spec.Finalizers) > 0 },
			Terminate:                func(obj meta.Object) { obj.(*corev1.Namespace).Status.Phase = corev1.NamespaceTerminating },
		},
		Subresources: []registry.Subresource{
			{Name: "status", Strategy: registry.Strategy{
				Metadata: registry.MetaChange,
				PrepareUpdate: func(_ *registry.Request, obj, old meta.Object) {
					obj.(*corev1.Namespace).Spec = scheme.DeepCopy(old.(*corev1.Namespace).Spec)
				},
				ValidateUpdate: func(_ *registry.Request, obj, _ meta.Object) field.ErrorList {
					return checkNamespacePhase(obj.(*corev1.Namespace))
				},
				AllowUnconditionalUpdate: true,
			}},
			{Name: "finalize", Verbs: []string{"update"}, Strategy: registry.Strategy{
				Metadata: registry.MetaChange,
				PrepareUpdate: func(_ *registry.Request, obj, old meta.Object) {
					obj.(*corev1.Namespace).Status = scheme.DeepCopy(old.(*corev1.Namespace).Status)
				},
				ValidateUpdate: func(_ *registry.Request, obj, _ meta.Object) field.ErrorList {
					return checkNamespaceFinalizers(obj.(*corev1.Namespace))
				},
				AllowUnconditionalUpdate: true,
			}},
		},
		Fields: []registry.FieldValue{{Label: "status.phase", Path: "status.phase"}},
		Table: &registry.Table{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn, registry.Column("Status", "Active, or Terminating while it is being deleted.", 0), registry.AgeColumn,
			},
			Cells: func(obj meta.Object, now time.Time) []any {
				ns := obj.(*corev1.Namespace)
				return []any{ns.Name, string(ns.Status.Phase), registry.Age(&ns.ObjectMeta, now)}
			},
		},
		Verbs: []string{"create", "delete", "get", "list", "patch", "update", "watch"},
	}
}

func checkNamespaceFinalizers(ns *corev1.Namespace) field.ErrorList {
	var errs field.ErrorList
	p := field.NewPath("spec", "finalizers")
	for _, name := range ns.Spec.Finalizers {
		errs = append(errs, finalizerName(p, string(name))...)
	}
	return errs
}

// finalizerName checks the name of a finalizer, which is qualified unless it is one of the server's own.
func finalizerName(p *field.Path, name string) field.ErrorList {
	if errs := qualifiedName(p, name); len(errs) > 0 {
		return errs
	}
	if !strings.Contains(name, "/") && name != string(corev1.FinalizerKubernetes) && name != "orphan" && name != "foregroundDeletion" {
		return field.ErrorList{field.Invalid(p, name, "name is neither a standard finalizer name nor is it fully qualified")}
	}
	return nil
}

func checkNamespacePhase(ns *corev1.Namespace) field.ErrorList {
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
