package volumes

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// DefaultClass gives classless claims the default storage class, when there is one (KEP-3333). In
// Kubernetes, persistentvolume-binder-controller does so before it provisions a volume. Like there,
// a claim stays classless while a volume fits it (Fits), because the claim is to be bound to that
// volume. This server binds no claims.
type DefaultClass struct {
	Informers *controller.Informers
	Log       *zap.Logger
}

var storageClassesResource = storagev1.GroupVersion.WithResource("storageclasses")

// defaultClassesOf returns the Informer of the storage classes that are marked as the default. A
// view is a class with nothing but what meta.DefaultClass reads.
func defaultClassesOf(in *controller.Informers) *controller.Informer[storagev1.StorageClass] {
	return controller.InformerOf(in, storageClassesResource, func(c *storagev1.StorageClass) *storagev1.StorageClass {
		if !c.IsDefault() {
			return nil
		}
		return &storagev1.StorageClass{ObjectMeta: meta.ObjectMeta{
			Name: c.Name, CreationTimestamp: c.CreationTimestamp,
			Annotations: map[string]string{storagev1.IsDefaultStorageClassAnnotation: "true"},
		}}
	})
}

// classless reports whether a claim names no storage class, is not bound, and does not ask for a
// certain volume. A claim with the class "" asks for a volume without class.
func classless(c *corev1.PersistentVolumeClaim) bool {
	_, named := corev1.StorageClassOf(&c.ObjectMeta, c.Spec.StorageClassName)
	_, bound := c.Annotations["pv.kubernetes.io/bind-completed"]
	return !named && !bound && c.Spec.VolumeName == ""
}

// Run gives classless claims their class until ctx ends. It looks at all of them again when a class
// becomes the default, and when a vacant volume changes.
func (c *DefaultClass) Run(ctx context.Context) {
	claims, classes, volumes := claimsOf(c.Informers), defaultClassesOf(c.Informers), volumesOf(c.Informers)
	all := func() (names []controller.Name) {
		claims.All(func(name controller.Name, claim *claimView) {
			if claim.Classless {
				names = append(names, name)
			}
		})
		return names
	}
	controller.Loop{
		Name: "claims",
		Source: controller.Join(
			claims.Source(func(name controller.Name, _, now *claimView) []controller.Name {
				if now == nil || !now.Classless {
					return nil
				}
				return []controller.Name{name}
			}),
			classes.Source(func(_ controller.Name, _, now *storagev1.StorageClass) []controller.Name {
				if now == nil {
					return nil
				}
				return all()
			}),
			volumes.Source(func(_ controller.Name, before, _ *volumeView) []controller.Name {
				if before == nil || before.Vacant == nil {
					return nil
				}
				return all()
			}),
		),
		Reconcile: c.reconcile, After: []controller.Syncer{classes, volumes}, Log: c.Log,
	}.Run(ctx)
}

// reconcile gives one claim the default class. The update has the resourceVersion of the read, so a
// claim that somebody changes meanwhile is looked at again.
func (c *DefaultClass) reconcile(ctx context.Context, name controller.Name) (time.Duration, error) {
	var classes []*storagev1.StorageClass
	defaultClassesOf(c.Informers).All(func(_ controller.Name, class *storagev1.StorageClass) {
		classes = append(classes, class)
	})
	class := meta.DefaultClass(classes)
	if class == nil {
		return 0, nil
	}
	claims := client.For[*corev1.PersistentVolumeClaim](c.Informers.Client(), claimsResource).In(name.Namespace)
	claim, err := claims.Get(ctx, name.Name, meta.GetOptions{})
	if err != nil || !classless(claim) || c.fitting(claim) {
		return 0, controller.IgnoreNotFound(err)
	}
	claim.Spec.StorageClassName = &class.Name
	_, err = claims.Update(ctx, claim, meta.UpdateOptions{})
	return 0, controller.IgnoreNotFound(err)
}

// fitting reports whether a volume fits the claim. A volume that cannot be read does not count:
// nobody can bind it.
func (c *DefaultClass) fitting(claim *corev1.PersistentVolumeClaim) bool {
	fits := false
	volumesOf(c.Informers).All(func(_ controller.Name, v *volumeView) {
		fits = fits || v.Vacant != nil && Fits(claim, v.Vacant)
	})
	return fits
}

// vacant returns what Fits reads of a volume, nil if the volume fits no classless claim. Most
// volumes of a cluster are bound or have a class.
func vacant(pv *corev1.PersistentVolume) *corev1.PersistentVolume {
	spec, phase := &pv.Spec, pv.Status.Phase
	class, _ := corev1.StorageClassOf(&pv.ObjectMeta, &spec.StorageClassName)
	if ref := spec.ClaimRef; ref == nil {
		if class != "" || phase != corev1.VolumeAvailable {
			return nil
		}
	} else if ref.UID != "" && phase != corev1.VolumeAvailable && phase != corev1.VolumePending {
		return nil // the claim has had the volume
	}
	return &corev1.PersistentVolume{
		ObjectMeta: meta.ObjectMeta{Labels: pv.Labels, DeletionTimestamp: pv.DeletionTimestamp},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: spec.Capacity, AccessModes: spec.AccessModes, ClaimRef: spec.ClaimRef, StorageClassName: class,
			VolumeMode: spec.VolumeMode, VolumeAttributesClassName: spec.VolumeAttributesClassName,
		},
		Status: corev1.PersistentVolumeStatus{Phase: phase},
	}
}

// Fits reports whether Kubernetes would bind a claim without class to a volume: the volume is large
// enough, has the modes and attributes that the claim asks for, and is not being deleted. It is
// also reserved for this claim (spec.claimRef), or is available without a class and has the labels
// that the claim asks for.
func Fits(claim *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) bool {
	want, has := &claim.Spec, &pv.Spec
	if has.Capacity[corev1.ResourceStorage].Cmp(want.Resources.Requests[corev1.ResourceStorage]) < 0 ||
		volumeMode(want.VolumeMode) != volumeMode(has.VolumeMode) ||
		scheme.OrZero(want.VolumeAttributesClassName) != scheme.OrZero(has.VolumeAttributesClassName) ||
		pv.DeletionTimestamp != nil {
		return false
	}
	for _, mode := range want.AccessModes {
		if !slices.Contains(has.AccessModes, mode) {
			return false
		}
	}
	if ref := has.ClaimRef; ref != nil {
		return ref.Name == claim.Name && ref.Namespace == claim.Namespace && (ref.UID == "" || ref.UID == claim.UID)
	}
	class, _ := corev1.StorageClassOf(&pv.ObjectMeta, &has.StorageClassName)
	return class == "" && pv.Status.Phase == corev1.VolumeAvailable && selects(want.Selector, pv.Labels)
}

// volumeMode returns the mode that a volume or claim states, or else the default.
func volumeMode(stated *corev1.PersistentVolumeMode) corev1.PersistentVolumeMode {
	if stated == nil {
		return corev1.PersistentVolumeFilesystem
	}
	return *stated
}

// selects reports whether the selector of a claim matches labels. No selector matches all labels,
// and an invalid one none.
func selects(s *meta.LabelSelector, labels map[string]string) bool {
	if s == nil {
		return true
	}
	selector, err := meta.SelectorFrom(s)
	return err == nil && selector.Matches(meta.Set(labels))
}
