package pods

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/policyv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// Disruption counts the pods of disruption budgets and says in their status how many may be
// evicted. Evictions charge a budget between two counts: a pod that has been charged for counts as
// gone, whether it is yet or not, until it is seen to go, or has had its time. It also takes back
// what the status of a pod says of a disruption that has not come.
type Disruption struct {
	Client    *client.Client
	Informers *controller.Informers
	// Resource returns the resource of a kind in a version, and whether its objects have a scale;
	// false at the end if there is none.
	Resource func(gvk meta.GroupVersionKind) (resource meta.GroupVersionResource, scales, ok bool)
	Log      *zap.Logger

	pods    *controller.Informer[View]
	budgets *controller.Informer[budgetView]
	events  *controller.Recorder
}

// A disruption that has been announced is expected within this time. Else the pod is there to stay.
const disruptionTime = 2 * time.Minute

// budgetView is what has to be known of a budget to tell whom a pod concerns.
type budgetView struct {
	Selector meta.LabelRequirements
	// What the status is made of, and the status.
	Generation int64
	Status     policyv1.PodDisruptionBudgetStatus
}

// Run counts until ctx ends.
func (d *Disruption) Run(ctx context.Context) {
	d.pods = Of(d.Informers)
	d.budgets = controller.InformerOf(d.Informers, budgetResource, func(b *policyv1.PodDisruptionBudget) *budgetView {
		controller.Detach(b.Spec.Selector) // before it is compiled: then nobody reaches its text any more
		return &budgetView{budgetSelector(b), b.Generation, b.Status}
	})
	d.events = controller.NewRecorder(d.Client, "controllermanager", d.Log)
	after := []controller.Syncer{d.pods, d.budgets}
	var loops sync.WaitGroup
	loops.Go(func() {
		controller.Loop{Source: controller.Join(d.budgets.Own(), d.pods.Source(d.budgetsCounting)), Reconcile: d.count, After: after, Log: d.Log}.Run(ctx)
	})
	loops.Go(func() {
		controller.Loop{Source: d.pods.Source(announced), Reconcile: d.clearStale, After: after, Log: d.Log}.Run(ctx)
	})
	loops.Go(func() {
		controller.Loop{Source: d.pods.Source(labelled), Reconcile: d.warn, After: after, Log: d.Log}.Run(ctx)
	})
	loops.Wait()
}

var budgetResource = policyv1.GroupVersion.WithResource("poddisruptionbudgets")

// budgetSelector is which pods a budget counts: none if that cannot be told.
func budgetSelector(b *policyv1.PodDisruptionBudget) meta.LabelRequirements {
	s, err := meta.SelectorFrom(b.Spec.Selector)
	if err != nil {
		s, _ = meta.SelectorFrom(nil)
	}
	return s
}

// budgetsCounting are the budgets that count a pod, or did.
func (d *Disruption) budgetsCounting(name controller.Name, before, now *View) []controller.Name {
	var list []controller.Name
	d.budgets.Each(name.Namespace, func(budget controller.Name, b *budgetView) {
		if before != nil && b.Selector.Matches(meta.Set(before.Labels)) || now != nil && b.Selector.Matches(meta.Set(now.Labels)) {
			list = append(list, budget)
		}
	})
	return list
}

// labelled names a pod that is new or has other labels: other budgets may count it.
func labelled(name controller.Name, before, now *View) []controller.Name {
	if now == nil || before != nil && maps.Equal(before.Labels, now.Labels) {
		return nil
	}
	return []controller.Name{name}
}

// warn says of a pod that several budgets count it: it cannot be evicted. The text is Kubernetes',
// though all its budgets are kept up to date here.
func (d *Disruption) warn(ctx context.Context, name controller.Name) (again time.Duration, err error) {
	pod := d.pods.Get(name)
	if pod == nil {
		return 0, nil
	}
	budgets := d.budgetsCounting(name, nil, pod)
	if len(budgets) < 2 {
		return 0, nil
	}
	first := slices.MinFunc(budgets, func(a, b controller.Name) int { return strings.Compare(a.Name, b.Name) })
	about := corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: name.Namespace, Name: name.Name, UID: pod.UID}
	d.events.Event(ctx, about, corev1.EventTypeWarning, "MultiplePodDisruptionBudgets", fmt.Sprintf(
		"Pod %q/%q matches multiple PodDisruptionBudgets.  Chose %q arbitrarily.", name.Namespace, name.Name, first.Name))
	return 0, nil
}

