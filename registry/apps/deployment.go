package apps

import (
	"fmt"
	"strconv"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/registry/scale"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file declares deployments, and checks them and their status. Two things are special:
// generation counts changes of annotations, too, and an annotation stands for the former field
// spec.rollbackTo.

// deployments declares the resource deployments. Generation counts changes of annotations because
// the controller copies them to replica sets, so observedGeneration covers them. A write of the
// status keeps labels and the rollback annotation.
func deployments(rules podspec.Rules) registry.Resource {
	return registry.Typed(registry.ResourceOf[*appsv1.Deployment]{
		GroupResource: resource("deployments"),
		Kind:          "Deployment", ShortNames: []string{"deploy"}, Categories: []string{"all"},
		Namespaced: true,
		Strategy: registry.StrategyOf[*appsv1.Deployment]{
			Metadata: registry.MetaChange,
			Prepare:  prepareDeployment,
			Validate: func(d, old *appsv1.Deployment) field.ErrorList {
				return checkDeployment(rules, d, old)
			},
			Warnings:                 deploymentWarnings,
			AllowUnconditionalUpdate: true,
		},
		Generation: []string{"spec", "metadata.annotations"},
		Status: &registry.StatusOf[*appsv1.Deployment]{
			Prepare: func(_ *registry.Request, d, old *appsv1.Deployment) {
				d.Labels = scheme.DeepCopy(old.Labels)
				setAnnotation(&d.ObjectMeta, rollbackAnnotation, old.Annotations[rollbackAnnotation])
			},
			Validate:    checkDeploymentStatus,
			ResetFields: []string{"spec", "metadata.labels"},
		},
		Subresources: []registry.SubresourceOf[*appsv1.Deployment]{scale.Of(func(d *appsv1.Deployment) scale.Size {
			return scale.Size{Wanted: &d.Spec.Replicas, Counted: d.Status.Replicas,
				Selector: scale.Selector(d.Spec.Selector)}
		})},
		Table: &registry.TableOf[*appsv1.Deployment]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Ready", "Number of ready pods and number of desired pods.", 0),
				registry.Column("Up-to-date", "Number of pods of the current template.", 0),
				registry.Column("Available", "Number of pods that have been ready for minReadySeconds.", 0),
				registry.AgeColumn, podspec.ContainersColumn, podspec.ImagesColumn, podspec.SelectorColumn,
			},
			Cells: deploymentCells,
		},
	})
}

// deploymentCells returns the cells of a deployment. A selector that cannot be read is shown as
// <invalid>.
func deploymentCells(d *appsv1.Deployment, now time.Time) []any {
	names, images := podspec.ContainerCells(d.Spec.Template.Spec.Containers)
	selector := "<invalid>"
	if s, err := meta.SelectorFrom(d.Spec.Selector); err == nil {
		selector = s.String()
	}
	return []any{
		d.Name, fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, scheme.OrZero(d.Spec.Replicas)),
		int64(d.Status.UpdatedReplicas),
		int64(d.Status.AvailableReplicas), registry.Age(&d.ObjectMeta, now), names, images, selector,
	}
}

// prepareDeployment prepares a deployment before it is checked: it clears fields that are not
// served, sets limits of the rolling update that are missing, and normalizes the rollback
// annotation.
func prepareDeployment(_ *registry.Request, d, old *appsv1.Deployment) {
	podspec.DropDisabledTemplate(d, old, func(d *appsv1.Deployment) *corev1.PodTemplateSpec { return &d.Spec.Template })
	if r := d.Spec.Strategy.RollingUpdate; r != nil {
		scheme.SetPointer(&r.MaxUnavailable, meta.FromInt32(0))
		scheme.SetPointer(&r.MaxSurge, meta.FromInt32(0))
	}
	normalizeRollback(d)
}

// rollbackAnnotation has the revision to which the controller should roll back; 0 means the last
// revision. In extensions/v1beta1 it was the field spec.rollbackTo.revision.
const rollbackAnnotation = "deprecated.deployment.rollback.to"

// normalizeRollback writes the revision without plus sign and leading zeros, and removes an empty
// one. The result is what kube-apiserver gets when it converts the annotation to a field and back.
// A value that is no number stays, and checkRollback reports it.
func normalizeRollback(d *appsv1.Deployment) {
	text := d.Annotations[rollbackAnnotation]
	if revision, err := strconv.ParseInt(text, 10, 64); err == nil {
		text = strconv.FormatInt(revision, 10)
	}
	setAnnotation(&d.ObjectMeta, rollbackAnnotation, text)
}

// setAnnotation sets an annotation, or removes it if value is empty.
func setAnnotation(m *meta.ObjectMeta, key, value string) {
	if value == "" {
		delete(m.Annotations, key)
		return
	}
	if m.Annotations == nil {
		m.Annotations = make(map[string]string, 1)
	}
	m.Annotations[key] = value
}

// checkRollback checks the rollback annotation. A negative revision is reported at
// spec.rollback.version, the path that kube-apiserver gives the former field.
func checkRollback(d *appsv1.Deployment) field.ErrorList {
	text := d.Annotations[rollbackAnnotation]
	if text == "" {
		return nil
	}
	revision, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return annotationError(rollbackAnnotation, text, err)
	}
	return check.NonNegative(field.NewPath("spec", "rollback", "version"), revision)
}

