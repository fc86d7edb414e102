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

// This file has three loops: one keeps the status of budgets, one clears stale disruption
// conditions of pods, and one warns about pods with several budgets. Package server runs them as
// the controller disruption-controller. The other writer of a budget's status is the eviction of a
// pod, which charges the budget. Each write of the two names the resourceVersion that was read, so
// neither overwrites the other.

// Disruption is the controller that counts the pods of budgets and writes into the status of each
// how many of them may be evicted.
//
// An evicted pod is in disruptedPods of the status from the moment when its eviction is granted.
// From then on it counts as not healthy, although it may still run. The entry is removed when the
// pod is being deleted. It is also removed after disruptionTime, because the eviction counts as
// failed then.
//
// Disruption also sets the condition DisruptionTarget of a pod to False if the announced disruption
// has not come within disruptionTime (KEP-3329), and warns about pods that several budgets select.
type Disruption struct {
	// Client reads and writes budgets and pods, and reads scales.
	Client *client.Client
	// Informers are the informers of the run.
	Informers *controller.Informers
	// Resource returns the resource of a kind in a version, and whether it has the subresource
	// scale. ok is false if no such kind is served.
	Resource func(gvk meta.GroupVersionKind) (resource meta.GroupVersionResource, scales, ok bool)
	// Log gets a line for each failure.
	Log *zap.Logger

	pods    *controller.Informer[View]
	budgets *controller.Informer[budgetView]
	events  *controller.Recorder
}

// disruptionTime is how long a pod may take to be deleted after its eviction was granted or its
// disruption announced. It is DeletionTimeout and stalePodDisruptionTimeout of Kubernetes.
const disruptionTime = 2 * time.Minute

// budgetView is the part of a budget that the Informer keeps.
type budgetView struct {
	Selector meta.LabelRequirements
	// Generation and Status are here only so that the Informer adds the budget when its spec or
	// status changes, and the budget is counted again.
	Generation int64
	Status     policyv1.PodDisruptionBudgetStatus
}

// Run keeps budgets and pods up to date until ctx ends, and returns when all its work has ended.
func (d *Disruption) Run(ctx context.Context) {
	d.pods = PodInformer(d.Informers)
	d.budgets = controller.InformerOf(d.Informers, budgetResource, func(b *policyv1.PodDisruptionBudget) *budgetView {
		// Detach cannot reach into the compiled selector, so the strings are copied before it is
		// compiled.
		controller.Detach(b.Spec.Selector)
		return &budgetView{budgetSelector(b), b.Generation, b.Status}
	})
	d.events = controller.NewRecorder(d.Client, "controllermanager", d.Log)
	after := []controller.Syncer{d.pods, d.budgets}
	var loops sync.WaitGroup
	loops.Go(func() {
		controller.Loop{
			Name:      "disruption",
			Source:    controller.Join(d.budgets.Own(), d.pods.Source(d.budgetsCounting)),
			Reconcile: d.count, After: after, Log: d.Log,
		}.Run(ctx)
	})
	loops.Go(func() {
		controller.Loop{
			Name:   "stale_pod_disruption",
			Source: d.pods.Source(announced), Reconcile: d.clearStale, After: after, Log: d.Log,
		}.Run(ctx)
	})
	loops.Go(func() {
		controller.Loop{
			Name:   "disruption_warnings",
			Source: d.pods.Source(labelled), Reconcile: d.warn, After: after, Log: d.Log,
		}.Run(ctx)
	})
	loops.Wait()
}

var budgetResource = policyv1.GroupVersion.WithResource("poddisruptionbudgets")

// budgetSelector returns the selector of a budget's pods. An invalid one selects nothing.
func budgetSelector(b *policyv1.PodDisruptionBudget) meta.LabelRequirements {
	s, err := meta.SelectorFrom(b.Spec.Selector)
	if err != nil {
		s, _ = meta.SelectorFrom(nil)
	}
	return s
}

// budgetsCounting returns the budgets whose selector matches a pod before or after a change.
func (d *Disruption) budgetsCounting(name controller.Name, before, now *View) []controller.Name {
	var list []controller.Name
	d.budgets.Each(name.Namespace, func(budget controller.Name, b *budgetView) {
		if before != nil && b.Selector.Matches(meta.Set(before.Labels)) ||
			now != nil && b.Selector.Matches(meta.Set(now.Labels)) {
			list = append(list, budget)
		}
	})
	return list
}

// labelled returns a pod that is new or whose labels have changed: other budgets may select it.
func labelled(name controller.Name, before, now *View) []controller.Name {
	if now == nil || before != nil && maps.Equal(before.Labels, now.Labels) {
		return nil
	}
	return []controller.Name{name}
}

// warn writes an Event about a pod that several budgets select, which cannot be evicted. The text
// is Kubernetes', whose controller then updates only one of the budgets ("Chose"); here each of
// them counts the pod.
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
	about := corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: name.Namespace, Name: name.Name, UID: pod.UID,
	}
	d.events.Event(ctx, about, corev1.EventTypeWarning, "MultiplePodDisruptionBudgets", fmt.Sprintf(
		"Pod %q/%q matches multiple PodDisruptionBudgets.  Chose %q arbitrarily.",
		name.Namespace, name.Name, first.Name))
	return 0, nil
}

