package apps

import (
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/registry/scale"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// replicaSets declares the resource replicasets, whose generation counts changes of the spec.
func replicaSets(rules podspec.Rules) registry.Resource {
	return registry.Typed(registry.ResourceOf[*appsv1.ReplicaSet]{
		GroupResource: resource("replicasets"),
		Kind:          "ReplicaSet", ShortNames: []string{"rs"}, Categories: []string{"all"},
		Namespaced: true,
		Strategy: registry.StrategyOf[*appsv1.ReplicaSet]{
			Metadata: registry.MetaChange,
			Prepare: func(_ *registry.Request, rs, old *appsv1.ReplicaSet) {
				podspec.DropDisabledTemplate(rs, old,
					func(rs *appsv1.ReplicaSet) *corev1.PodTemplateSpec { return &rs.Spec.Template })
			},
			Validate: func(rs, old *appsv1.ReplicaSet) field.ErrorList {
				return checkReplicaSet(rules, rs, old)
			},
			Warnings:                 replicaSetWarnings,
			AllowUnconditionalUpdate: true,
		},
		Generation: []string{"spec"},
		Status:     &registry.StatusOf[*appsv1.ReplicaSet]{Validate: checkReplicaSetStatus},
		Subresources: []registry.SubresourceOf[*appsv1.ReplicaSet]{scale.Of(func(rs *appsv1.ReplicaSet) scale.Size {
			return scale.Size{Wanted: &rs.Spec.Replicas, Counted: rs.Status.Replicas,
				Selector: scale.Selector(rs.Spec.Selector)}
		})},
		Table: &registry.TableOf[*appsv1.ReplicaSet]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.IntegerColumn("Desired", "Number of desired pods.", 0),
				registry.IntegerColumn("Current", "Number of pods that exist.", 0),
				registry.IntegerColumn("Ready", "Number of ready pods.", 0),
				registry.AgeColumn, podspec.ContainersColumn, podspec.ImagesColumn, podspec.SelectorColumn,
			},
			Cells: func(rs *appsv1.ReplicaSet, now time.Time) []any {
				names, images := podspec.ContainerCells(rs.Spec.Template.Spec.Containers)
				return []any{
					rs.Name, int64(scheme.OrZero(rs.Spec.Replicas)), int64(rs.Status.Replicas),
					int64(rs.Status.ReadyReplicas),
					registry.Age(&rs.ObjectMeta, now), names, images, registry.Selector(rs.Spec.Selector),
				}
			},
		},
	})
}

// checkReplicaSet returns what is wrong with a new replica set, or with an update of old.
func checkReplicaSet(rules podspec.Rules, rs, old *appsv1.ReplicaSet) field.ErrorList {
	if old != nil {
		rules = rules.AfterTemplate(&old.Spec.Template)
	}
	spec, p := &rs.Spec, field.NewPath("spec")
	errs := check.NotNegative(p, check.Count("replicas", spec.Replicas),
		check.Count("minReadySeconds", &spec.MinReadySeconds))
	errs = append(errs, checkReplicaTemplate(rules, p, spec.Selector, &spec.Template)...)
	if old != nil {
		errs = append(errs, check.Immutable(p.Child("selector"), spec.Selector, old.Spec.Selector)...)
	}
	return errs
}

// replicaSetWarnings warns about the template of a replica set that is new or whose spec has
// changed, and about the name of a new one.
func replicaSetWarnings(rs, old *appsv1.ReplicaSet) []string {
	switch {
	case old == nil:
		return append(podspec.NameWarnings(rs.Name), templateWarnings(&rs.Spec.Template)...)
	case rs.Generation != old.Generation:
		return templateWarnings(&rs.Spec.Template)
	}
	return nil
}

// checkReplicaSetStatus checks the counts of pods in a status. No subset of the pods is larger than
// all of them, and no more pods are available than ready.
func checkReplicaSetStatus(rs, _ *appsv1.ReplicaSet) field.ErrorList {
	s, p := &rs.Status, field.NewPath("status")
	labeled, ready := check.Count("fullyLabeledReplicas", &s.FullyLabeledReplicas),
		check.Count("readyReplicas", &s.ReadyReplicas)
	available := check.Count("availableReplicas", &s.AvailableReplicas)
	errs := check.NotNegative(p, check.Count("replicas", &s.Replicas), labeled, ready, available,
		check.Number{"observedGeneration", s.ObservedGeneration},
		check.Count("terminatingReplicas", s.TerminatingReplicas))
	errs = append(errs, check.AtMost(p, s.Replicas, "status.replicas", labeled, ready, available)...)
	return append(errs, check.AtMost(p, s.ReadyReplicas, "readyReplicas", available)...)
}
