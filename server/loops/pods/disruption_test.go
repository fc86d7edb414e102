package pods_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/policyv1"
	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/servertest/looptest"
)

// await reads the object with a name, or all objects for the name "", until ok returns true for
// one.
func await[T meta.Object](w *world, r client.Resource[T], name, what string, ok func(obj T) bool) {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), 30*time.Second)
	defer cancel()
	var last T
	var opts meta.ListOptions
	if name != "" {
		opts.FieldSelector = "metadata.name=" + name
	}
	failed := func(err error) { w.T.Error(err) }
	for b := range follow.Changes(ctx, r.Source(opts), follow.Options{Failed: failed}) {
		for _, ch := range b.Changes {
			if last = ch.New; !ch.Gone && ok(last) {
				return
			}
		}
	}
	w.T.Fatalf("waiting for %s: the last state was %+v", what, last)
}

func (w *world) budgets() client.Resource[*policyv1.PodDisruptionBudget] {
	return client.For[*policyv1.PodDisruptionBudget](w.S.Client(), policyv1.GroupVersion.WithResource("poddisruptionbudgets")).In("n")
}

// disruptions starts a server that runs only the disruption controller, with the budget "b" of the
// pods labelled app=a, and makes pods with that label and these names.
func disruptions(t *testing.T, spec policyv1.PodDisruptionBudgetSpec, owner *meta.OwnerReference, pods ...string) *world {
	t.Helper()
	w := start(t, server.Config{Controllers: []string{"disruption"}})
	w.CreateNamespace()
	for _, name := range pods {
		pod := &corev1.Pod{
			ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{"app": "a"}},
			Spec:       corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}
		if owner != nil {
			pod.OwnerReferences = []meta.OwnerReference{*owner}
		}
		looptest.Create(w, "pods", pod)
	}
	spec.Selector = &meta.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	b := &policyv1.PodDisruptionBudget{ObjectMeta: meta.ObjectMeta{Name: "b"}, Spec: spec}
	if _, err := w.budgets().Create(t.Context(), b, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return w
}

// status changes the status of a pod.
func (w *world) status(pod, patch string) {
	w.T.Helper()
	r := looptest.Of[*corev1.Pod](w, "pods").Sub("status")
	if _, err := r.Patch(w.T.Context(), pod, client.MergePatch, []byte(`{"status":`+patch+`}`), meta.PatchOptions{}); err != nil {
		w.T.Fatal(err)
	}
}

const ready = `{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}`

// counts waits until the status of the budget has these counts and has observed the current
// generation.
func (w *world) counts(expected, healthy, desired, allowed int32, reason string) {
	w.T.Helper()
	await(w, w.budgets(), "b", reason, func(b *policyv1.PodDisruptionBudget) bool {
		s := &b.Status
		c := scheme.OrZero(meta.FindCondition(s.Conditions, policyv1.DisruptionAllowed))
		return s.ObservedGeneration == b.Generation && s.ExpectedPods == expected && s.CurrentHealthy == healthy &&
			s.DesiredHealthy == desired && s.DisruptionsAllowed == allowed && c.Reason == reason && c.ObservedGeneration == b.Generation
	})
}