// count computes the status of a budget and writes it if it differs. Events about the count follow
// a write only, so a count that changes nothing does not repeat them. If the computation fails,
// count writes that into the status (see failed), and returns no error: the next change of a pod or
// of the budget brings the next try.
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
			"CalculateExpectedPodCountFailed", corev1.EventTypeWarning,
			"Failed to calculate the number of expected pods: " + err.Error(),
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
			APIVersion: policyv1.GroupVersion.String(), Kind: "PodDisruptionBudget",
			Namespace: b.Namespace, Name: b.Name, UID: b.UID, ResourceVersion: b.ResourceVersion,
		}
		for _, n := range tally.events {
			d.events.Event(ctx, about, n.typ, n.reason, n.message)
		}
	}
	for _, pod := range tally.stayed {
		d.events.Event(ctx, pod, corev1.EventTypeWarning, "NotDeleted", fmt.Sprintf(
			"Pod was expected by PDB %s/%s to be deleted but it wasn't", b.Namespace, b.Name))
	}
	return again, nil
}

// tally is the result of one count of a budget.
type tally struct {
	now  time.Time
	pods []countedPod // all pods that the budget selects, by name
	// These become currentHealthy, desiredHealthy and expectedPods of the status.
	healthy, desired, expected int32
	disrupted                  map[string]meta.Time     // by pod still to be deleted: when its eviction was granted
	stayed                     []corev1.ObjectReference // the pods that were not deleted within disruptionTime
	again                      time.Duration            // until an entry of disrupted runs out; 0 if it is empty
	events                     []budgetEvent
}

// countedPod is a pod that a budget selects.
type countedPod struct {
	controller.Name
	*View
}

// budgetEvent is an Event about a budget, with Kubernetes' reason and text.
type budgetEvent struct{ reason, typ, message string }

// tally finds the pods of a budget and counts the healthy ones: those that are ready, are not being
// deleted, and have no granted eviction that is still to delete them.
func (d *Disruption) tally(b *policyv1.PodDisruptionBudget, now time.Time) *tally {
	t := &tally{now: now, disrupted: map[string]meta.Time{}}
	selector := budgetSelector(b)
	d.pods.Each(b.Namespace, func(name controller.Name, pod *View) {
		if selector.Matches(meta.Set(pod.Labels)) {
			t.pods = append(t.pods, countedPod{name, pod})
		}
	})
	// The order makes error texts, which name a pod, the same in each count.
	slices.SortFunc(t.pods, func(a, b countedPod) int { return strings.Compare(a.Name.Name, b.Name.Name) })
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

// awaitsEviction reports whether a pod is still expected to be deleted. charged is when its
// eviction was granted. awaitsEviction enters the pod in disrupted if so, and in stayed if not.
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

// expect sets expected and desired, the numbers of pods and of healthy pods that there should be.
// If the budget has a minAvailable that is an integer, expected is the number of pods that exist.
// Otherwise, with a percentage or maxUnavailable, it is the sum of the scales of the pods'
// controllers. Percentages are rounded up, for both fields. A budget with neither field expects no
// pod. An error means that the pods cannot be counted.
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

// fill puts the count into the status of a budget. A budget that expects no pods allows no
// disruption, because its first pods may exist before they are counted.
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

// failed writes into the status of a budget that its pods could not be counted, with the reason
// SyncFailed, and allows no disruption. The other numbers of the status stay.
func failed(s *policyv1.PodDisruptionBudgetStatus, err error, now time.Time) {
	s.DisruptionsAllowed = 0
	meta.SetCondition(&s.Conditions, meta.Condition{
		Type: policyv1.DisruptionAllowed, Status: meta.ConditionFalse,
		Reason: policyv1.ReasonSyncFailed, Message: err.Error(), ObservedGeneration: s.ObservedGeneration,
	}, now)
}

// announced returns the pod if its status announces a disruption that has not come yet.
func announced(name controller.Name, _, now *View) []controller.Name {
	if now == nil || now.Disrupted.IsZero() {
		return nil
	}
	return []controller.Name{name}
}

// clearStale sets the condition DisruptionTarget of a pod to False if the announced disruption has
// not come within disruptionTime. Before that, it returns the time that is left.
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
		return 0, nil // the Informer lags behind; when it has this state, it adds the pod again
	}
	pod.Status.SetCondition(corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse, ObservedGeneration: pod.Generation,
	}, time.Now())
	_, err = pods.UpdateStatus(ctx, pod, meta.UpdateOptions{})
	return 0, err
}

// disruptedSince returns when the condition DisruptionTarget of a pod became True. It returns zero
// if the condition is not True, or if the pod is being deleted or has ended. It also returns zero
// if a kubelet set the condition, because a kubelet then ends the pod itself, however long that
// takes.
func disruptedSince(p *corev1.Pod) time.Time {
	c := p.Status.Condition(corev1.DisruptionTarget)
	if c == nil || c.Status != corev1.ConditionTrue || c.Reason == "TerminationByKubelet" ||
		p.DeletionTimestamp != nil ||
		p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return time.Time{}
	}
	return c.LastTransitionTime.Time
}
