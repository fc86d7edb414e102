package appsv1_test

import (
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestNestedKinds decodes a StatefulSet from protobuf, which leaves the kind of the claim templates
// out. JSON has it.
func TestNestedKinds(t *testing.T) {
	s := scheme.New()
	corev1.Scheme.AddToScheme(s)
	appsv1.Scheme.AddToScheme(s)
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	set := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{VolumeClaimTemplates: make([]corev1.PersistentVolumeClaim, 2)}}
	set.SetGroupVersionKind(appsv1.GroupVersion.WithKind("StatefulSet"))
	data, err := codec.AppendProto(nil, set)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := codec.NewFactory(s).Decode(codec.DecodeRequest{Data: data, Type: codec.Protobuf})
	if err != nil {
		t.Fatal(err)
	}
	want := meta.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
	for i, claim := range decoded.Object.(*appsv1.StatefulSet).Spec.VolumeClaimTemplates {
		if claim.TypeMeta != want {
			t.Errorf("template %d: got %+v, want %+v", i, claim.TypeMeta, want)
		}
	}
}
