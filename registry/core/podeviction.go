package core

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/policyv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file is the subresource pods/eviction: it deletes a pod if the budgets allow that.
// disruption.go decides what a budget allows. pods declares the subresource.
//
// Law: a pod that counts for a budget is deleted only after one disruption was charged to the
// budget, whatever other servers do at the same time. If the server ends between the charge and the
// deletion, the budget was charged for a pod that still runs; the disruption controller corrects
// that after some time. The opposite, the deletion of such a pod without a charge, never happens.

// podEviction declares the subresource pods/eviction. Clients may send policy/v1 or policy/v1beta1.
func podEviction(stores registry.Stores) registry.SubresourceOf[*corev1.Pod] {
	return registry.SubresourceOf[*corev1.Pod]{
		Name: "eviction", Kind: policyv1.GroupVersion.WithKind("Eviction"),
		Also: []string{policyv1.Beta1.Version}, Check: checkEviction,
		Create: func(ctx context.Context, a *registry.Action) (meta.Typed, error) {
			e, err := newEviction(stores, a)
			if err != nil {
				return nil, err
			}
			if err := e.run(ctx, a); err != nil {
				return nil, err
			}
			return &meta.Status{Status: meta.StatusSuccess}, nil
		},
	}
}

// checkEviction checks the name and the options for deleting the pod.
func checkEviction(a *registry.Action) error {
	e := a.Object.(*policyv1.Eviction)
	if a.Name != e.Name {
		return meta.NewBadRequest("name in URL does not match name in Eviction object")
	}
	if e.DeleteOptions != nil && e.DeleteOptions.IgnoresReadErrors() {
		return meta.NewInvalid(policyv1.GroupVersion.WithKind("Eviction").GroupKind(), a.Name, field.ErrorList{
			field.Invalid(field.NewPath("deleteOptions", meta.IgnoreReadErrors), true,
				"can not be set for pod eviction, try after removing the option")})
	}
	_, err := deleteOptions(e, a.Options)
	return err
}

// deleteOptions returns the options for deleting the pod. A dry run may be requested in the body or
// in the query. If both name one, they must be the same.
func deleteOptions(e *policyv1.Eviction, request *meta.CreateOptions) (*meta.DeleteOptions, error) {
	var opts meta.DeleteOptions
	if e.DeleteOptions != nil {
		opts = *e.DeleteOptions
	}
	switch {
	case len(opts.DryRun) == 0:
		opts.DryRun = request.DryRun
	case len(request.DryRun) > 0 && !slices.Equal(request.DryRun, opts.DryRun):
		return nil, meta.NewUnexplained(fmt.Sprintf("Non-matching dry-run options in request and content: %v and %v",
			request.DryRun, opts.DryRun))
	}
	return &opts, nil
}

// eviction is one request to evict a pod.
type eviction struct {
	pods            registry.View[*corev1.Pod]
	budgets         registry.View[*policyv1.PodDisruptionBudget]
	namespace, name string
	opts            *meta.DeleteOptions // shared with the request, so never changed
	dryRun          bool
}

// newEviction returns the eviction that a asks for; checkEviction has accepted it.
func newEviction(stores registry.Stores, a *registry.Action) (*eviction, error) {
	pods, err := registry.ViewOf[*corev1.Pod](stores.Store(podResource))
	if err != nil {
		return nil, err
	}
	budgets, err := registry.ViewOf[*policyv1.PodDisruptionBudget](stores.Store(budgetResource))
	if err != nil {
		return nil, err
	}
	opts, err := deleteOptions(a.Object.(*policyv1.Eviction), a.Options)
	return &eviction{
		pods: pods, budgets: budgets, namespace: a.Namespace, name: a.Name,
		opts: opts, dryRun: opts != nil && len(opts.DryRun) > 0,
	}, err
}

// run evicts the pod, in one of four ways:
//   - A pod that needs no budget is deleted at once (evictUnprotected).
//   - A pod that no budget selects is deleted.
//   - A pod that is not ready may be deleted without a charge (evictableUnhealthy). The deletion
//     requires the resourceVersion that was read: if the pod has become ready since, the deletion
//     fails.
//   - Any other pod is deleted after its budget was charged.
func (e *eviction) run(ctx context.Context, a *registry.Action) error {
	pod, gone, err := e.evictUnprotected(ctx)
	if gone || err != nil {
		return err
	}
	budget, err := e.budgetOf(ctx, pod)
	switch {
	case err != nil:
		return err
	case budget == nil:
		return e.deletePod(ctx, e.opts)
	case evictableUnhealthy(pod, budget):
		err := e.deletePod(ctx, e.pinnedOptions(pod))
		if meta.IsConflict(err) && !e.isPinned() {
			return budgetProcessing(budget.Name)
		}
		return err
	}
	if err := e.chargeBudget(ctx, a, pod, budget); err != nil {
		return err
	}
	return e.deletePod(ctx, e.opts)
}

// maxOvertaken is how many times an eviction tries to delete a pod that changes between the read
// and the deletion.
const maxOvertaken = 20

