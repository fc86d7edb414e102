package volumes_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/loops/volumes"
	"github.com/coracle-project/coracle/server/servertest/looptest"
)

// oneGi is the size of each claim and volume of these tests.
var oneGi = corev1.ResourceList{"storage": meta.MustParse("1Gi")}

// inProtection runs f beside the three loops. The namespace is n.
func inProtection(t *testing.T, f func(w *fakeWorld)) {
	inFakeTime(t, func(t *testing.T, w *fakeWorld) {
		w.CreateNamespace("n")
		w.Run(func(ctx context.Context, in *controller.Informers) {
			(&volumes.ClaimProtection{Informers: in, Log: zap.NewNop()}).Run(ctx)
		})
		w.Run(func(ctx context.Context, in *controller.Informers) {
			(&volumes.VolumeProtection{Informers: in, Log: zap.NewNop()}).Run(ctx)
		})
		w.Run(func(ctx context.Context, in *controller.Informers) {
			(&volumes.ClassProtection{Informers: in, Log: zap.NewNop()}).Run(ctx)
		})
		f(w)
	})
}

func (w *fakeWorld) claim(name string, change func(c *corev1.PersistentVolumeClaim)) {
	w.T.Helper()
	c := &corev1.PersistentVolumeClaim{ObjectMeta: meta.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"}, Resources: corev1.VolumeResourceRequirements{Requests: oneGi},
	}}
	if change != nil {
		change(c)
	}
	looptest.Make(w, w.claims(), c, nil)
}

func (w *fakeWorld) claims() client.Resource[*corev1.PersistentVolumeClaim] {
	return looptest.Of[*corev1.PersistentVolumeClaim](w, "persistentvolumeclaims")
}

func (w *fakeWorld) volumes() client.Resource[*corev1.PersistentVolume] {
	return looptest.Of[*corev1.PersistentVolume](w, "persistentvolumes")
}

// podWith makes a pod with a volume.
func (w *fakeWorld) podWith(name, node string, volume corev1.VolumeSource) {
	w.T.Helper()
	looptest.Make(w, w.Pods(), &corev1.Pod{ObjectMeta: meta.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}, Volumes: []corev1.Volume{{Name: "v", VolumeSource: volume}},
	}}, nil)
}

func claimVolume(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

// kill deletes a pod with a grace period of 0 s.
func (w *fakeWorld) kill(name string) {
	w.T.Helper()
	if err := w.Pods().Delete(w.T.Context(), name, meta.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		w.T.Fatal(err)
	}
}

func TestClaimProtection(t *testing.T) {
	inProtection(t, func(w *fakeWorld) {
		for _, name := range []string{"free", "unbound", "used"} {
			w.claim(name, nil)
		}
		w.podWith("user", "here", claimVolume("used"))
		w.podWith("waiting", "", claimVolume("unbound"))
		w.podWith("owner", "here", corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
			VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"}, Resources: corev1.VolumeResourceRequirements{Requests: oneGi},
			}},
		}})
		owner, err := w.Pods().Get(w.T.Context(), "owner", meta.GetOptions{})
		if err != nil {
			w.T.Fatal(err)
		}
		w.claim("owner-v", func(c *corev1.PersistentVolumeClaim) {
			c.OwnerReferences = []meta.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "owner", UID: owner.UID, Controller: new(true)}}
		})
		for _, name := range []string{"free", "owner-v", "unbound", "used"} {
			looptest.Delete(w, w.claims(), name)
		}
		for _, step := range []struct{ kill, want string }{{"", "owner-v- used-"}, {"user", "owner-v-"}, {"owner", ""}} {
			if step.kill != "" {
				w.kill(step.kill)
			}
			w.Sleep(time.Second)
			if got := looptest.Names(w, w.claims()); got != step.want {
				w.T.Errorf("without %q: got %q, want %q", step.kill, got, step.want)
			}
		}
	})
}

// TestProtectionIsAdded: if a client removes the finalizer from a claim, it is added again.
func TestProtectionIsAdded(t *testing.T) {
	inProtection(t, func(w *fakeWorld) {
		w.claim("c", nil)
		if _, err := w.claims().Patch(w.T.Context(), "c", client.MergePatch, []byte(`{"metadata":{"finalizers":["example.com/a"]}}`), meta.PatchOptions{}); err != nil {
			w.T.Fatal(err)
		}
		w.Sleep(time.Second)
		c, err := w.claims().Get(w.T.Context(), "c", meta.GetOptions{})
		if err != nil || strings.Join(c.Finalizers, " ") != "example.com/a kubernetes.io/pvc-protection" {
			w.T.Errorf("got %q, %v", c.Finalizers, err)
		}
	})
}

func TestVolumeProtection(t *testing.T) {
	inProtection(t, func(w *fakeWorld) {
		for _, name := range []string{"bound", "free"} {
			looptest.Make(w, w.volumes(), &corev1.PersistentVolume{ObjectMeta: meta.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"}, Capacity: oneGi,
				PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/a"}},
			}}, func(v *corev1.PersistentVolume) {
				if name == "bound" {
					v.Status.Phase = corev1.VolumeBound
				}
			})
			looptest.Delete(w, w.volumes(), name)
		}
		w.Sleep(time.Second)
		if got := looptest.Names(w, w.volumes()); got != "bound-" {
			w.T.Errorf("got %q", got)
		}
		if _, err := w.volumes().Sub("status").Patch(w.T.Context(), "bound", client.MergePatch, []byte(`{"status":{"phase":"Released"}}`), meta.PatchOptions{}); err != nil {
			w.T.Fatal(err)
		}
		w.Sleep(time.Second)
		if got := looptest.Names(w, w.volumes()); got != "" {
			w.T.Errorf("released: got %q", got)
		}
	})
}

func TestClassProtection(t *testing.T) {
	inProtection(t, func(w *fakeWorld) {
		classes := looptest.InGroup[*storagev1.VolumeAttributesClass](w, storagev1.GroupVersion.WithResource("volumeattributesclasses"))
		for _, name := range []string{"free", "of-claim", "of-volume"} {
			looptest.Make(w, classes, &storagev1.VolumeAttributesClass{
				ObjectMeta: meta.ObjectMeta{Name: name}, DriverName: "d.example.com", Parameters: map[string]string{"a": "b"},
			}, nil)
		}
		w.claim("c", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeAttributesClassName = new("of-claim") })
		looptest.Make(w, w.volumes(), &corev1.PersistentVolume{ObjectMeta: meta.ObjectMeta{Name: "v"}, Spec: corev1.PersistentVolumeSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"}, Capacity: oneGi, VolumeAttributesClassName: new("of-volume"),
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d.example.com", VolumeHandle: "h"}},
		}}, nil)
		w.Sleep(time.Second)
		for _, name := range []string{"free", "of-claim", "of-volume"} {
			looptest.Delete(w, classes, name)
		}
		is := func(want string) {
			w.T.Helper()
			w.Sleep(time.Second)
			if got := looptest.Names(w, classes); got != want {
				w.T.Errorf("got %q, want %q", got, want)
			}
		}
		is("of-claim- of-volume-")
		looptest.Delete(w, w.claims(), "c")
		is("of-volume-")
		looptest.Delete(w, w.volumes(), "v")
		is("")
	})
}