// annotationError reports an annotation whose value is no number.
func annotationError(key, value string, err error) field.ErrorList {
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "annotations").Key(key), value, err.Error())}
}

// checkDeployment returns what is wrong with a new deployment, or with an update of old. A rollout
// can only make progress after a pod was ready for minReadySeconds, so its deadline must be later
// than that.
func checkDeployment(rules podspec.Rules, d, old *appsv1.Deployment) field.ErrorList {
	if old != nil {
		rules = rules.AfterTemplate(&old.Spec.Template)
	}
	spec, p := &d.Spec, field.NewPath("spec")
	errs := check.NotNegative(p, check.Count("replicas", spec.Replicas))
	errs = append(errs, checkReplicaTemplate(rules, p, spec.Selector, &spec.Template)...)
	errs = append(errs, checkDeploymentStrategy(p.Child("strategy"), &spec.Strategy)...)
	errs = append(errs, check.NotNegative(p, check.Count("minReadySeconds", &spec.MinReadySeconds),
		check.Count("revisionHistoryLimit", spec.RevisionHistoryLimit))...)
	errs = append(errs, checkRollback(d)...)
	if deadline := spec.ProgressDeadlineSeconds; deadline != nil {
		errs = append(errs, check.NotNegative(p, check.Count("progressDeadlineSeconds", deadline))...)
		if *deadline <= spec.MinReadySeconds {
			errs = append(errs, field.Invalid(p.Child("progressDeadlineSeconds"), *deadline,
				"must be greater than minReadySeconds"))
		}
	}
	if old != nil {
		errs = append(errs, check.Immutable(p.Child("selector"), spec.Selector, old.Spec.Selector)...)
	}
	return errs
}

// checkDeploymentStrategy checks how a deployment replaces its pods. p is the path of the strategy.
func checkDeploymentStrategy(p *field.Path, s *appsv1.DeploymentStrategy) field.ErrorList {
	limits := p.Child("rollingUpdate")
	switch s.Type {
	case appsv1.RecreateDeploymentStrategyType:
		if s.RollingUpdate != nil {
			return field.ErrorList{field.Forbidden(limits, "may not be specified when strategy `type` is 'Recreate'")}
		}
		return nil
	case appsv1.RollingUpdateDeploymentStrategyType:
		return checkRollingDeployment(limits, s.RollingUpdate)
	}
	return field.ErrorList{field.NotSupported(p, govalue.JSON(s), []appsv1.DeploymentStrategyType{
		appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType})}
}

// checkRollingDeployment checks the limits of a rolling update, which defaults have filled in. One
// of them must allow a pod less or a pod more, or the rollout could not begin.
func checkRollingDeployment(p *field.Path, r *appsv1.RollingUpdateDeployment) field.ErrorList {
	missing, surplus := scheme.OrZero(r.MaxUnavailable), scheme.OrZero(r.MaxSurge)
	errs := check.IntOrPercent(p.Child("maxUnavailable"), missing)
	errs = append(errs, check.IntOrPercent(p.Child("maxSurge"), surplus)...)
	if check.Amount(missing) == 0 && check.Amount(surplus) == 0 {
		errs = append(errs, field.Invalid(p.Child("maxUnavailable"), missing, "may not be 0 when `maxSurge` is 0"))
	}
	return append(errs, check.AtMost100Percent(p.Child("maxUnavailable"), missing)...)
}

// deploymentWarnings warns about the template of a deployment that is new or whose generation has
// changed, and about the name of a new one.
func deploymentWarnings(d, old *appsv1.Deployment) []string {
	switch {
	case old == nil:
		return append(podspec.NameWarnings(d.Name), templateWarnings(&d.Spec.Template)...)
	case d.Generation != old.Generation:
		return templateWarnings(&d.Spec.Template)
	}
	return nil
}

// checkDeploymentStatus checks the counts of pods in a status. No subset of the pods is larger than
// all of them, no more pods are available than ready, and collisionCount does not fall.
func checkDeploymentStatus(d, old *appsv1.Deployment) field.ErrorList {
	s, p := &d.Status, field.NewPath("status")
	updated, ready := check.Count("updatedReplicas", &s.UpdatedReplicas), check.Count("readyReplicas", &s.ReadyReplicas)
	available := check.Count("availableReplicas", &s.AvailableReplicas)
	errs := check.NotNegative(p, check.Number{"observedGeneration", s.ObservedGeneration},
		check.Count("replicas", &s.Replicas),
		updated, ready, available,
		check.Count("unavailableReplicas", &s.UnavailableReplicas),
		check.Count("terminatingReplicas", s.TerminatingReplicas),
		check.Count("collisionCount", s.CollisionCount))
	errs = append(errs, check.AtMost(p, s.Replicas, "status.replicas", updated, ready, available)...)
	errs = append(errs, check.AtMost(p, s.ReadyReplicas, "readyReplicas", available)...)
	return append(errs, checkCollisionCount(p, s.CollisionCount, old.Status.CollisionCount)...)
}
