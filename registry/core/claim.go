package core

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// claims makes the resource persistentvolumeclaims. What a claim asks for cannot be changed, but it
// can ask for more, and for another class of attributes, once it is bound.
func claims() registry.Resource {
	return registry.Typed(registry.ResourceOf[*corev1.PersistentVolumeClaim]{
		GroupResource: meta.GroupResource{Resource: "persistentvolumeclaims"},
		Kind:          "PersistentVolumeClaim", ShortNames: []string{"pvc"},
		Namespaced:    true,
		Complete:      func(c *corev1.PersistentVolumeClaim) { completeDataSources(&c.Spec) },
		CompleteNeeds: []string{"spec.dataSourceRef | !spec.dataSource", "spec.dataSource | !spec.dataSourceRef"},
		Strategy: registry.StrategyOf[*corev1.PersistentVolumeClaim]{
			Metadata:                 registry.MetaWhole,
			Prepare:                  prepareClaim,
			Validate:                 checkClaim,
			Warnings:                 claimWarnings,
			AllowUnconditionalUpdate: true,
		},
		Status: &registry.StatusOf[*corev1.PersistentVolumeClaim]{Validate: checkClaimStatus},
		Table: &registry.TableOf[*corev1.PersistentVolumeClaim]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Status", "What became of the claim.", 0),
				registry.Column("Volume", "Volume that the claim is bound to.", 0),
				registry.Column("Capacity", "How much the volume holds.", 0),
				registry.Column("Access Modes", "How the volume can be mounted.", 0),
				registry.Column("StorageClass", "Storage class that the claim asks for.", 0),
				registry.Column("VolumeAttributesClass", "Volume attributes class that the claim asks for.", 0),
				registry.AgeColumn,
				registry.Column("VolumeMode", "Whether the volume holds a file system or is a raw device.", 1),
			},
			Cells: claimCells,
		},
		ReturnsDeleted: true,
	})
}

// snapshotGroup is the API group of the snapshots that a claim can be filled from.
const snapshotGroup = "snapshot.storage.k8s.io"

// prepareClaim sees to it that a claim is filled from what the server has always let it be filled
// from, and that both forms of that are there.
func prepareClaim(_ *registry.Request, c, old *corev1.PersistentVolumeClaim) {
	if old == nil {
		c.Status.Phase = corev1.ClaimPending
	}
	spec := &c.Spec
	if isElsewhere(spec.DataSourceRef) && (old == nil || old.Spec.DataSourceRef == nil) {
		spec.DataSourceRef = nil // not served
	}
	filled := old != nil && (old.Spec.DataSource != nil || old.Spec.DataSourceRef != nil)
	if s := spec.DataSource; s != nil && spec.DataSourceRef == nil && !filled {
		group := scheme.OrZero(s.APIGroup)
		if !(s.Kind == "PersistentVolumeClaim" && group == "" || s.Kind == "VolumeSnapshot" && group == snapshotGroup) {
			spec.DataSource = nil // ignored ever since; newer clients use the other form
		}
	}
	completeDataSources(spec)
}

// isElsewhere reports whether what a claim is filled from is in a namespace that is named.
func isElsewhere(ref *corev1.TypedObjectReference) bool {
	return ref != nil && scheme.OrZero(ref.Namespace) != ""
}

// completeDataSources takes one form of what a claim is filled from for the other.
func completeDataSources(spec *corev1.PersistentVolumeClaimSpec) {
	source, ref := spec.DataSource, spec.DataSourceRef
	switch {
	case source != nil && ref == nil:
		spec.DataSourceRef = &corev1.TypedObjectReference{
			APIGroup: source.APIGroup, Kind: source.Kind, Name: source.Name,
		}
	case ref != nil && source == nil && !isElsewhere(ref):
		spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: ref.APIGroup, Kind: ref.Kind, Name: ref.Name}
	}
}

func checkClaim(c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	if old == nil {
		return podspec.Claim(field.NewPath("spec"), &c.Spec, nil)
	}
	return append(podspec.Claim(field.NewPath("spec"), &c.Spec, &old.Spec), checkClaimUpdate(c, old)...)
}

