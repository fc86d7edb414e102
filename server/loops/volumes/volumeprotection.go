package volumes

import (
	"context"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// VolumeProtection keeps persistent volumes that are being deleted as long as they are bound to a
// claim.
type VolumeProtection struct {
	Informers *controller.Informers
	Log       *zap.Logger
}

const volumeFinalizer = "kubernetes.io/pv-protection"

var volumesResource = corev1.GroupVersion.WithResource("persistentvolumes")

// volumeView is what controllers need to know of a volume.
type volumeView struct {
	protected
	Bound bool
	Class string // of volume attributes
}

// volumesOf returns the Informer of volumes, which all controllers of a run share. It knows of
// those about which there is something to do or to say.
func volumesOf(in *controller.Informers) *controller.Informer[volumeView] {
	return controller.InformerOf(in, volumesResource, func(pv *corev1.PersistentVolume) *volumeView {
		v := &volumeView{
			protected: newProtected(&pv.ObjectMeta, volumeFinalizer), Bound: bound(pv), Class: scheme.OrZero(pv.Spec.VolumeAttributesClassName),
		}
		if !v.due() && v.Class == "" {
			return nil
		}
		return v
	})
}

func bound(pv *corev1.PersistentVolume) bool { return pv.Status.Phase == corev1.VolumeBound }

// Run works until ctx ends.
func (c *VolumeProtection) Run(ctx context.Context) {
	p := &protection[*corev1.PersistentVolume]{
		objects: client.For[*corev1.PersistentVolume](c.Informers.Client(), volumesResource), finalizer: volumeFinalizer,
		used: func(_ context.Context, pv *corev1.PersistentVolume) (bool, error) { return bound(pv), nil },
	}
	controller.Loop{
		Source: volumesOf(c.Informers).Source(func(name controller.Name, _, now *volumeView) []controller.Name {
			if now == nil || !now.due() {
				return nil
			}
			return []controller.Name{name}
		}),
		Reconcile: p.reconcile, Log: c.Log,
	}.Run(ctx)
}
