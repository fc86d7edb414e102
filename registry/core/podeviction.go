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

// podEviction makes the subresource that deletes a pod if the budgets allow it.
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

// deleteOptions are how an eviction has the pod deleted. It is a dry run if its body says so, or
// the request.
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

// eviction is one eviction under way.
type eviction struct {
	pods            registry.View[*corev1.Pod]
	budgets         registry.View[*policyv1.PodDisruptionBudget]
	namespace, name string
	opts            *meta.DeleteOptions // never changed
	dryRun          bool
}

// newEviction finds what an eviction is about. checkEviction has found nothing wrong with it.
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

// run evicts the pod. Whatever other servers do meanwhile, a pod that counts for a budget goes only
// if the budget has been charged for it.
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
		err := e.deletePod(ctx, e.pinnedOptions(pod)) // as it is: it must not become ready and go uncharged
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

// maxOvertaken is how often an eviction begins again because the pod has changed meanwhile.
const maxOvertaken = 20

// passing deletes a pod that no budget counts, if it is one, and returns one that it may be up to a
// budget to protect.
func (e *eviction) evictUnprotected(ctx context.Context) (pod *corev1.Pod, gone bool, err error) {
	for try := 1; ; try++ {
		pod, err := e.pods.Read(ctx, e.namespace, e.name, request.Consistent)
		if err != nil || !needsNoBudget(pod) {
			return pod, false, err
		}
		opts := e.opts
		if pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil && !e.isPinned() {
			opts = e.pinnedOptions(pod) // as it is: else it may be ready by then
		}
		err = e.deletePod(ctx, opts)
		if overtaken := meta.IsConflict(err) && e.refusal(pod, e.opts) == nil; !overtaken || try == maxOvertaken {
			return pod, err == nil, err
		}
	}
}

// passes reports whether a pod is deleted whatever budgets say: it has ended, has not begun, or is
// on its way out.
func needsNoBudget(pod *corev1.Pod) bool {
	switch pod.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed, corev1.PodPending:
		return true
	}
	return pod.DeletionTimestamp != nil
}

// isPinned reports whether the client evicts a certain state of the pod.
func (e *eviction) isPinned() bool {
	return e.opts.Preconditions != nil && e.opts.Preconditions.ResourceVersion != nil
}

// pinned are the options for deleting the pod as it is.
func (e *eviction) pinnedOptions(pod *corev1.Pod) *meta.DeleteOptions {
	opts := *e.opts
	pre := scheme.OrZero(opts.Preconditions)
	pre.ResourceVersion = &pod.ResourceVersion
	opts.Preconditions = &pre
	return &opts
}

// refusal says why a pod is not deleted with some options, nil if it is.
func (e *eviction) refusal(pod *corev1.Pod, opts *meta.DeleteOptions) error {
	pre := opts.Preconditions
	if !e.dryRun && e.isPinned() && *pre.ResourceVersion == "" {
		pre = &meta.Preconditions{UID: pre.UID} // as in Kubernetes that is any version, but in a dry run
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

// remove deletes the pod, after its status says why.
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

// reserve charges the budget that counts a pod, before the pod is deleted. Nothing is charged for
// what is refused anyway. The charge is settled with the fate of the action.
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

// giveBack takes the charge back if the pod is not deleted after all. It stays if the pod is gone,
// or going, some other way, and if somebody has counted anew since, or charged for another pod:
// then the disruption controller lets the pod go from the status after some time, as it does if the
// server ends here, or if nobody knows what has become of the deletion.
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
