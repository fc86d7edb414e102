package volumes

import (
	"context"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// VolumeProtection keeps the finalizer kubernetes.io/pv-protection on PersistentVolumes. A volume
// that is being deleted loses the finalizer when its phase is not Bound, as in Kubernetes'
// persistentvolume-protection-controller. The phase is set by the volume binder of a
// kube-controller-manager, not by this server.
type VolumeProtection struct {
	Informers *controller.Informers
	Log       *zap.Logger
}

const volumeFinalizer = "kubernetes.io/pv-protection"

var volumesResource = corev1.GroupVersion.WithResource("persistentvolumes")

// volumeView is the part of a volume that the loops of this package need.
type volumeView struct {
	protected
	Bound bool   // read by nobody: it is here so that the Informer adds the volume again when it changes
	Class string // the VolumeAttributesClass of the spec, "" for none
	// Vacant is the part of the volume that DefaultClass needs, nil if the volume fits no classless
	// claim.
	Vacant *corev1.PersistentVolume
}

// volumesOf returns the Informer of volumes, which VolumeProtection, ClassProtection and
// DefaultClass share. It keeps nothing of a volume that is not due, has no VolumeAttributesClass
// and is not vacant.
func volumesOf(in *controller.Informers) *controller.Informer[volumeView] {
	return controller.InformerOf(in, volumesResource, func(pv *corev1.PersistentVolume) *volumeView {
		v := &volumeView{
			protected: newProtected(&pv.ObjectMeta, volumeFinalizer), Bound: bound(pv),
			Class: scheme.OrZero(pv.Spec.VolumeAttributesClassName), Vacant: vacant(pv),
		}
		if !v.due() && v.Class == "" && v.Vacant == nil {
			return nil
		}
		return v
	})
}

func bound(pv *corev1.PersistentVolume) bool { return pv.Status.Phase == corev1.VolumeBound }

// Run keeps the finalizers of volumes until ctx ends.
func (c *VolumeProtection) Run(ctx context.Context) {
	p := &protection[*corev1.PersistentVolume]{
		objects:   client.For[*corev1.PersistentVolume](c.Informers.Client(), volumesResource),
		finalizer: volumeFinalizer,
		used:      func(_ context.Context, pv *corev1.PersistentVolume) (bool, error) { return bound(pv), nil },
	}
	controller.Loop{
		Name: "pvprotection",
		Source: volumesOf(c.Informers).Source(func(name controller.Name, _, now *volumeView) []controller.Name {
			if now == nil || !now.due() {
				return nil
			}
			return []controller.Name{name}
		}),
		Reconcile: p.reconcile, Log: c.Log,
	}.Run(ctx)
}
