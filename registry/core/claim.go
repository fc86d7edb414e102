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

// This file declares persistentvolumeclaims. The spec of a new claim is checked by
// registry/podspec, because pods and stateful sets hold templates of claims. Resources calls
// claims.

// claims declares persistentvolumeclaims. The spec of a claim is immutable, but a bound claim may
// request more storage, and another volume attributes class (KEP-3751). Complete gives old objects
// dataSourceRef, which is newer than dataSource.
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

// prepareClaim makes a new claim Pending and completes its data source. It drops two sources:
//   - a dataSourceRef in another namespace (KEP-3294), which this server does not serve, unless the
//     old claim has a dataSourceRef;
//   - a dataSource that is neither a claim nor a VolumeSnapshot, unless the old claim has a source.
//     Servers have always dropped those; dataSourceRef takes any kind (KEP-1495).
func prepareClaim(_ *registry.Request, c, old *corev1.PersistentVolumeClaim) {
	if old == nil {
		c.Status.Phase = corev1.ClaimPending
	}
	spec := &c.Spec
	if isElsewhere(spec.DataSourceRef) && (old == nil || old.Spec.DataSourceRef == nil) {
		spec.DataSourceRef = nil
	}
	filled := old != nil && (old.Spec.DataSource != nil || old.Spec.DataSourceRef != nil)
	if s := spec.DataSource; s != nil && spec.DataSourceRef == nil && !filled {
		group := scheme.OrZero(s.APIGroup)
		if !(s.Kind == "PersistentVolumeClaim" && group == "" || s.Kind == "VolumeSnapshot" && group == snapshotGroup) {
			spec.DataSource = nil
		}
	}
	completeDataSources(spec)
}

// isElsewhere reports whether a data source names a namespace.
func isElsewhere(ref *corev1.TypedObjectReference) bool {
	return ref != nil && scheme.OrZero(ref.Namespace) != ""
}

// completeDataSources sets dataSource from dataSourceRef, or the other way round, if only one is
// set. The older dataSource cannot express a source in another namespace.
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

// checkClaimUpdate checks that the spec is the old one, except for what may change: the volume name
// of an unbound claim, a storage class that was not set (KEP-3333), and requests and attributes
// class of a bound claim. These are made equal in the copies spec and was before the copies are
// compared.
func checkClaimUpdate(c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	var errs field.ErrorList
	spec, was := c.Spec, old.Spec
	completeDataSources(&was)
	if was.VolumeName == "" { // the claim is being bound
		was.VolumeName = spec.VolumeName
	}
	annotation, annotated := old.Annotations[corev1.BetaStorageClassAnnotation]
	now, kept := c.Annotations[corev1.BetaStorageClassAnnotation]
	named := was.StorageClassName == nil && spec.StorageClassName != nil &&
		(!annotated || *spec.StorageClassName == annotation)
	if named { // the claim gets the default class, or the class of its annotation
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

// checkClaimChange checks the changes that a bound claim may make. A request for storage may
// shrink, but only to more than the volume has: so a failed expansion can be retried with less
// (KEP-1790).
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

// resizeStates are the states of an expansion that a status may name.
var resizeStates = []corev1.ClaimResourceStatus{
	corev1.ClaimControllerResizeInProgress, corev1.ClaimControllerResizeInfeasible,
	corev1.ClaimNodeResizeInProgress, corev1.ClaimNodeResizeInfeasible, corev1.ClaimNodeResizePending,
}

// checkClaimStatus checks capacity and the states of expansions. NotSupported shows the name, not
// the state, as in Kubernetes.
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

// claimWarnings tells of the beta annotation for the storage class and of odd amounts of storage.
func claimWarnings(c, _ *corev1.PersistentVolumeClaim) []string {
	var warnings []string
	if _, ok := c.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		warnings = append(warnings, fmt.Sprintf(`%s: deprecated since v1.8; use "storageClassName" attribute instead`,
			field.NewPath("metadata", "annotations").Key(corev1.BetaStorageClassAnnotation)))
	}
	return append(warnings, podspec.ClaimWarnings(field.NewPath("spec"), &c.Spec)...)
}

// claimCells prints one claim. Capacity and modes are those of the volume, so they are empty before
// it is bound.
func claimCells(c *corev1.PersistentVolumeClaim, now time.Time) []any {
	spec, capacity, modes := &c.Spec, "", ""
	if spec.VolumeName != "" {
		capacity, modes = amountText(c.Status.Capacity), accessModes(c.Status.AccessModes)
	}
	class, _ := corev1.StorageClassOf(&c.ObjectMeta, spec.StorageClassName)
	return []any{
		c.Name, phaseOf(&c.ObjectMeta, string(c.Status.Phase)), spec.VolumeName, capacity, modes,
		class, orUnset(spec.VolumeAttributesClassName),
		registry.Age(&c.ObjectMeta, now), orUnset(spec.VolumeMode),
	}
}
