package core

import (
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/registry/scale"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// replicationControllers declares replicationcontrollers, the predecessor of ReplicaSets. A
// deletion leaves the pods alone if the client says nothing (OrphanByDefault), as in Kubernetes.
func replicationControllers(rules podspec.Rules) registry.Resource {
	return registry.Typed(registry.ResourceOf[*corev1.ReplicationController]{
		GroupResource: meta.GroupResource{Resource: "replicationcontrollers"},
		Kind:          "ReplicationController", ShortNames: []string{"rc"}, Categories: []string{"all"},
		Namespaced: true,
		Strategy: registry.StrategyOf[*corev1.ReplicationController]{
			Metadata:     registry.MetaChange,
			ValidateName: names.LongName,
			Prepare: func(_ *registry.Request, rc, old *corev1.ReplicationController) {
				podspec.DropDisabledTemplate(rc, old,
					func(rc *corev1.ReplicationController) *corev1.PodTemplateSpec { return rc.Spec.Template })
			},
			Validate: func(rc, old *corev1.ReplicationController) field.ErrorList {
				return checkController(rules, rc, old)
			},
			Warnings:                 controllerWarnings,
			AllowUnconditionalUpdate: true,
			OrphanByDefault:          true,
		},
		Generation: []string{"spec"},
		Status: &registry.StatusOf[*corev1.ReplicationController]{
			// Labels default to those of the template. A client of the status need not send the
			// template, so defaulting may have found none; the template of old is in rc by now.
			Prepare:  func(_ *registry.Request, rc, _ *corev1.ReplicationController) { corev1.CompleteController(rc) },
			Validate: checkControllerStatus,
		},
		Subresources: []registry.SubresourceOf[*corev1.ReplicationController]{
			scale.Of(func(rc *corev1.ReplicationController) scale.Size {
				return scale.Size{
					Wanted:   &rc.Spec.Replicas,
					Counted:  rc.Status.Replicas,
					Selector: meta.SelectorFromSet(rc.Spec.Selector),
				}
			}),
		},
		Fields: []registry.FieldValue{{Label: "status.replicas", Path: "status.replicas", Default: "0"}},
		Table: &registry.TableOf[*corev1.ReplicationController]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.IntegerColumn("Desired", "Number of pods that are wanted.", 0),
				registry.IntegerColumn("Current", "Number of pods that there are.", 0),
				registry.IntegerColumn("Ready", "Number of pods that are ready.", 0),
				registry.AgeColumn, podspec.ContainersColumn, podspec.ImagesColumn, podspec.SelectorColumn,
			},
			Cells: controllerCells,
		},
	})
}

func checkController(rules podspec.Rules, rc, old *corev1.ReplicationController) field.ErrorList {
	if old != nil {
		rules = rules.AfterTemplate(old.Spec.Template)
	}
	spec, p := &rc.Spec, field.NewPath("spec")
	errs := check.NonNegative(p.Child("minReadySeconds"), spec.MinReadySeconds)
	if len(spec.Selector) == 0 {
		errs = append(errs, field.Required(p.Child("selector"), ""))
	}
	errs = append(errs, check.NotNegative(p, check.Count("replicas", spec.Replicas))...)
	at := p.Child("template")
	if t := spec.Template; t == nil {
		errs = append(errs, field.Required(at, ""))
	} else {
		errs = append(errs, podspec.SelectorMatchesTemplate(at, t, meta.SelectorFromSet(spec.Selector))...)
		errs = append(errs, rules.Template(at, t)...)
		errs = append(errs, podspec.LongRunningTemplate(at, t, "ReplicationController")...)
	}
	if old != nil {
		errs = append(errs, checkConverted(p.Child("selector"), spec.Selector, old)...)
	}
	return errs
}

// nonConvertible begins the names of annotations "non-convertible.kubernetes.io/<field>". A
// conversion sets them if another version has a value in the field that this version cannot
// express.
const nonConvertible = "non-convertible.kubernetes.io"

// checkConverted refuses to change the selector if an annotation says that another version has a
// selector which this version cannot express. An annotation about any other field is an error.
func checkConverted(p *field.Path, selector map[string]string, old *corev1.ReplicationController) field.ErrorList {
	var errs field.ErrorList
	for key, value := range field.Entries(&errs, old.Annotations) {
		name, ok := strings.CutPrefix(key, nonConvertible)
		parts := strings.Split(name, "/")
		switch {
		case !ok || len(parts) != 2:
		case !strings.Contains(parts[1], "selector"):
			err := field.NotFound(field.NewPath(parts[1]), value)
			err.Detail = "unknown non-convertible field"
			errs = append(errs, err)
		case !scheme.Equal(&selector, &old.Spec.Selector):
			errs = append(errs, field.Invalid(p, selector, "cannot update non-convertible selector"))
		}
	}
	return errs
}

// controllerWarnings tells of the template of a new controller. When the spec changes it tells of
// the old template, as kube-apiserver does.
func controllerWarnings(rc, old *corev1.ReplicationController) []string {
	p := field.NewPath("spec", "template")
	switch {
	case old == nil:
		return append(podspec.NameWarnings(rc.Name), podspec.TemplateWarnings(p, rc.Spec.Template)...)
	case rc.Generation != old.Generation:
		return podspec.TemplateWarnings(p, old.Spec.Template)
	}
	return nil
}

// checkControllerStatus checks the counts: none is negative, and a part is no more than its whole.
func checkControllerStatus(rc, _ *corev1.ReplicationController) field.ErrorList {
	s, p := &rc.Status, field.NewPath("status")
	labeled, ready := check.Count("fullyLabeledReplicas", &s.FullyLabeledReplicas),
		check.Count("readyReplicas", &s.ReadyReplicas)
	available := check.Count("availableReplicas", &s.AvailableReplicas)
	errs := check.NotNegative(p, check.Count("replicas", &s.Replicas), labeled, ready, available,
		check.Number{"observedGeneration", s.ObservedGeneration})
	errs = append(errs, check.AtMost(p, s.Replicas, "status.replicas", labeled, ready, available)...)
	return append(errs, check.AtMost(p, s.ReadyReplicas, "readyReplicas", available)...)
}

func controllerCells(rc *corev1.ReplicationController, now time.Time) []any {
	var named, images string
	if t := rc.Spec.Template; t != nil {
		named, images = podspec.ContainerCells(t.Spec.Containers)
	}
	return []any{
		rc.Name, int64(scheme.OrZero(rc.Spec.Replicas)), int64(rc.Status.Replicas), int64(rc.Status.ReadyReplicas),
		registry.Age(&rc.ObjectMeta, now), named, images, registry.Labels(rc.Spec.Selector),
	}
}