// count brings the status of a budget up to date.
func (d *Disruption) count(ctx context.Context, name controller.Name) (again time.Duration, err error) {
	budgets := client.For[*policyv1.PodDisruptionBudget](d.Client, budgetResource).In(name.Namespace)
	b, err := budgets.Get(ctx, name.Name, meta.GetOptions{})
	if err != nil {
		return 0, controller.IgnoreNotFound(err)
	}
	tally := d.tally(b, time.Now())
	next := scheme.Copy(b).(*policyv1.PodDisruptionBudget)
	if err := d.expect(ctx, b, tally); err != nil {
		failed(&next.Status, err, tally.now)
		tally.events = append(tally.events, budgetEvent{
			"CalculateExpectedPodCountFailed", corev1.EventTypeWarning, "Failed to calculate the number of expected pods: " + err.Error(),
		})
	} else {
		tally.fill(next)
		again = tally.again
	}
	if !scheme.Equal(&b.Status, &next.Status) {
		if _, err := budgets.UpdateStatus(ctx, next, meta.UpdateOptions{}); err != nil {
			return 0, err
		}
		about := corev1.ObjectReference{
			APIVersion: policyv1.GroupVersion.String(), Kind: "PodDisruptionBudget", Namespace: b.Namespace, Name: b.Name, UID: b.UID,
			ResourceVersion: b.ResourceVersion,
		}
		for _, n := range tally.events { // told once, as the status is
			d.events.Event(ctx, about, n.typ, n.reason, n.message)
		}
	}
	for _, pod := range tally.stayed {
		d.events.Event(ctx, pod, corev1.EventTypeWarning, "NotDeleted", fmt.Sprintf("Pod was expected by PDB %s/%s to be deleted but it wasn't",
			b.Namespace, b.Name))
	}
	return again, nil
}

// tally is what one count of a budget's pods finds.
type tally struct {
	now                        time.Time
	pods                       []countedPod
	healthy, desired, expected int32
	disrupted                  map[string]meta.Time     // pods that are charged for and not seen to go
	stayed                     []corev1.ObjectReference // pods that were charged for and have not gone in their time
	again                      time.Duration            // when the first of the disrupted has had its time; 0: there is none
	events                     []budgetEvent
}

type countedPod struct {
	controller.Name
	*View
}

// budgetEvent is what an Event tells about a budget.
type budgetEvent struct{ reason, typ, message string }

// tally counts what can be told from the pods.
func (d *Disruption) tally(b *policyv1.PodDisruptionBudget, now time.Time) *tally {
	t := &tally{now: now, disrupted: map[string]meta.Time{}}
	selector := budgetSelector(b)
	d.pods.Each(b.Namespace, func(name controller.Name, pod *View) {
		if selector.Matches(meta.Set(pod.Labels)) {
			t.pods = append(t.pods, countedPod{name, pod})
		}
	})
	slices.SortFunc(t.pods, func(a, b countedPod) int { return strings.Compare(a.Name.Name, b.Name.Name) }) // each count says the same
	for _, pod := range t.pods {
		if pod.Deleting {
			continue
		}
		if at, ok := b.Status.DisruptedPods[pod.Name.Name]; ok && t.awaitsEviction(pod, at) {
			continue
		}
		if pod.Ready {
			t.healthy++
		}
	}
	if len(t.pods) == 0 {
		t.events = append(t.events, budgetEvent{"NoPods", corev1.EventTypeNormal, "No matching pods found"})
	}
	return t
}

// awaitsEviction reports whether a pod that has been charged for is still expected to go.
func (t *tally) awaitsEviction(pod countedPod, charged meta.Time) bool {
	left := charged.Add(disruptionTime).Sub(t.now)
	if left <= 0 {
		t.stayed = append(t.stayed, corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name.Name, UID: pod.UID,
		})
		return false
	}
	t.disrupted[pod.Name.Name] = charged
	if t.again == 0 || left < t.again {
		t.again = left
	}
	return true
}

