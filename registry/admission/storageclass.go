package admission

import (
	"context"
	"slices"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has the two plugins that look at the storage classes of claims.

// StorageClasses reads the StorageClasses of the cluster. A registry.ListMemo implements it.
type StorageClasses interface {
	// List returns all classes that can be read. They must not be changed. The error is a
	// *meta.StatusError.
	List(ctx context.Context, fresh request.Freshness) ([]*storagev1.StorageClass, error)
}

// DefaultStorageClass is the plugin of that name. A new claim that names no storage class gets the
// default class. If no class is marked as the default, the claim stays without one, and the loop in
// server/loops/volumes gives it the class that is marked later.
type DefaultStorageClass struct {
	classes StorageClasses
}

// NewDefaultStorageClass returns the plugin.
func NewDefaultStorageClass(classes StorageClasses) DefaultStorageClass {
	return DefaultStorageClass{classes}
}

// Name is the plugin's name.
func (DefaultStorageClass) Name() string { return "DefaultStorageClass" }

// Handles is true for creates.
func (DefaultStorageClass) Handles(op Operation) bool { return op == Create }

// Mutate sets the class of a claim without one. It reads from the cache: NamespaceLifecycle has
// just read the claim's namespace consistently, so the cache is at most as old as that read.
func (p DefaultStorageClass) Mutate(ctx context.Context, a *Attributes) error {
	claim, ok := a.Object.(*corev1.PersistentVolumeClaim)
	if !ok || a.Subresource != "" {
		return nil
	}
	if _, named := corev1.StorageClassOf(&claim.ObjectMeta, claim.Spec.StorageClassName); named {
		return nil
	}
	classes, err := p.classes.List(ctx, request.Cached)
	if err != nil {
		return err
	}
	if class := meta.DefaultClass(classes); class != nil {
		name := class.Name
		claim.Spec.StorageClassName = &name
	}
	return nil
}

// PersistentVolumeClaimResize is the plugin of that name. A claim may ask for more storage only if
// it is bound and if its storage class allows expansion.
type PersistentVolumeClaimResize struct {
	classes StorageClasses
}

// NewPersistentVolumeClaimResize returns the plugin.
func NewPersistentVolumeClaimResize(classes StorageClasses) PersistentVolumeClaimResize {
	return PersistentVolumeClaimResize{classes}
}

// Name is the plugin's name.
func (PersistentVolumeClaimResize) Name() string { return "PersistentVolumeClaimResize" }

// Handles is true for updates.
func (PersistentVolumeClaimResize) Handles(op Operation) bool { return op == Update }

// Validate refuses a larger request for storage.
func (p PersistentVolumeClaimResize) Validate(ctx context.Context, a *Attributes) error {
	claim, ok := a.Object.(*corev1.PersistentVolumeClaim)
	if !ok || a.Subresource != "" {
		return nil
	}
	old, ok := a.Old.(*corev1.PersistentVolumeClaim)
	if !ok || storageOf(claim).Cmp(storageOf(old)) <= 0 {
		return nil
	}
	if old.Status.Phase != corev1.ClaimBound {
		return a.Forbidden("Only bound persistent volume claims can be expanded")
	}
	allowed, err := p.expands(ctx, claim, old)
	if err != nil {
		return err
	}
	if !allowed {
		return a.Forbidden("only dynamically provisioned pvc can be resized and " +
			"the storageclass that provisions the pvc must support resize")
	}
	return nil
}

// storageOf returns how much storage a claim asks for.
func storageOf(claim *corev1.PersistentVolumeClaim) meta.Quantity {
	return claim.Spec.Resources.Requests[corev1.ResourceStorage]
}

// expands reports whether the class of a claim allows expansion. It does not if the claim changes
// its class, has no class, or names a class that does not exist or cannot be read. The read is
// consistent, because claims rarely grow, and often right after somebody has changed their class.
func (p PersistentVolumeClaimResize) expands(
	ctx context.Context, claim, old *corev1.PersistentVolumeClaim,
) (bool, error) {
	name, _ := corev1.StorageClassOf(&claim.ObjectMeta, claim.Spec.StorageClassName)
	was, _ := corev1.StorageClassOf(&old.ObjectMeta, old.Spec.StorageClassName)
	if name == "" || name != was {
		return false, nil
	}
	classes, err := p.classes.List(ctx, request.Consistent)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(classes, func(c *storagev1.StorageClass) bool {
		return c.Name == name && scheme.OrZero(c.AllowVolumeExpansion)
	}), nil
}