func checkClaimUpdate(c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	var errs field.ErrorList
	spec, was := c.Spec, old.Spec
	completeDataSources(&was)
	if was.VolumeName == "" { // it is bound
		was.VolumeName = spec.VolumeName
	}
	annotation, annotated := old.Annotations[corev1.BetaStorageClassAnnotation]
	now, kept := c.Annotations[corev1.BetaStorageClassAnnotation]
	named := was.StorageClassName == nil && spec.StorageClassName != nil &&
		(!annotated || *spec.StorageClassName == annotation)
	if named { // it gets the class that it had, or that is the default
		spec.StorageClassName = nil
	}
	if now != annotation && !(named && annotated && !kept) {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "annotations", corev1.BetaStorageClassAnnotation),
			now, "field is immutable"))
	}
	if c.Status.Phase == corev1.ClaimBound {
		if spec.Resources.Requests != nil {
			spec.Resources.Requests = maps.Clone(spec.Resources.Requests)
			spec.Resources.Requests[corev1.ResourceStorage] = was.Resources.Requests[corev1.ResourceStorage]
		}
		spec.VolumeAttributesClassName = was.VolumeAttributesClassName
	}
	if !scheme.Equal(&spec, &was) {
		errs = append(errs, field.Forbidden(field.NewPath("spec"),
			"spec is immutable after creation except resources.requests and "+
				"volumeAttributesClassName for bound claims\n"+govalue.Diff(was, spec)))
	}
	return append(errs, checkClaimChange(c, old)...)
}

// checkClaimChange checks what a bound claim may change. It may ask for less only as long as it has
// not got what it asked for.
func checkClaimChange(c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	var errs field.ErrorList
	p := field.NewPath("spec")
	size, has := c.Spec.Resources.Requests[corev1.ResourceStorage], old.Status.Capacity[corev1.ResourceStorage]
	if size.Cmp(old.Spec.Resources.Requests[corev1.ResourceStorage]) < 0 && size.Cmp(has) <= 0 {
		errs = append(errs, field.Forbidden(p.Child("resources", "requests", "storage"),
			"field can not be less than status.capacity"))
	}
	errs = append(errs, check.Immutable(field.NewPath("volumeMode"), c.Spec.VolumeMode, old.Spec.VolumeMode)...)
	class := c.Spec.VolumeAttributesClassName
	if old.Status.CurrentVolumeAttributesClassName == nil || scheme.Equal(class, old.Spec.VolumeAttributesClassName) {
		return errs
	}
	const inUse = " is forbidden when status.currentVolumeAttributesClassName is not nil"
	if at := p.Child("volumeAttributesClassName"); class == nil {
		errs = append(errs, field.Forbidden(at, "update to nil"+inUse))
	} else if *class == "" {
		errs = append(errs, field.Forbidden(at, "update to empty string"+inUse))
	}
	return errs
}

var resizeStates = []corev1.ClaimResourceStatus{
	corev1.ClaimControllerResizeInProgress, corev1.ClaimControllerResizeInfeasible,
	corev1.ClaimNodeResizeInProgress, corev1.ClaimNodeResizeInfeasible, corev1.ClaimNodeResizePending,
}

func checkClaimStatus(c, _ *corev1.PersistentVolumeClaim) field.ErrorList {
	var errs field.ErrorList
	status, p := &c.Status, field.NewPath("status")
	for name, q := range field.Entries(&errs, status.Capacity) {
		errs = append(errs, podspec.BasicAmount(p.Child("capacity").Key(string(name)), q)...)
	}
	resizes := p.Child("allocatedResourceStatuses")
	for name, resize := range field.Entries(&errs, status.AllocatedResourceStatuses) {
		errs = append(errs, podspec.ClaimResourceName(resizes, name)...)
		if !slices.Contains(resizeStates, resize) {
			errs = append(errs, field.NotSupported(resizes, name, resizeStates))
		}
	}
	allocated := p.Child("allocatedResources")
	for name, q := range field.Entries(&errs, status.AllocatedResources) {
		bad := podspec.ClaimResourceName(allocated, name)
		if len(bad) == 0 {
			bad = podspec.BasicAmount(allocated.Key(string(name)), q)
		}
		if len(bad) == 0 {
			bad = check.NonNegativeQuantity(allocated.Key(string(name)), q)
		}
		errs = append(errs, bad...)
	}
	return errs
}

func claimWarnings(c, _ *corev1.PersistentVolumeClaim) []string {
	var warnings []string
	if _, ok := c.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		warnings = append(warnings, fmt.Sprintf(`%s: deprecated since v1.8; use "storageClassName" attribute instead`,
			field.NewPath("metadata", "annotations").Key(corev1.BetaStorageClassAnnotation)))
	}
	return append(warnings, podspec.ClaimWarnings(field.NewPath("spec"), &c.Spec)...)
}

func claimCells(c *corev1.PersistentVolumeClaim, now time.Time) []any {
	spec, capacity, modes := &c.Spec, "", ""
	if spec.VolumeName != "" {
		capacity, modes = amountText(c.Status.Capacity), accessModes(c.Status.AccessModes)
	}
	return []any{
		c.Name, phaseOf(&c.ObjectMeta, string(c.Status.Phase)), spec.VolumeName, capacity, modes,
		classOf(&c.ObjectMeta, spec.StorageClassName), orUnset(spec.VolumeAttributesClassName),
		registry.Age(&c.ObjectMeta, now), orUnset(spec.VolumeMode),
	}
}
