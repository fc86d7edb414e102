package apps

import (
	"strconv"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file declares daemon sets, and checks them and their status. They have no replicas and no
// scale. An annotation counts changes of their template, as a field did in extensions/v1beta1.

// daemonSets declares the resource daemonsets. A write of the status keeps the template generation.
func daemonSets(rules podspec.Rules) registry.Resource {
	return registry.Typed(registry.ResourceOf[*appsv1.DaemonSet]{
		GroupResource: resource("daemonsets"),
		Kind:          "DaemonSet", ShortNames: []string{"ds"}, Categories: []string{"all"},
		Namespaced: true,
		Strategy: registry.StrategyOf[*appsv1.DaemonSet]{
			Metadata: registry.MetaChange,
			Prepare:  prepareDaemonSet,
			Validate: func(ds, old *appsv1.DaemonSet) field.ErrorList {
				return checkDaemonSet(rules, ds, old)
			},
			Warnings:                 daemonSetWarnings,
			AllowUnconditionalUpdate: true,
		},
		Generation: []string{"spec"},
		Status: &registry.StatusOf[*appsv1.DaemonSet]{
			Prepare: func(_ *registry.Request, ds, old *appsv1.DaemonSet) {
				setTemplateGeneration(ds, templateGeneration(old))
			},
			Validate: checkDaemonSetStatus,
		},
		Table: &registry.TableOf[*appsv1.DaemonSet]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.IntegerColumn("Desired", "Number of nodes that should have a pod.", 0),
				registry.IntegerColumn("Current", "Number of nodes that should have a pod and have one.", 0),
				registry.IntegerColumn("Ready", "Number of nodes with a ready pod.", 0),
				registry.IntegerColumn("Up-to-date", "Number of nodes with a pod of the current template.", 0),
				registry.IntegerColumn("Available", "Number of nodes with a pod that has been ready for minReadySeconds.", 0),
				registry.Column("Node Selector", "Labels of the nodes that should have a pod.", 0),
				registry.AgeColumn, podspec.ContainersColumn, podspec.ImagesColumn, podspec.SelectorColumn,
			},
			Cells: daemonSetCells,
		},
	})
}

// daemonSetCells returns the cells of a daemon set.
func daemonSetCells(ds *appsv1.DaemonSet, now time.Time) []any {
	names, images := podspec.ContainerCells(ds.Spec.Template.Spec.Containers)
	s := &ds.Status
	return []any{
		ds.Name, int64(s.DesiredNumberScheduled), int64(s.CurrentNumberScheduled), int64(s.NumberReady),
		int64(s.UpdatedNumberScheduled),
		int64(s.NumberAvailable), registry.Labels(ds.Spec.Template.Spec.NodeSelector),
		registry.Age(&ds.ObjectMeta, now),
		names, images, registry.Selector(ds.Spec.Selector),
	}
}

// prepareDaemonSet prepares a daemon set before it is checked: it sets limits of the rolling update
// that are missing, clears fields that are not served, and counts changes of the template. A client
// can choose the count of a new set; in an update the server sets the count.
func prepareDaemonSet(_ *registry.Request, ds, old *appsv1.DaemonSet) {
	if r := ds.Spec.UpdateStrategy.RollingUpdate; r != nil {
		scheme.SetPointer(&r.MaxUnavailable, meta.FromInt32(0))
		scheme.SetPointer(&r.MaxSurge, meta.FromInt32(0))
	}
	podspec.DropDisabledTemplate(ds, old,
		func(ds *appsv1.DaemonSet) *corev1.PodTemplateSpec { return &ds.Spec.Template })
	switch {
	case old == nil:
		setTemplateGeneration(ds, max(templateGeneration(ds), 1))
	case templateChanged(ds, old):
		setTemplateGeneration(ds, templateGeneration(old)+1)
	default:
		setTemplateGeneration(ds, templateGeneration(old))
	}
}

// templateChanged reports whether an update changes the template.
func templateChanged(ds, old *appsv1.DaemonSet) bool {
	return !scheme.Equal(&ds.Spec.Template, &old.Spec.Template)
}

// templateGeneration returns the count in the annotation of a set, 0 if there is none or it is no
// number.
func templateGeneration(ds *appsv1.DaemonSet) int64 {
	n, _ := strconv.ParseInt(ds.Annotations[appsv1.TemplateGenerationAnnotation], 10, 64)
	return n
}

// setTemplateGeneration sets the annotation to generation.
func setTemplateGeneration(ds *appsv1.DaemonSet, generation int64) {
	setAnnotation(&ds.ObjectMeta, appsv1.TemplateGenerationAnnotation, strconv.FormatInt(generation, 10))
}

