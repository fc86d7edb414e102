package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/policyv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// budgetResource is the resource of the budgets. Messages of Kubernetes name it in the singular,
// budgetKind.
var (
	budgetResource = meta.GroupResource{Group: policyv1.GroupVersion.Group, Resource: "poddisruptionbudgets"}
	budgetKind     = meta.GroupResource{Group: policyv1.GroupVersion.Group, Resource: "poddisruptionbudget"}
)

// maxDisrupted is the length of a budget's status.disruptedPods above which evictions wait: the
// disruption controller must first see some of these pods go. It bounds the size of the object.
const maxDisrupted = 2000

// budgetOf returns the budget that selects a pod, nil if none does. Two are an error, as in
// Kubernetes. It looks at each budget of the namespace.
func (e *eviction) budgetOf(ctx context.Context, pod *corev1.Pod) (*policyv1.PodDisruptionBudget, error) {
	list, err := e.budgets.List(ctx, e.namespace)
	if err != nil {
		return nil, err
	}
	var found *policyv1.PodDisruptionBudget
	for _, b := range list {
		selector, err := meta.SelectorFrom(b.Spec.Selector)
		if err != nil || !selector.Matches(meta.Set(pod.Labels)) {
			continue
		}
		if found != nil {
			return nil, meta.NewUnexplained("This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")
		}
		found = b
	}
	return found, nil
}

// evictableUnhealthy reports whether a pod may be evicted without a charge because it is not ready
// (KEP-3017): if its budget always allows that (AlwaysAllow), or if as many pods are healthy as the
// budget wants (IfHealthyBudget, the default).
func evictableUnhealthy(pod *corev1.Pod, b *policyv1.PodDisruptionBudget) bool {
	if pod.Status.Ready() {
		return false
	}
	if scheme.OrZero(b.Spec.UnhealthyPodEvictionPolicy) == policyv1.AlwaysAllow {
		return true
	}
	return b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0
}

// charge takes one disruption from a budget and notes the pod in disruptedPods, so that the
// disruption controller does not count the pod as healthy. The error says why the budget allows
// none. A budget whose status is older than its spec allows none, because the disruption controller
// has not counted the pods of the new spec yet.
func charge(b *policyv1.PodDisruptionBudget, pod string, now time.Time) error {
	s := &b.Status
	switch {
	case s.ObservedGeneration < b.Generation:
		return budgetProcessing(b.Name)
	case s.DisruptionsAllowed < 0:
		return meta.NewForbidden(budgetKind, b.Name, errors.New("pdb disruptions allowed is negative"))
	case len(s.DisruptedPods) > maxDisrupted:
		return meta.NewForbidden(budgetKind, b.Name,
			errors.New("DisruptedPods map too big - too many evictions not confirmed by PDB controller"))
	case s.DisruptionsAllowed == 0:
		return wouldViolate(whyNone(b), 0)
	}
	if s.DisruptionsAllowed--; s.DisruptionsAllowed == 0 {
		s.SetDisruptionAllowed(now)
	}
	if s.DisruptedPods == nil {
		s.DisruptedPods = map[string]meta.Time{}
	}
	s.DisruptedPods[pod] = meta.NewTime(now)
	return nil
}

// errRecounted ends a refund when somebody else has written the budget since the charge.
var errRecounted = errors.New("the budget has changed since")

// restoreStatus makes the status of a budget what it was before the charge, unless the budget was
// written since the charge.
func restoreStatus(b, charged *policyv1.PodDisruptionBudget, before policyv1.PodDisruptionBudgetStatus) error {
	if b.ResourceVersion != charged.ResourceVersion {
		return errRecounted
	}
	b.Status = before
	return nil
}

// whyNone says why a budget allows no disruption.
func whyNone(b *policyv1.PodDisruptionBudget) string {
	s := &b.Status
	c := scheme.OrZero(meta.FindCondition(s.Conditions, policyv1.DisruptionAllowed))
	says := c.Status == meta.ConditionFalse && c.Message != ""
	switch {
	case says && c.Reason == policyv1.ReasonSyncFailed: // first: the counts are stale
		return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently because it failed sync: %s",
			b.Name, c.Message)
	case s.CurrentHealthy <= s.DesiredHealthy:
		return fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently",
			b.Name, s.DesiredHealthy, s.CurrentHealthy)
	case says:
		return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently (%s): %s",
			b.Name, c.Reason, c.Message)
	}
	return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently", b.Name)
}

// budgetProcessing is the answer to an eviction that cannot be decided at the moment, because the
// status of the budget lags behind or the pod has just changed: 429, with the advice to retry after
// 10 seconds.
func budgetProcessing(budget string) error {
	return wouldViolate(fmt.Sprintf("The disruption budget %s is still being processed by the server.", budget), 10)
}

// wouldViolate is the answer 429 to an eviction that a budget does not allow. retrySeconds advises
// the client when to retry; 0 gives no advice.
func wouldViolate(why string, retrySeconds int) error {
	err := meta.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retrySeconds)
	err.Status.Details.Causes = []meta.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: why}}
	return err
}