// TestDisruptionsFollowPods checks the counts while pods become ready or not ready and are deleted,
// and when the budget changes.
func TestDisruptionsFollowPods(t *testing.T) {
	one := meta.FromInt32(1)
	w := disruptions(t, policyv1.PodDisruptionBudgetSpec{MinAvailable: &one}, nil, "p0", "p1", "p2")
	w.counts(3, 0, 1, 0, "InsufficientPods")
	for _, name := range []string{"p0", "p1", "p2"} {
		w.status(name, ready)
	}
	w.counts(3, 3, 1, 2, "SufficientPods")
	if err := looptest.Of[*corev1.Pod](w, "pods").Delete(t.Context(), "p2", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.counts(3, 2, 1, 1, "SufficientPods") // the pod still exists, but is being deleted
	if _, err := w.budgets().Patch(t.Context(), "b", client.MergePatch, []byte(`{"spec":{"minAvailable":2}}`), meta.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.counts(3, 2, 2, 0, "InsufficientPods")
	patch := []byte(`{"metadata":{"labels":{"app":"b"}}}`)
	if _, err := looptest.Of[*corev1.Pod](w, "pods").Patch(t.Context(), "p0", client.MergePatch, patch, meta.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.counts(2, 1, 2, 0, "InsufficientPods")
}

// TestDisruptionsScale checks that maxUnavailable and percentages refer to the scale of the pods'
// controllers, and that a controller without a scale is reported.
func TestDisruptionsScale(t *testing.T) {
	half := meta.FromString("50%")
	yes := true
	owner := &meta.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "x", UID: "x", Controller: &yes}
	w := disruptions(t, policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &half}, owner, "p0")
	await(w, w.budgets(), "b", "the failure", func(b *policyv1.PodDisruptionBudget) bool {
		c := scheme.OrZero(meta.FindCondition(b.Status.Conditions, policyv1.DisruptionAllowed))
		return c.Reason == "SyncFailed" && c.Message == "nodes does not implement the scale subresource"
	})
	sets := client.For[*appsv1.StatefulSet](w.S.Client(), appsv1.GroupVersion.WithResource("statefulsets")).In("n")
	replicas, labels := int32(5), map[string]string{"app": "a"}
	set, err := sets.Create(t.Context(), &appsv1.StatefulSet{ObjectMeta: meta.ObjectMeta{Name: "s"}, Spec: appsv1.StatefulSetSpec{
		Replicas: &replicas, Selector: &meta.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: meta.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		},
	}}, meta.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	patch := `{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"s","controller":true,"uid":"` + string(set.UID) + `"}]}}`
	if _, err := looptest.Of[*corev1.Pod](w, "pods").Patch(t.Context(), "p0", client.MergePatch, []byte(patch), meta.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.counts(5, 0, 2, 0, "InsufficientPods")
}

// TestDisruptionsExpire checks that an evicted pod which is not deleted within two minutes counts
// as healthy again, with an Event, and that a pod with time left does not.
func TestDisruptionsExpire(t *testing.T) {
	one := meta.FromInt32(1)
	w := disruptions(t, policyv1.PodDisruptionBudgetSpec{MinAvailable: &one}, nil, "late", "soon")
	w.status("late", ready)
	w.status("soon", ready)
	w.counts(2, 2, 1, 1, "SufficientPods")
	at := func(ago time.Duration) string { return time.Now().Add(-ago).UTC().Format(time.RFC3339) }
	patch := `{"status":{"disruptionsAllowed":0,"disruptedPods":{"late":"` + at(3*time.Minute) + `","soon":"` + at(0) + `","gone":"` + at(0) + `"}}}`
	if _, err := w.budgets().Sub("status").Patch(t.Context(), "b", client.MergePatch, []byte(patch), meta.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	await(w, w.budgets(), "b", "the count", func(b *policyv1.PodDisruptionBudget) bool {
		_, soon := b.Status.DisruptedPods["soon"]
		return b.Status.CurrentHealthy == 1 && len(b.Status.DisruptedPods) == 1 && soon
	})
	await(w, looptest.Of[*corev1.Event](w, "events"), "", "the event", func(e *corev1.Event) bool {
		return e.Reason == "NotDeleted" && e.InvolvedObject.Name == "late" && strings.Contains(e.Message, "by PDB n/b to be deleted")
	})
}

// TestStaleDisruptionTarget checks that the condition DisruptionTarget is cleared when no
// disruption has come, unless a kubelet set it.
func TestStaleDisruptionTarget(t *testing.T) {
	one := meta.FromInt32(1)
	w := disruptions(t, policyv1.PodDisruptionBudgetSpec{MinAvailable: &one}, nil, "stale", "kubelet")
	old := `{"phase":"Running","conditions":[{"type":"DisruptionTarget","status":"True","lastTransitionTime":"2024-02-29T12:00:00Z","reason":"`
	w.status("kubelet", old+`TerminationByKubelet"}]}`)
	w.status("stale", old+`EvictionByEvictionAPI"}]}`)
	pods := looptest.Of[*corev1.Pod](w, "pods")
	await(w, pods, "stale", "the end of the announcement", func(p *corev1.Pod) bool {
		c := p.Status.Condition(corev1.DisruptionTarget)
		return c != nil && c.Status == corev1.ConditionFalse && c.Reason == "" && c.ObservedGeneration == p.Generation
	})
	kept, err := pods.Get(t.Context(), "kubelet", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c := kept.Status.Condition(corev1.DisruptionTarget); c.Status != corev1.ConditionTrue {
		t.Errorf("the condition that a kubelet set is %+v, want it unchanged", c)
	}
}

// TestDisruptionSeveralBudgets checks that a pod which several budgets select gets an Event, and
// that other pods get none.
func TestDisruptionSeveralBudgets(t *testing.T) {
	w := disruptions(t, policyv1.PodDisruptionBudgetSpec{}, nil)
	other := &policyv1.PodDisruptionBudget{ObjectMeta: meta.ObjectMeta{Name: "other"}}
	other.Spec.Selector = &meta.LabelSelector{MatchLabels: map[string]string{"tier": "web"}}
	if _, err := w.budgets().Create(t.Context(), other, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b", "other"} { // the controller has seen both budgets
		await(w, w.budgets(), name, "a first count", func(b *policyv1.PodDisruptionBudget) bool { return b.Status.ObservedGeneration == b.Generation })
	}
	for name, labels := range map[string]map[string]string{"one": {"app": "a"}, "both": {"app": "a", "tier": "web"}, "later": {"app": "a"}} {
		looptest.Create(w, "pods", &corev1.Pod{
			ObjectMeta: meta.ObjectMeta{Name: name, Labels: labels}, Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		})
	}
	looptest.Patch(w, "pods", "", "later", `{"metadata":{"labels":{"tier":"web"}}}`)
	warned := func(pod string) string {
		return `Pod "n"/"` + pod + `" matches multiple PodDisruptionBudgets.  Chose "b" arbitrarily.`
	}
	looptest.AwaitList(w, looptest.Of[*corev1.Event](w, "events"), func(list []*corev1.Event) string {
		var got []string
		for _, ev := range list {
			if ev.Reason == "MultiplePodDisruptionBudgets" && ev.Type == corev1.EventTypeWarning && ev.InvolvedObject.Kind == "Pod" {
				got = append(got, ev.Message)
			}
		}
		if slices.Sort(got); slices.Equal(got, []string{warned("both"), warned("later")}) {
			return ""
		}
		return fmt.Sprintf("got the warnings %q", got)
	})
}