// checkDaemonSet returns what is wrong with a new daemon set, or with an update of old.
func checkDaemonSet(rules podspec.Rules, ds, old *appsv1.DaemonSet) field.ErrorList {
	spec, p := &ds.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if old != nil {
		rules = rules.AfterTemplate(&old.Spec.Template)
		errs = append(errs, check.Immutable(p.Child("selector"), spec.Selector, old.Spec.Selector)...)
	}
	errs = append(errs, meta.ValidateLabelSelector(spec.Selector, p.Child("selector"))...)
	template := p.Child("template")
	if selector, err := meta.SelectorFrom(spec.Selector); err == nil {
		errs = append(errs, podspec.SelectorMatchesTemplate(template, &spec.Template, selector)...)
	}
	errs = append(errs, podspec.SelectorNotEmpty(p.Child("selector"), spec.Selector, "daemonset")...)
	errs = append(errs, rules.Template(template, &spec.Template)...)
	errs = append(errs, podspec.LongRunningTemplate(template, &spec.Template, "DaemonSet")...)
	errs = append(errs, check.NotNegative(p, check.Count("minReadySeconds", &spec.MinReadySeconds))...)
	errs = append(errs, checkDaemonStrategy(p.Child("updateStrategy"), &spec.UpdateStrategy)...)
	return append(errs, check.NotNegative(p, check.Count("revisionHistoryLimit", spec.RevisionHistoryLimit))...)
}

// checkDaemonStrategy checks how a daemon set replaces its pods. p is the path of the strategy.
func checkDaemonStrategy(p *field.Path, s *appsv1.DaemonSetUpdateStrategy) field.ErrorList {
	switch s.Type {
	case appsv1.OnDeleteDaemonSetStrategyType:
		return nil
	case appsv1.RollingUpdateDaemonSetStrategyType:
		return checkRollingDaemonSet(p.Child("rollingUpdate"), s.RollingUpdate)
	}
	return field.ErrorList{field.NotSupported(p, govalue.JSON(s), []appsv1.DaemonSetUpdateStrategyType{
		appsv1.RollingUpdateDaemonSetStrategyType, appsv1.OnDeleteDaemonSetStrategyType})}
}

// checkRollingDaemonSet checks the limits of a rolling update, which defaults have filled in.
// Exactly one is not zero: a node gets its new pod either before the old one goes (maxSurge) or
// after (maxUnavailable), KEP-1591.
func checkRollingDaemonSet(p *field.Path, r *appsv1.RollingUpdateDaemonSet) field.ErrorList {
	missing, surplus := scheme.OrZero(r.MaxUnavailable), scheme.OrZero(r.MaxSurge)
	errs := check.IntOrPercent(p.Child("maxUnavailable"), missing)
	errs = append(errs, check.IntOrPercent(p.Child("maxSurge"), surplus)...)
	errs = append(errs, check.AtMost100Percent(p.Child("maxUnavailable"), missing)...)
	errs = append(errs, check.AtMost100Percent(p.Child("maxSurge"), surplus)...)
	before, after := check.Amount(surplus) != 0, check.Amount(missing) != 0
	switch {
	case before && after:
		errs = append(errs, field.Invalid(p.Child("maxSurge"), surplus,
			"may not be set when maxUnavailable is non-zero"))
	case !before && !after:
		errs = append(errs, field.Required(p.Child("maxUnavailable"), "cannot be 0 when maxSurge is 0"))
	}
	return errs
}

// daemonSetWarnings warns about a template that is new or has changed.
func daemonSetWarnings(ds, old *appsv1.DaemonSet) []string {
	if old == nil || templateChanged(ds, old) {
		return templateWarnings(&ds.Spec.Template)
	}
	return nil
}

// checkDaemonSetStatus checks the counts of nodes in a status, which are not compared with each
// other, and that collisionCount does not fall.
func checkDaemonSetStatus(ds, old *appsv1.DaemonSet) field.ErrorList {
	s, p := &ds.Status, field.NewPath("status")
	errs := check.NotNegative(p, check.Count("currentNumberScheduled", &s.CurrentNumberScheduled),
		check.Count("numberMisscheduled", &s.NumberMisscheduled),
		check.Count("desiredNumberScheduled", &s.DesiredNumberScheduled), check.Count("numberReady", &s.NumberReady),
		check.Number{"observedGeneration", s.ObservedGeneration},
		check.Count("updatedNumberScheduled", &s.UpdatedNumberScheduled),
		check.Count("numberAvailable", &s.NumberAvailable), check.Count("numberUnavailable", &s.NumberUnavailable),
		check.Count("collisionCount", s.CollisionCount))
	return append(errs, checkCollisionCount(p, s.CollisionCount, old.Status.CollisionCount)...)
}
