package services

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// This file keeps the default ServiceCIDR. server/addresses calls Ensure in a post-start hook, and
// Run after that. It also has setReady, by which both loops for ServiceCIDRs write the condition
// Ready.

// DefaultServiceCIDR is the loop that keeps the default ServiceCIDR. It creates the object if it is
// missing, adds the second range when a single-stack cluster becomes dual-stack, and sets the
// condition Ready to True if the object has no such condition. If the object has other ranges than
// CIDRs, the loop leaves them and warns once. Each server runs this loop, and any server may write
// first.
type DefaultServiceCIDR struct {
	// Client reads and writes the ServiceCIDR.
	Client *client.Client
	// Name is the name of the ServiceCIDR.
	Name string
	// CIDRs are one or two ranges, each in CIDR notation; of two, one is of IPv4 and one of IPv6.
	CIDRs []string
	// Events reports problems that an administrator has to solve.
	Events *controller.Recorder
	// Log gets a line for each of these problems, and for each failure.
	Log *zap.Logger

	warned map[string]bool // reasons that warnOnce has reported; only one goroutine uses it
}

// Ensure creates the ServiceCIDR and sets its condition, and tries again until it has succeeded or
// ctx ends. A post-start hook calls it, so the server is not ready before it returns.
func (c *DefaultServiceCIDR) Ensure(ctx context.Context) {
	for ctx.Err() == nil {
		err := c.reconcile(ctx)
		if err == nil {
			return
		}
		if controller.IgnoreLostRace(err) != nil {
			c.Log.Warn("cannot set up the default ServiceCIDR, trying again",
				zap.String("name", c.Name), zap.Error(err))
		}
		controller.Pause(ctx, 100*time.Millisecond)
	}
}

// Run keeps the ServiceCIDR until ctx ends. It is called after Ensure has returned.
func (c *DefaultServiceCIDR) Run(ctx context.Context) {
	reconcile := func(ctx context.Context, _ controller.Name) (time.Duration, error) {
		return 0, controller.IgnoreLostRace(c.reconcile(ctx))
	}
	controller.Loop{
		Name:   "default_service_cidr",
		Source: controller.WatchOne(c.cidrs(), controller.Name{Name: c.Name}), Reconcile: reconcile, Log: c.Log,
	}.Run(ctx)
}

func (c *DefaultServiceCIDR) cidrs() client.Resource[*networkingv1.ServiceCIDR] {
	return client.For[*networkingv1.ServiceCIDR](c.Client, networkingv1.GroupVersion.WithResource("servicecidrs"))
}

// reconcile creates or widens the ServiceCIDR and marks it ready. If another server wrote first, it
// returns the error of its own write. Ensure then tries again, and the watch of Run brings the
// change of the other server.
func (c *DefaultServiceCIDR) reconcile(ctx context.Context) error {
	cidr, err := c.cidrs().Get(ctx, c.Name, meta.GetOptions{})
	if meta.IsNotFound(err) {
		cidr, err = c.cidrs().Create(ctx, &networkingv1.ServiceCIDR{
			ObjectMeta: meta.ObjectMeta{Name: c.Name}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: c.CIDRs},
		}, meta.CreateOptions{})
	}
	if err != nil {
		return err // also AlreadyExists, if another server was faster
	}
	if has := cidr.Spec.CIDRs; len(c.CIDRs) == 2 && len(has) == 1 && has[0] == c.CIDRs[0] {
		cidr.Spec.CIDRs = c.CIDRs
		widened, err := c.cidrs().Update(ctx, cidr, meta.UpdateOptions{})
		if controller.IgnoreLostRace(err) != nil {
			c.warn(ctx, cidr, "KubernetesDefaultServiceCIDRError", fmt.Sprintf(
				"The default ServiceCIDR can not be upgraded from %s to dual stack %v : %v", c.CIDRs[0], c.CIDRs, err))
		}
		if err != nil {
			return err
		}
		cidr = widened
	}
	return c.markReady(ctx, cidr)
}

// markReady sets the condition Ready of a ServiceCIDR with the configured ranges to True. It leaves
// a condition that is True or False, because the loop ServiceCIDR may have set it. If the ranges
// differ or the condition is False, it warns once.
func (c *DefaultServiceCIDR) markReady(ctx context.Context, cidr *networkingv1.ServiceCIDR) error {
	if cidr.DeletionTimestamp != nil {
		return nil
	}
	if !slices.Equal(cidr.Spec.CIDRs, c.CIDRs) {
		c.warnOnce(ctx, cidr, "KubernetesDefaultServiceCIDRInconsistent", fmt.Sprintf(
			"The default ServiceCIDR %v does not match the controller flag configurations %s",
			cidr.Spec.CIDRs, c.CIDRs))
		return nil
	}
	ready := meta.FindCondition(cidr.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	switch {
	case ready != nil && ready.Status == meta.ConditionFalse:
		c.warnOnce(ctx, cidr, ready.Reason, "Configuration matches, but "+ready.Message)
		return nil
	case ready != nil && ready.Status == meta.ConditionTrue:
		return nil
	}
	err := setReady(ctx, c.cidrs(), cidr, meta.Condition{
		Status: meta.ConditionTrue, Message: "Kubernetes default Service CIDR is ready",
	})
	if controller.IgnoreLostRace(err) != nil {
		c.warn(ctx, cidr, "KubernetesDefaultServiceCIDRError",
			"The default ServiceCIDR Status can not be set to Ready=True")
	}
	return err
}

// warnOnce calls warn unless it has done so for this reason before. Only an administrator can solve
// these problems, so a repeated warning would say nothing new.
func (c *DefaultServiceCIDR) warnOnce(ctx context.Context, cidr *networkingv1.ServiceCIDR, reason, message string) {
	if c.warned[reason] {
		return
	}
	if c.warned == nil {
		c.warned = map[string]bool{}
	}
	c.warned[reason] = true
	c.warn(ctx, cidr, reason, message)
}

// warn reports a problem in the log and as an Event about the ServiceCIDR. reason and message are
// Kubernetes'.
func (c *DefaultServiceCIDR) warn(ctx context.Context, cidr *networkingv1.ServiceCIDR, reason, message string) {
	c.Log.Warn("the default ServiceCIDR needs an administrator",
		zap.String("name", c.Name), zap.String("reason", reason), zap.String("message", message))
	c.Events.Event(ctx, cidrReference(cidr), corev1.EventTypeWarning, reason, message)
}

func cidrReference(c *networkingv1.ServiceCIDR) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: networkingv1.GroupVersion.String(), Kind: "ServiceCIDR",
		Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion,
	}
}

// setReady writes the condition Ready of a ServiceCIDR, unless the condition has the same status,
// reason and message already. The type of ready need not be set. The write is a conflict if the
// ServiceCIDR has changed since cidr was read.
func setReady(
	ctx context.Context, r client.Resource[*networkingv1.ServiceCIDR],
	cidr *networkingv1.ServiceCIDR, ready meta.Condition,
) error {
	ready.Type = networkingv1.ServiceCIDRConditionReady
	is := meta.FindCondition(cidr.Status.Conditions, ready.Type)
	if is != nil && is.Status == ready.Status && is.Reason == ready.Reason && is.Message == ready.Message {
		return nil
	}
	meta.SetCondition(&cidr.Status.Conditions, ready, time.Now())
	_, err := r.UpdateStatus(ctx, cidr, meta.UpdateOptions{})
	return err
}
