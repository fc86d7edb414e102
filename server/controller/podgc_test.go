package controller_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// controlled runs a controller until the test ends, with informers of its own.
func (w *fakeWorld) controlled(run func(ctx context.Context, in *controller.Informers)) {
	in := w.informers()
	ctx, stop := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); run(ctx, in.Informers) }()
	w.t.Cleanup(func() { stop(); <-ended })
	w.sleep(0)
}

// objects are those of a resource of the core group in the namespace "n", or outside of any.
func objects[T meta.Object](w *fakeWorld, resource string) client.Resource[T] {
	return inGroup[T](w, corev1.GroupVersion.WithResource(resource))
}

func inGroup[T meta.Object](w *fakeWorld, gvr meta.GroupVersionResource) client.Resource[T] {
	r := client.For[T](w.s.Client(), gvr)
	if slices.Contains([]string{"nodes", "namespaces", "persistentvolumes", "volumeattributesclasses"}, gvr.Resource) {
		return r
	}
	return r.In("n")
}

// make creates an object, and gives it the status that it has.
func makeOf[T meta.Object](w *fakeWorld, r client.Resource[T], obj T, status func(obj T)) {
	w.t.Helper()
	made, err := r.Create(w.t.Context(), obj, meta.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	if status == nil {
		return
	}
	status(made)
	if _, err := r.UpdateStatus(w.t.Context(), made, meta.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func deleteOf[T meta.Object](w *fakeWorld, r client.Resource[T], name string) {
	w.t.Helper()
	if err := r.Delete(w.t.Context(), name, meta.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// namesOf lists the objects that there are; those being deleted have a "-" behind them.
func namesOf[T meta.Object](w *fakeWorld, r client.Resource[T]) string {
	w.t.Helper()
	list, err := r.List(w.t.Context(), meta.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, obj := range list.Items {
		name := obj.GetObjectMeta().Name
		if obj.GetObjectMeta().DeletionTimestamp != nil {
			name += "-"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func (w *fakeWorld) pods() client.Resource[*corev1.Pod] { return objects[*corev1.Pod](w, "pods") }

// pod makes a pod on a node, which may be "", in a phase, which may be "" as well.
func (w *fakeWorld) pod(name, node string, phase corev1.PodPhase, finalizers ...string) {
	w.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: meta.ObjectMeta{Name: name, Finalizers: finalizers},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	var status func(*corev1.Pod)
	if phase != "" {
		status = func(p *corev1.Pod) { p.Status.Phase = phase }
	}
	makeOf(w, w.pods(), pod, status)
}

// node makes a node.
func (w *fakeWorld) node(name string) {
	w.t.Helper()
	makeOf(w, objects[*corev1.Node](w, "nodes"), &corev1.Node{ObjectMeta: meta.ObjectMeta{Name: name}}, nil)
}

// inPodGC runs f beside the controller, in a namespace.
func inPodGC(t *testing.T, ended int, f func(w *fakeWorld)) {
	inFakeTime(t, func(t *testing.T, w *fakeWorld) {
		w.createNamespace("n")
		w.node("here")
		w.controlled(func(ctx context.Context, in *controller.Informers) {
			(&controller.PodGC{Informers: in, Ended: ended, Log: zap.NewNop()}).Run(ctx)
		})
		f(w)
	})
}

// TestPodsOfGoneNodes go when the node has been gone for a while, with a condition that says why.
func TestPodsOfGoneNodes(t *testing.T) {
	inPodGC(t, 0, func(w *fakeWorld) {
		w.pod("stays", "here", corev1.PodRunning)
		w.pod("unbound", "", "")
		w.pod("orphan", "there", corev1.PodRunning)
		w.pod("held", "there", corev1.PodRunning, "example.com/hold")
		w.pod("ended", "there", corev1.PodSucceeded, "example.com/hold")
		w.pod("early", "late", "")
		w.sleep(39 * time.Second)
		w.node("late")
		if got := namesOf(w, w.pods()); got != "early ended held orphan stays unbound" {
			w.t.Errorf("after 39 s: got %q", got)
		}
		w.sleep(2 * time.Second)
		if got := namesOf(w, w.pods()); got != "early ended- held- stays unbound" {
			w.t.Errorf("after 41 s: got %q", got)
		}
		held, err := w.pods().Get(w.t.Context(), "held", meta.GetOptions{})
		if err != nil || held.Status.Phase != corev1.PodFailed || len(held.Status.Conditions) != 1 || *held.DeletionGracePeriodSeconds != 0 {
			w.t.Fatalf("got %+v, %v", held, err)
		}
		c := held.Status.Conditions[0]
		if got := fmt.Sprintf("%s %s %s: %s %d", c.Type, c.Status, c.Reason, c.Message, c.ObservedGeneration); got !=
			"DisruptionTarget True DeletionByPodGC: PodGC: node no longer exists 1" || c.LastTransitionTime.IsZero() {
			w.t.Errorf("got %s", got)
		}
		if ended, err := w.pods().Get(w.t.Context(), "ended", meta.GetOptions{}); err != nil || ended.Status.Phase != corev1.PodSucceeded {
			w.t.Errorf("got %+v, %v, want one that has succeeded", ended, err)
		}
		deleteOf(w, objects[*corev1.Node](w, "nodes"), "here") // and one that goes while it is watched
		w.sleep(41 * time.Second)
		if got := namesOf(w, w.pods()); got != "early ended- held- unbound" {
			w.t.Errorf("without the node: got %q", got)
		}
	})
}

// TestPodsThatNobodyEnds are deleted pods on no node, and on one that is out of service.
func TestPodsThatNobodyEnds(t *testing.T) {
	inPodGC(t, 0, func(w *fakeWorld) {
		w.pod("unbound", "", "", "example.com/hold")
		w.pod("running", "here", corev1.PodRunning)
		w.pod("stays", "here", corev1.PodRunning)
		deleteOf(w, w.pods(), "unbound")
		deleteOf(w, w.pods(), "running")
		w.sleep(time.Minute)
		if got := namesOf(w, w.pods()); got != "running- stays unbound-" {
			w.t.Errorf("got %q", got)
		}
		if p, err := w.pods().Get(w.t.Context(), "unbound", meta.GetOptions{}); err != nil || p.Status.Phase != corev1.PodFailed {
			w.t.Errorf("got %+v, %v, want it failed", p, err)
		}
		nodes := objects[*corev1.Node](w, "nodes")
		taint := []byte(`{"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service","effect":"NoExecute"}]}}`)
		ready := func(status string) {
			patch := []byte(`{"status":{"conditions":[{"type":"Ready","status":"` + status + `"}]}}`)
			if _, err := nodes.Sub("status").Patch(w.t.Context(), "here", client.MergePatch, patch, meta.PatchOptions{}); err != nil {
				w.t.Fatal(err)
			}
			w.sleep(time.Second)
		}
		ready("True")
		if _, err := nodes.Patch(w.t.Context(), "here", client.MergePatch, taint, meta.PatchOptions{}); err != nil {
			w.t.Fatal(err)
		}
		w.sleep(time.Second)
		if got := namesOf(w, w.pods()); got != "running- stays unbound-" {
			w.t.Errorf("on a node that is ready: got %q", got)
		}
		ready("Unknown")
		if got := namesOf(w, w.pods()); got != "stays unbound-" {
			w.t.Errorf("on one that is not: got %q", got)
		}
	})
}

// TestTooManyEndedPods: the evicted go first, then the oldest.
func TestTooManyEndedPods(t *testing.T) {
	inPodGC(t, 2, func(w *fakeWorld) {
		w.pod("a", "here", corev1.PodSucceeded)
		w.sleep(2 * time.Second)
		w.pod("b", "here", corev1.PodFailed)
		w.sleep(2 * time.Second)
		w.pod("runs", "here", corev1.PodRunning)
		if got := namesOf(w, w.pods()); got != "a b runs" {
			w.t.Errorf("got %q", got)
		}
		evicted := &corev1.Pod{ObjectMeta: meta.ObjectMeta{Name: "e"}, Spec: corev1.PodSpec{NodeName: "here", Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		makeOf(w, w.pods(), evicted, func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted" })
		w.sleep(time.Second)
		if got := namesOf(w, w.pods()); got != "a b runs" {
			w.t.Errorf("with an evicted one: got %q", got)
		}
		w.pod("d", "here", corev1.PodSucceeded)
		w.sleep(20 * time.Second) // until the next look
		if got := namesOf(w, w.pods()); got != "b d runs" {
			w.t.Errorf("with another: got %q", got)
		}
	})
}
