package volumes_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/loops/volumes"
	"github.com/coracle-project/coracle/server/servertest/looptest"
)

// inDefaulting runs f beside the loop DefaultClass. The namespace is n.
func inDefaulting(t *testing.T, f func(w *fakeWorld)) {
	inFakeTime(t, func(t *testing.T, w *fakeWorld) {
		w.CreateNamespace("n")
		w.Run(func(ctx context.Context, in *controller.Informers) {
			(&volumes.DefaultClass{Informers: in, Log: zap.NewNop()}).Run(ctx)
		})
		f(w)
	})
}

// defaultClass makes a storage class that is the default.
func (w *fakeWorld) defaultClass(name string) {
	w.T.Helper()
	looptest.Make(w, looptest.InGroup[*storagev1.StorageClass](w, storagev1.GroupVersion.WithResource("storageclasses")), &storagev1.StorageClass{
		ObjectMeta:  meta.ObjectMeta{Name: name, Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner: "p.example.com",
	}, nil)
}

// volume makes a volume of 1 GiB.
func (w *fakeWorld) volume(name string, phase corev1.PersistentVolumePhase, ref *corev1.ObjectReference) {
	w.T.Helper()
	looptest.Make(w, w.volumes(), &corev1.PersistentVolume{ObjectMeta: meta.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"}, Capacity: oneGi, ClaimRef: ref,
		PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/a"}},
	}}, func(v *corev1.PersistentVolume) { v.Status.Phase = phase })
}

// classes returns the storage classes of claims: "-" for none.
func (w *fakeWorld) classes(names ...string) (out string) {
	w.T.Helper()
	w.Sleep(time.Second)
	for _, name := range names {
		c, err := w.claims().Get(w.T.Context(), name, meta.GetOptions{})
		if err != nil {
			w.T.Fatal(err)
		}
		class := "-"
		if c.Spec.StorageClassName != nil {
			class = scheme.OrZero(c.Spec.StorageClassName)
		}
		out += name + "=" + class + " "
	}
	return out
}

// TestDefaultClass makes claims before and after classes become the default. Only claims without a
// class get one, and no claim gets a second one.
func TestDefaultClass(t *testing.T) {
	inDefaulting(t, func(w *fakeWorld) {
		w.claim("bare", nil)
		w.claim("none", func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = new("") })
		w.claim("own", func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = new("own") })
		w.claim("annotated", func(c *corev1.PersistentVolumeClaim) {
			c.Annotations = map[string]string{"volume.beta.kubernetes.io/storage-class": "old"}
		})
		w.claim("certain", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "v" })
		w.claim("bound", func(c *corev1.PersistentVolumeClaim) {
			c.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		})
		all := []string{"bare", "none", "own", "annotated", "certain", "bound"}
		for _, step := range []struct{ class, want string }{
			{"", "bare=- none= own=own annotated=- certain=- bound=- "},
			{"usual", "bare=usual none= own=own annotated=- certain=- bound=- "},
			{"newer", "bare=usual none= own=own annotated=- certain=- bound=- "},
		} {
			if step.class != "" {
				w.defaultClass(step.class)
			}
			if got := w.classes(all...); got != step.want {
				w.T.Errorf("with the class %q: got %s, want %s", step.class, got, step.want)
			}
		}
		if _, err := w.claims().Patch(w.T.Context(), "annotated", client.MergePatch, []byte(`{"metadata":{"annotations":{"a":"b"}}}`), meta.PatchOptions{}); err != nil {
			w.T.Fatal(err)
		}
		if got := w.classes("annotated"); got != "annotated=- " {
			w.T.Errorf("after a change: got %s", got)
		}
	})
}

// TestDefaultClassWaitsForVolumes: two claims stay without a class while there is a volume for
// each, until other claims take the volumes.
func TestDefaultClassWaitsForVolumes(t *testing.T) {
	inDefaulting(t, func(w *fakeWorld) {
		w.claim("large", func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Resources.Requests = corev1.ResourceList{"storage": meta.MustParse("2Gi")}
		})
		w.claim("fits", nil)
		w.claim("reserved", func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Selector = &meta.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		})
		w.volume("free", corev1.VolumeAvailable, nil)
		w.volume("kept", corev1.VolumePending, &corev1.ObjectReference{Namespace: "n", Name: "reserved"})
		w.Sleep(time.Second)
		w.defaultClass("usual")
		is := func(want string) {
			w.T.Helper()
			if got := w.classes("large", "fits", "reserved"); got != want {
				w.T.Errorf("got %s, want %s", got, want)
			}
		}
		is("large=usual fits=- reserved=- ")
		looptest.Delete(w, w.volumes(), "kept")
		if _, err := w.volumes().Patch(w.T.Context(), "kept", client.MergePatch, []byte(`{"metadata":{"finalizers":null}}`), meta.PatchOptions{}); err != nil {
			w.T.Fatal(err)
		}
		is("large=usual fits=- reserved=usual ")
		if _, err := w.volumes().Sub("status").Patch(w.T.Context(), "free", client.MergePatch, []byte(`{"status":{"phase":"Failed"}}`), meta.PatchOptions{}); err != nil {
			w.T.Fatal(err)
		}
		is("large=usual fits=usual reserved=usual ")
	})
}
