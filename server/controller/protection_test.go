package controller_test

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
)

// quantities of a claim or volume.
var oneGi = corev1.ResourceList{"storage": meta.MustParse("1Gi")}

// inProtection runs f beside the three controllers, in a namespace.
func inProtection(t *testing.T, f func(w *fakeWorld)) {
	inFakeTime(t, func(t *testing.T, w *fakeWorld) {
		w.createNamespace("n")
		w.controlled(func(ctx context.Context, in *controller.Informers) {
			(&controller.ClaimProtection{Informers: in, Log: zap.NewNop()}).Run(ctx)
		})
		w.controlled(func(ctx context.Context, in *controller.Informers) {
			(&controller.VolumeProtection{Informers: in, Log: zap.NewNop()}).Run(ctx)
		})
		w.controlled(func(ctx context.Context, in *controller.Informers) {
			(&controller.ClassProtection{Informers: in, Log: zap.NewNop()}).Run(ctx)
		})
		f(w)
	})
}

func (w *fakeWorld) claim(name string, change func(c *corev1.PersistentVolumeClaim)) {
	w.t.Helper()
	c := &corev1.PersistentVolumeClaim{ObjectMeta: meta.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"}, Resources: corev1.VolumeResourceRequirements{Requests: oneGi},
	}}
	if change != nil {
		change(c)
	}
	makeOf(w, w.claims(), c, nil)
}

func (w *fakeWorld) claims() client.Resource[*corev1.PersistentVolumeClaim] {
	return objects[*corev1.PersistentVolumeClaim](w, "persistentvolumeclaims")
}

func (w *fakeWorld) volumes() client.Resource[*corev1.PersistentVolume] {
	return objects[*corev1.PersistentVolume](w, "persistentvolumes")
}

// podWith makes a pod with a volume.
func (w *fakeWorld) podWith(name, node string, volume corev1.VolumeSource) {
	w.t.Helper()
	makeOf(w, w.pods(), &corev1.Pod{ObjectMeta: meta.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}, Volumes: []corev1.Volume{{Name: "v", VolumeSource: volume}},
	}}, nil)
}

func claimVolume(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

// kill deletes a pod at once.
func (w *fakeWorld) kill(name string) {
	w.t.Helper()
	if err := w.pods().Delete(w.t.Context(), name, meta.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		w.t.Fatal(err)
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
		owner, err := w.pods().Get(w.t.Context(), "owner", meta.GetOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		w.claim("owner-v", func(c *corev1.PersistentVolumeClaim) {
			c.OwnerReferences = []meta.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "owner", UID: owner.UID, Controller: new(true)}}
		})
		for _, name := range []string{"free", "owner-v", "unbound", "used"} {
			deleteOf(w, w.claims(), name)
		}
		for _, step := range []struct{ kill, want string }{{"", "owner-v- used-"}, {"user", "owner-v-"}, {"owner", ""}} {
			if step.kill != "" {
				w.kill(step.kill)
			}
			w.sleep(time.Second)
			if got := namesOf(w, w.claims()); got != step.want {
				w.t.Errorf("without %q: got %q, want %q", step.kill, got, step.want)
			}
		}
	})
}

// TestProtectionIsAdded to what has lost it.
func TestProtectionIsAdded(t *testing.T) {
	inProtection(t, func(w *fakeWorld) {
		w.claim("c", nil)
		if _, err := w.claims().Patch(w.t.Context(), "c", client.MergePatch, []byte(`{"metadata":{"finalizers":["example.com/a"]}}`), meta.PatchOptions{}); err != nil {
			w.t.Fatal(err)
		}
		w.sleep(time.Second)
		c, err := w.claims().Get(w.t.Context(), "c", meta.GetOptions{})
		if err != nil || strings.Join(c.Finalizers, " ") != "example.com/a kubernetes.io/pvc-protection" {
			w.t.Errorf("got %q, %v", c.Finalizers, err)
		}
	})
}

func TestVolumeProtection(t *testing.T) {
	inProtection(t, func(w *fakeWorld) {
		for _, name := range []string{"bound", "free"} {
			makeOf(w, w.volumes(), &corev1.PersistentVolume{ObjectMeta: meta.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"}, Capacity: oneGi,
				PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/a"}},
			}}, func(v *corev1.PersistentVolume) {
				if name == "bound" {
					v.Status.Phase = corev1.VolumeBound
				}
			})
			deleteOf(w, w.volumes(), name)
		}
		w.sleep(time.Second)
		if got := namesOf(w, w.volumes()); got != "bound-" {
			w.t.Errorf("got %q", got)
		}
		if _, err := w.volumes().Sub("status").Patch(w.t.Context(), "bound", client.MergePatch, []byte(`{"status":{"phase":"Released"}}`), meta.PatchOptions{}); err != nil {
			w.t.Fatal(err)
		}
		w.sleep(time.Second)
		if got := namesOf(w, w.volumes()); got != "" {
			w.t.Errorf("released: got %q", got)
		}
	})
}

func TestClassProtection(t *testing.T) {
	inProtection(t, func(w *fakeWorld) {
		classes := inGroup[*storagev1.VolumeAttributesClass](w, storagev1.GroupVersion.WithResource("volumeattributesclasses"))
		for _, name := range []string{"free", "of-claim", "of-volume"} {
			makeOf(w, classes, &storagev1.VolumeAttributesClass{
				ObjectMeta: meta.ObjectMeta{Name: name}, DriverName: "d.example.com", Parameters: map[string]string{"a": "b"},
			}, nil)
		}
		w.claim("c", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeAttributesClassName = new("of-claim") })
		makeOf(w, w.volumes(), &corev1.PersistentVolume{ObjectMeta: meta.ObjectMeta{Name: "v"}, Spec: corev1.PersistentVolumeSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"}, Capacity: oneGi, VolumeAttributesClassName: new("of-volume"),
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d.example.com", VolumeHandle: "h"}},
		}}, nil)
		w.sleep(time.Second)
		for _, name := range []string{"free", "of-claim", "of-volume"} {
			deleteOf(w, classes, name)
		}
		is := func(want string) {
			w.t.Helper()
			w.sleep(time.Second)
			if got := namesOf(w, classes); got != want {
				w.t.Errorf("got %q, want %q", got, want)
			}
		}
		is("of-claim- of-volume-")
		deleteOf(w, w.claims(), "c")
		is("of-volume-")
		deleteOf(w, w.volumes(), "v")
		is("")
	})
}
