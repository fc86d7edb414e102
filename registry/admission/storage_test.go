package admission_test

import (
	"slices"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

func TestStorageObjectInUseProtection(t *testing.T) {
	var plugin admission.StorageObjectInUseProtection
	if plugin.Handles(admission.Update) {
		t.Error("handles updates")
	}
	for _, tt := range []struct {
		resource meta.GroupVersionResource
		sub      string
		obj      meta.Object
		want     []string
	}{
		{corev1.GroupVersion.WithResource("persistentvolumes"), "", &corev1.PersistentVolume{}, []string{"kubernetes.io/pv-protection"}},
		{corev1.GroupVersion.WithResource("persistentvolumeclaims"), "", &corev1.PersistentVolumeClaim{}, []string{"kubernetes.io/pvc-protection"}},
		{storagev1.GroupVersion.WithResource("volumeattributesclasses"), "", &storagev1.VolumeAttributesClass{}, []string{"kubernetes.io/vac-protection"}},
		{storagev1.GroupVersion.WithResource("storageclasses"), "", &storagev1.StorageClass{}, nil},
		{corev1.GroupVersion.WithResource("persistentvolumes"), "status", &corev1.PersistentVolume{}, nil},
	} {
		for range 2 {
			a := &admission.Attributes{Operation: admission.Create, Resource: tt.resource, Subresource: tt.sub, Object: tt.obj}
			if err := plugin.Mutate(t.Context(), a); err != nil || !slices.Equal(tt.obj.GetObjectMeta().Finalizers, tt.want) {
				t.Errorf("%v: got finalizers %q, %v, want %q", tt.resource, tt.obj.GetObjectMeta().Finalizers, err, tt.want)
			}
		}
	}
}