// evictUnprotected deletes the pod if it needs no budget; gone is then true. Otherwise it returns
// the pod, and run looks at the pod's budget. The deletion of a pending pod requires the
// resourceVersion that was read, because the pod may become ready; if the pod has changed, it is
// read again.
func (e *eviction) evictUnprotected(ctx context.Context) (pod *corev1.Pod, gone bool, err error) {
	for try := 1; ; try++ {
		pod, err := e.pods.Read(ctx, e.namespace, e.name, request.Consistent)
		if err != nil || !needsNoBudget(pod) {
			return pod, false, err
		}
		opts := e.opts
		if pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil && !e.isPinned() {
			opts = e.pinnedOptions(pod)
		}
		err = e.deletePod(ctx, opts)
		if overtaken := meta.IsConflict(err) && e.refusal(pod, e.opts) == nil; !overtaken || try == maxOvertaken {
			return pod, err == nil, err
		}
	}
}

// needsNoBudget reports whether a pod is deleted whatever budgets say: it has ended, has not
// started, or is being deleted.
func needsNoBudget(pod *corev1.Pod) bool {
	switch pod.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed, corev1.PodPending:
		return true
	}
	return pod.DeletionTimestamp != nil
}

// isPinned reports whether the client asks to evict one state of the pod, by its resourceVersion.
func (e *eviction) isPinned() bool {
	return e.opts.Preconditions != nil && e.opts.Preconditions.ResourceVersion != nil
}

// pinnedOptions returns the options for deleting the pod only if its resourceVersion is still that
// of pod.
func (e *eviction) pinnedOptions(pod *corev1.Pod) *meta.DeleteOptions {
	opts := *e.opts
	pre := scheme.OrZero(opts.Preconditions)
	pre.ResourceVersion = &pod.ResourceVersion
	opts.Preconditions = &pre
	return &opts
}

// refusal returns the error that a deletion of the pod with opts would end with, nil if it would
// succeed. A real eviction reports a conflict before invalid options, a dry run after them, as in
// Kubernetes.
func (e *eviction) refusal(pod *corev1.Pod, opts *meta.DeleteOptions) error {
	pre := opts.Preconditions
	if !e.dryRun && e.isPinned() && *pre.ResourceVersion == "" {
		pre = &meta.Preconditions{UID: pre.UID} // "" means any version to Kubernetes, except in a dry run
	}
	conflict := e.pods.MayDelete(pod, pre)
	if conflict != nil && !e.dryRun {
		return conflict
	}
	if errs := meta.ValidateDeleteOptions(opts); len(errs) > 0 {
		return meta.NewInvalid(meta.GroupKind{Group: "meta.k8s.io", Kind: "DeleteOptions"}, "", errs)
	}
	return conflict
}

// deletePod sets the condition DisruptionTarget (KEP-3329), which tells controllers why the pod
// ends, and then deletes the pod. If opts require a resourceVersion, the deletion requires the
// resourceVersion that the pod has with the condition.
func (e *eviction) deletePod(ctx context.Context, opts *meta.DeleteOptions) error {
	pod, err := e.pods.Update(ctx, e.namespace, e.name, e.dryRun, func(pod *corev1.Pod) error {
		if err := e.refusal(pod, opts); err != nil {
			return err
		}
		pod.Status.SetCondition(corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
			Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting",
			ObservedGeneration: scheme.OrZero(pod.Status.Condition(corev1.DisruptionTarget)).ObservedGeneration,
		}, time.Now())
		return nil
	})
	if err != nil {
		return err
	}
	if opts.Preconditions != nil && opts.Preconditions.ResourceVersion != nil {
		opts = e.pinnedOptions(pod)
	}
	return e.pods.Delete(ctx, e.namespace, e.name, e.dryRun, opts)
}

// chargeBudget charges budget for the pod before the pod is deleted. It charges nothing if the
// deletion would be refused. If the fate of the action is NotStored, so the pod was certainly not
// deleted, the charge is refunded (see refund for the exceptions).
func (e *eviction) chargeBudget(
	ctx context.Context, a *registry.Action, pod *corev1.Pod, budget *policyv1.PodDisruptionBudget,
) error {
	var before policyv1.PodDisruptionBudgetStatus
	charged, err := e.budgets.Update(ctx, e.namespace, budget.Name, e.dryRun,
		func(b *policyv1.PodDisruptionBudget) error {
			before = scheme.DeepCopy(b.Status)
			if err := charge(b, pod.Name, time.Now()); err != nil {
				return err
			}
			return e.refusal(pod, e.opts)
		})
	if err != nil || e.dryRun {
		return err
	}
	a.Take(func(ctx context.Context, fate admission.Fate) {
		if fate == admission.NotStored {
			e.refund(ctx, pod, charged, before)
		}
	})
	return nil
}

// refund takes the charge back because the pod was not deleted. The charge stays if
//   - the pod is gone or being deleted in another way, or
//   - the budget has changed since, by a controller that counted or by the charge for another pod.
//
// Then the disruption controller removes the pod from the status after some time. It does the same
// if the server ends before the refund or the fate of the deletion is in doubt.
func (e *eviction) refund(
	ctx context.Context, pod *corev1.Pod, charged *policyv1.PodDisruptionBudget,
	before policyv1.PodDisruptionBudgetStatus,
) {
	now, err := e.pods.Read(ctx, e.namespace, e.name, request.Consistent)
	if err != nil || now.UID != pod.UID || now.DeletionTimestamp != nil {
		return
	}
	_, _ = e.budgets.Update(ctx, e.namespace, charged.Name, false, func(b *policyv1.PodDisruptionBudget) error {
		return restoreStatus(b, charged, before)
	})
}
