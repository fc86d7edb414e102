package storagev1_test

import (
	"encoding/json"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// defaulted makes an object from JSON.
func defaulted[T any, P interface {
	*T
	meta.Object
}](t *testing.T, text string) P {
	t.Helper()
	s := scheme.New()
	corev1.Scheme.AddToScheme(s)
	storagev1.Scheme.AddToScheme(s)
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	obj := P(new(T))
	if err := json.Unmarshal([]byte(text), obj); err != nil {
		t.Fatal(err)
	}
	s.Default(obj)
	return obj
}

func TestDefaults(t *testing.T) {
	for _, tt := range []struct {
		name string
		spec any
		want string
	}{
		{"class", defaulted[storagev1.StorageClass](t, `{"provisioner":"p"}`),
			`{"metadata":{},"provisioner":"p","reclaimPolicy":"Delete","volumeBindingMode":"Immediate"}`},
		{"class that says all", defaulted[storagev1.StorageClass](t, `{"provisioner":"p","reclaimPolicy":"Retain","volumeBindingMode":"WaitForFirstConsumer"}`),
			`{"metadata":{},"provisioner":"p","reclaimPolicy":"Retain","volumeBindingMode":"WaitForFirstConsumer"}`},
		{"driver", defaulted[storagev1.CSIDriver](t, `{"spec":{"volumeLifecycleModes":[]}}`).Spec,
			`{"attachRequired":true,"podInfoOnMount":false,"volumeLifecycleModes":["Persistent"],"storageCapacity":false,"fsGroupPolicy":"ReadWriteOnceWithFSType",` +
				`"requiresRepublish":false,"seLinuxMount":false}`},
		{"driver that says all", defaulted[storagev1.CSIDriver](t, `{"spec":{"attachRequired":false,"podInfoOnMount":true,"volumeLifecycleModes":["Ephemeral"],
			"storageCapacity":true,"fsGroupPolicy":"File","requiresRepublish":true,"seLinuxMount":true}}`).Spec,
			`{"attachRequired":false,"podInfoOnMount":true,"volumeLifecycleModes":["Ephemeral"],"storageCapacity":true,"fsGroupPolicy":"File","requiresRepublish":true,"seLinuxMount":true}`},
		{"inline volume", defaulted[storagev1.VolumeAttachment](t, `{"spec":{"source":{"inlineVolumeSpec":{"hostPath":{"path":"/x"}}}}}`).Spec.Source,
			`{"inlineVolumeSpec":{"hostPath":{"path":"/x","type":""}}}`}, // without the defaults of volumes in pods
	} {
		if got, err := json.Marshal(tt.spec); string(got) != tt.want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", tt.name, got, err, tt.want)
		}
	}
}
