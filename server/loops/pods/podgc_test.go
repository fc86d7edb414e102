package pods_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/loops/pods"
	"github.com/coracle-project/coracle/server/servertest/looptest"
)

// inPodGC runs f beside the controller, in a namespace.
func inPodGC(t *testing.T, ended int, f func(w *looptest.Fake)) {
	looptest.InFakeTime(t, func(t *testing.T, w *looptest.Fake) {
		w.CreateNamespace("n")
		addNode(w, "here")
		w.Run(func(ctx context.Context, in *controller.Informers) {
			(&pods.PodGC{Informers: in, Ended: ended, Log: zap.NewNop()}).Run(ctx)
		})
		f(w)
	})
}

// TestPodsOfGoneNodes checks that pods of a missing node are deleted after the quarantine, with a
// condition that says why.
func TestPodsOfGoneNodes(t *testing.T) {
	inPodGC(t, 0, func(w *looptest.Fake) {
		w.Pod("stays", "here", corev1.PodRunning)
		w.Pod("unbound", "", "")
		w.Pod("orphan", "there", corev1.PodRunning)
		w.Pod("held", "there", corev1.PodRunning, "example.com/hold")
		w.Pod("ended", "there", corev1.PodSucceeded, "example.com/hold")
		w.Pod("early", "late", "")
		w.Sleep(39 * time.Second)
		addNode(w, "late")
		if got := looptest.Names(w, w.Pods()); got != "early ended held orphan stays unbound" {
			w.T.Errorf("after 39 s: got %q", got)
		}
		w.Sleep(2 * time.Second)
		if got := looptest.Names(w, w.Pods()); got != "early ended- held- stays unbound" {
			w.T.Errorf("after 41 s: got %q", got)
		}
		held, err := w.Pods().Get(w.T.Context(), "held", meta.GetOptions{})
		if err != nil || held.Status.Phase != corev1.PodFailed || len(held.Status.Conditions) != 1 || *held.DeletionGracePeriodSeconds != 0 {
			w.T.Fatalf("got %+v, %v", held, err)
		}
		c := held.Status.Conditions[0]
		if got := fmt.Sprintf("%s %s %s: %s %d", c.Type, c.Status, c.Reason, c.Message, c.ObservedGeneration); got !=
			"DisruptionTarget True DeletionByPodGC: PodGC: node no longer exists 1" || c.LastTransitionTime.IsZero() {
			w.T.Errorf("got %s", got)
		}
		if ended, err := w.Pods().Get(w.T.Context(), "ended", meta.GetOptions{}); err != nil || ended.Status.Phase != corev1.PodSucceeded {
			w.T.Errorf("got %+v, %v, want one that has succeeded", ended, err)
		}
		looptest.Delete(w, looptest.Of[*corev1.Node](w, "nodes"), "here") // a node that is deleted while it is watched
		w.Sleep(41 * time.Second)
		if got := looptest.Names(w, w.Pods()); got != "early ended- held- unbound" {
			w.T.Errorf("without the node: got %q", got)
		}
	})
}

// TestPodsThatNobodyEnds checks that pods being deleted go at once if they have no node or their
// node is out of service.
func TestPodsThatNobodyEnds(t *testing.T) {
	inPodGC(t, 0, func(w *looptest.Fake) {
		w.Pod("unbound", "", "", "example.com/hold")
		w.Pod("running", "here", corev1.PodRunning)
		w.Pod("stays", "here", corev1.PodRunning)
		looptest.Delete(w, w.Pods(), "unbound")
		looptest.Delete(w, w.Pods(), "running")
		w.Sleep(time.Minute)
		if got := looptest.Names(w, w.Pods()); got != "running- stays unbound-" {
			w.T.Errorf("got %q", got)
		}
		if p, err := w.Pods().Get(w.T.Context(), "unbound", meta.GetOptions{}); err != nil || p.Status.Phase != corev1.PodFailed {
			w.T.Errorf("got %+v, %v, want it failed", p, err)
		}
		nodes := looptest.Of[*corev1.Node](w, "nodes")
		taint := []byte(`{"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service","effect":"NoExecute"}]}}`)
		ready := func(status string) {
			patch := []byte(`{"status":{"conditions":[{"type":"Ready","status":"` + status + `"}]}}`)
			if _, err := nodes.Sub("status").Patch(w.T.Context(), "here", client.MergePatch, patch, meta.PatchOptions{}); err != nil {
				w.T.Fatal(err)
			}
			w.Sleep(time.Second)
		}
		ready("True")
		if _, err := nodes.Patch(w.T.Context(), "here", client.MergePatch, taint, meta.PatchOptions{}); err != nil {
			w.T.Fatal(err)
		}
		w.Sleep(time.Second)
		if got := looptest.Names(w, w.Pods()); got != "running- stays unbound-" {
			w.T.Errorf("on a node that is ready: got %q", got)
		}
		ready("Unknown")
		if got := looptest.Names(w, w.Pods()); got != "stays unbound-" {
			w.T.Errorf("on one that is not: got %q", got)
		}
	})
}

// TestTooManyEndedPods checks that evicted pods are deleted first, then the oldest ones.
func TestTooManyEndedPods(t *testing.T) {
	inPodGC(t, 2, func(w *looptest.Fake) {
		w.Pod("a", "here", corev1.PodSucceeded)
		w.Sleep(2 * time.Second)
		w.Pod("b", "here", corev1.PodFailed)
		w.Sleep(2 * time.Second)
		w.Pod("runs", "here", corev1.PodRunning)
		if got := looptest.Names(w, w.Pods()); got != "a b runs" {
			w.T.Errorf("got %q", got)
		}
		evicted := &corev1.Pod{ObjectMeta: meta.ObjectMeta{Name: "e"}, Spec: corev1.PodSpec{NodeName: "here", Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		looptest.Make(w, w.Pods(), evicted, func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted" })
		w.Sleep(time.Second)
		if got := looptest.Names(w, w.Pods()); got != "a b runs" {
			w.T.Errorf("with an evicted one: got %q", got)
		}
		w.Pod("d", "here", corev1.PodSucceeded)
		w.Sleep(20 * time.Second) // until the next pass
		if got := looptest.Names(w, w.Pods()); got != "b d runs" {
			w.T.Errorf("with another: got %q", got)
		}
	})
}

// addNode creates a node.
func addNode(w *looptest.Fake, name string) {
	w.T.Helper()
	looptest.Make(w, looptest.Of[*corev1.Node](w, "nodes"), &corev1.Node{ObjectMeta: meta.ObjectMeta{Name: name}}, nil)
}
