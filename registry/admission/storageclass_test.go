package admission_test

import (
	"context"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// storageClasses lists storage classes.
type storageClasses []*storagev1.StorageClass

func (c storageClasses) List(context.Context, request.Freshness) ([]*storagev1.StorageClass, error) {
	return c, nil
}

// claimAttributes returns the attributes of a write of the claim c.
func claimAttributes(op admission.Operation, claim, old *corev1.PersistentVolumeClaim) *admission.Attributes {
	a := &admission.Attributes{Operation: op, Resource: corev1.GroupVersion.WithResource("persistentvolumeclaims"), Object: claim, Name: "c"}
	if old != nil {
		a.Old = old
	}
	return a
}

func TestDefaultStorageClass(t *testing.T) {
	const mark, beta = "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"
	class := func(name, mark string) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: meta.ObjectMeta{Name: name, Annotations: map[string]string{mark: "true"}}}
	}
	claim := func(class *string, annotations map[string]string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{
			ObjectMeta: meta.ObjectMeta{Annotations: annotations}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: class},
		}
	}
	for _, tt := range []struct {
		name, sub string
		classes   storageClasses
		claim     *corev1.PersistentVolumeClaim
		want      *string
	}{
		{"no class", "", storageClasses{class("other", "other"), class("usual", mark)}, claim(nil, nil), ptr("usual")},
		{"an older mark", "", storageClasses{class("usual", beta)}, claim(nil, nil), ptr("usual")},
		{"nothing is marked", "", storageClasses{class("other", "other")}, claim(nil, nil), nil},
		{"a class", "", storageClasses{class("usual", mark)}, claim(ptr("own"), nil), ptr("own")},
		{"a volume without class", "", storageClasses{class("usual", mark)}, claim(ptr(""), nil), ptr("")},
		{"an annotation", "", storageClasses{class("usual", mark)}, claim(nil, map[string]string{"volume.beta.kubernetes.io/storage-class": ""}), nil},
		{"a subresource", "status", storageClasses{class("usual", mark)}, claim(nil, nil), nil},
	} {
		plugin, a := admission.NewDefaultStorageClass(tt.classes), claimAttributes(admission.Create, tt.claim, nil)
		a.Subresource = tt.sub
		if err := plugin.Mutate(t.Context(), a); err != nil {
			t.Errorf("%s: got %v", tt.name, err)
		}
		if got := tt.claim.Spec.StorageClassName; (got == nil) != (tt.want == nil) || scheme.OrZero(got) != scheme.OrZero(tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, scheme.OrZero(got), scheme.OrZero(tt.want))
		}
	}
}

func TestPersistentVolumeClaimResize(t *testing.T) {
	const prefix = `persistentvolumeclaims "c" is forbidden: `
	const unbound = prefix + "Only bound persistent volume claims can be expanded"
	const static = prefix + "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
	some := storageClasses{
		{ObjectMeta: meta.ObjectMeta{Name: "fixed"}, AllowVolumeExpansion: ptr(false)}, {ObjectMeta: meta.ObjectMeta{Name: "silent"}},
		{ObjectMeta: meta.ObjectMeta{Name: "grows"}, AllowVolumeExpansion: ptr(true)},
		{AllowVolumeExpansion: ptr(true)}, // has no name, so that no claim can use it
	}
	claim := func(class, annotation, size string, phase corev1.PersistentVolumeClaimPhase) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class}}
		if annotation != "" {
			c.Annotations = map[string]string{"volume.beta.kubernetes.io/storage-class": annotation}
		}
		if size != "" {
			c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: meta.MustParse(size)}
		}
		c.Status.Phase = phase
		return c
	}
	for _, tt := range []struct {
		name     string
		now, old *corev1.PersistentVolumeClaim
		want     string
	}{
		{"as before", claim("fixed", "", "1Gi", "Bound"), claim("fixed", "", "1024Mi", "Bound"), ""},
		{"less", claim("fixed", "", "1Gi", "Pending"), claim("fixed", "", "2Gi", "Pending"), ""},
		{"more", claim("grows", "", "2Gi", "Bound"), claim("grows", "", "1Gi", "Bound"), ""},
		{"more than nothing", claim("grows", "", "2Gi", "Bound"), claim("grows", "", "", "Bound"), ""},
		{"more of a fixed class", claim("fixed", "", "2Gi", "Bound"), claim("fixed", "", "1Gi", "Bound"), static},
		{"more of a class that does not say", claim("silent", "", "2Gi", "Bound"), claim("silent", "", "1Gi", "Bound"), static},
		{"more of an unknown class", claim("gone", "", "2Gi", "Bound"), claim("gone", "", "1Gi", "Bound"), static},
		{"more without a class", claim("", "", "2Gi", "Bound"), claim("", "", "1Gi", "Bound"), static},
		{"more of another class", claim("grows", "", "2Gi", "Bound"), claim("fixed", "", "1Gi", "Bound"), static},
		{"more by the annotation", claim("fixed", "grows", "2Gi", "Bound"), claim("fixed", "grows", "1Gi", "Bound"), ""},
		{"more while unbound", claim("grows", "", "2Gi", "Bound"), claim("grows", "", "1Gi", "Pending"), unbound},
	} {
		plugin, a := admission.NewPersistentVolumeClaimResize(some), claimAttributes(admission.Update, tt.now, tt.old)
		if got := errorText(plugin.Validate(t.Context(), a)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		a.Subresource = "status"
		if err := plugin.Validate(t.Context(), a); err != nil {
			t.Errorf("%s, of the status: got %v", tt.name, err)
		}
	}
}

// errorText returns the text of an error, "" for nil.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
