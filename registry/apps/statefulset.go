package apps

import (
	"fmt"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/registry/scale"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// statefulSets declares the resource statefulsets. The name of a set must be a DNS label, because
// the host names of its pods are made from it. The rules are in statefulsetcheck.go.
func statefulSets(rules podspec.Rules) registry.Resource {
	return registry.Typed(registry.ResourceOf[*appsv1.StatefulSet]{
		GroupResource: resource("statefulsets"),
		Kind:          "StatefulSet", ShortNames: []string{"sts"}, Categories: []string{"all"},
		Namespaced: true,
		Strategy: registry.StrategyOf[*appsv1.StatefulSet]{
			Metadata:     registry.MetaChange,
			ValidateName: names.DNSLabelName,
			Prepare:      prepareStatefulSet,
			Validate: func(s, old *appsv1.StatefulSet) field.ErrorList {
				return checkStatefulSet(rules, s, old)
			},
			Warnings:                 statefulSetWarnings,
			AllowUnconditionalUpdate: true,
		},
		Generation: []string{"spec"},
		Status:     &registry.StatusOf[*appsv1.StatefulSet]{Validate: checkStatefulSetStatus},
		Subresources: []registry.SubresourceOf[*appsv1.StatefulSet]{scale.Of(func(s *appsv1.StatefulSet) scale.Size {
			return scale.Size{Wanted: &s.Spec.Replicas, Counted: s.Status.Replicas,
				Selector: scale.Selector(s.Spec.Selector)}
		})},
		Table: &registry.TableOf[*appsv1.StatefulSet]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Ready", "Number of ready pods and number of desired pods.", 0),
				registry.AgeColumn, podspec.ContainersColumn, podspec.ImagesColumn,
			},
			Cells: func(s *appsv1.StatefulSet, now time.Time) []any {
				names, images := podspec.ContainerCells(s.Spec.Template.Spec.Containers)
				return []any{
					s.Name, fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, scheme.OrZero(s.Spec.Replicas)),
					registry.Age(&s.ObjectMeta, now), names, images,
				}
			},
		},
	})
}

// prepareStatefulSet prepares a stateful set before it is checked: it sets a missing partition to 0
// and clears fields that are not served, among them maxUnavailable (KEP-961), unless the old set
// has it.
func prepareStatefulSet(_ *registry.Request, s, old *appsv1.StatefulSet) {
	if r := s.Spec.UpdateStrategy.RollingUpdate; r != nil {
		scheme.SetPointer(&r.Partition, 0)
		if !setsMaxUnavailable(old) {
			r.MaxUnavailable = nil
		}
	}
	podspec.DropDisabledTemplate(s, old,
		func(s *appsv1.StatefulSet) *corev1.PodTemplateSpec { return &s.Spec.Template })
}

// setsMaxUnavailable reports whether s, which may be nil, sets maxUnavailable.
func setsMaxUnavailable(s *appsv1.StatefulSet) bool {
	return s != nil && s.Spec.UpdateStrategy.RollingUpdate != nil &&
		s.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable != nil
}

// statefulSetWarnings warns about a template that is new or changed, and at each write about the
// claim templates and a negative revisionHistoryLimit.
func statefulSetWarnings(s, old *appsv1.StatefulSet) []string {
	var warnings []string
	if old == nil || s.Generation != old.Generation {
		warnings = templateWarnings(&s.Spec.Template)
	}
	for i := range s.Spec.VolumeClaimTemplates {
		p := field.NewPath("spec", "volumeClaimTemplates").Index(i)
		if old != nil {
			p = p.Child("Spec") // kube-apiserver reports this path on an update
		}
		warnings = append(warnings, podspec.ClaimWarnings(p, &s.Spec.VolumeClaimTemplates[i].Spec)...)
	}
	if n := s.Spec.RevisionHistoryLimit; n != nil && *n < 0 {
		warnings = append(warnings, "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended")
	}
	return warnings
}