// expect finds how many pods there should be, and how many of them healthy.
func (d *Disruption) expect(ctx context.Context, b *policyv1.PodDisruptionBudget, t *tally) error {
	least, most := b.Spec.MinAvailable, b.Spec.MaxUnavailable
	if most == nil && (least == nil || least.Type == meta.IntType) {
		if least != nil {
			t.expected, t.desired = int32(len(t.pods)), least.IntVal
		}
		return nil
	}
	scale, unmanaged, err := d.scale(ctx, t.pods)
	if err != nil {
		return err
	}
	t.expected = scale
	if most != nil {
		n, err := most.ScaledValue(int(scale), true)
		if err != nil {
			return err
		}
		t.desired = max(scale-int32(n), 0)
	} else {
		n, err := least.ScaledValue(int(scale), true)
		if err != nil {
			return err
		}
		t.desired = int32(n)
	}
	if unmanaged {
		t.events = append(t.events, budgetEvent{"UnmanagedPods", corev1.EventTypeWarning, fmt.Sprintf(
			"Pods selected by this PodDisruptionBudget (selector: %v) were found to be unmanaged. As a result, the status of the PDB cannot be "+
				"calculated correctly, which may result in undefined behavior. To account for these pods please set \".spec.minAvailable\" "+
				"field of the PDB to an integer value.", budgetSelector(b))})
	}
	return nil
}

// fill puts the count into the status of a budget. One that counts no pods allows nothing: the
// first ones may be there unseen.
func (t *tally) fill(b *policyv1.PodDisruptionBudget) {
	s := &b.Status
	conditions := s.Conditions
	*s = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: b.Generation, DisruptedPods: t.disrupted, Conditions: conditions,
		CurrentHealthy: t.healthy, DesiredHealthy: t.desired, ExpectedPods: t.expected,
	}
	if t.expected > 0 {
		s.DisruptionsAllowed = max(t.healthy-t.desired, 0)
	}
	s.SetDisruptionAllowed(t.now)
}

// failed says in the status of a budget that its pods cannot be counted, and allows nothing.
func failed(s *policyv1.PodDisruptionBudgetStatus, err error, now time.Time) {
	s.DisruptionsAllowed = 0
	meta.SetCondition(&s.Conditions, meta.Condition{
		Type: policyv1.DisruptionAllowed, Status: meta.ConditionFalse, Reason: policyv1.ReasonSyncFailed, Message: err.Error(),
		ObservedGeneration: s.ObservedGeneration,
	}, now)
}

// announced are the pods whose status tells of a disruption to come.
func announced(name controller.Name, _, now *View) []controller.Name {
	if now == nil || now.Disrupted.IsZero() {
		return nil
	}
	return []controller.Name{name}
}

// clearStale takes back from the status of a pod that it is about to be disrupted, when that has not come
// in its time.
func (d *Disruption) clearStale(ctx context.Context, name controller.Name) (again time.Duration, err error) {
	if seen := d.pods.Get(name); seen == nil || seen.Disrupted.IsZero() {
		return 0, nil
	} else if left := time.Until(seen.Disrupted.Add(disruptionTime)); left > 0 {
		return left, nil
	}
	pods := client.For[*corev1.Pod](d.Client, corev1.GroupVersion.WithResource("pods")).In(name.Namespace)
	pod, err := pods.Get(ctx, name.Name, meta.GetOptions{})
	if err != nil {
		return 0, controller.IgnoreNotFound(err)
	}
	if at := disruptedSince(pod); at.IsZero() || time.Since(at) < disruptionTime {
		return 0, nil // that will be seen
	}
	pod.Status.SetCondition(corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse, ObservedGeneration: pod.Generation,
	}, time.Now())
	_, err = pods.UpdateStatus(ctx, pod, meta.UpdateOptions{})
	return 0, err
}

// disruptedSince is since when the status of a pod has told of a disruption that may never come;
// zero: it does not. What kubelets announce comes, however long that takes.
func disruptedSince(p *corev1.Pod) time.Time {
	c := p.Status.Condition(corev1.DisruptionTarget)
	if c == nil || c.Status != corev1.ConditionTrue || c.Reason == "TerminationByKubelet" || p.DeletionTimestamp != nil ||
		p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return time.Time{}
	}
	return c.LastTransitionTime.Time
}
