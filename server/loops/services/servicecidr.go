package services

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/iprange"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// ServiceCIDR says of ServiceCIDRs that they are ready, and keeps those that are being deleted
// until no service has an address that is in none of the others.
type ServiceCIDR struct {
	Client *client.Client
	// AddressManager is what those IPAddresses say of who looks after them that are of services.
	AddressManager string
	// Grace is how long a ServiceCIDR that is being deleted stays at least, so that no server takes
	// addresses from it any more when it is gone.
	Grace  time.Duration
	Events *controller.Recorder
	Log    *zap.Logger
}

const cidrFinalizer = "networking.k8s.io/service-cidr-finalizer"

// retryBlocked is how soon a ServiceCIDR is looked at again whose addresses are in use. No watch
// tells of addresses: most come and go without anybody waiting for it.
const retryBlocked = 2 * time.Second

// Run works until ctx ends.
func (c *ServiceCIDR) Run(ctx context.Context) {
	reconcile := func(ctx context.Context, name controller.Name) (time.Duration, error) {
		again, err := c.reconcile(ctx, name)
		return again, controller.IgnoreOvertaken(err)
	}
	controller.Loop{Source: controller.Watch(c.cidrs(), meta.ListOptions{}), Reconcile: reconcile, Log: c.Log}.Run(ctx)
}

func (c *ServiceCIDR) cidrs() client.Resource[*networkingv1.ServiceCIDR] {
	return client.For[*networkingv1.ServiceCIDR](c.Client, networkingv1.GroupVersion.WithResource("servicecidrs"))
}

func (c *ServiceCIDR) reconcile(ctx context.Context, name controller.Name) (time.Duration, error) {
	cidr, err := c.cidrs().Get(ctx, name.Name, meta.GetOptions{})
	if err != nil {
		return 0, err
	}
	if cidr.DeletionTimestamp != nil {
		return c.release(ctx, cidr)
	}
	if !slices.Contains(cidr.Finalizers, cidrFinalizer) {
		cidr.Finalizers = append(cidr.Finalizers, cidrFinalizer)
		if cidr, err = c.cidrs().Update(ctx, cidr, meta.UpdateOptions{}); err != nil {
			return 0, err
		}
	}
	err = setReady(ctx, c.cidrs(), cidr, meta.Condition{Status: meta.ConditionTrue, Message: "Kubernetes Service CIDR is ready"})
	if controller.IgnoreOvertaken(err) != nil {
		c.Events.Event(ctx, cidrReference(cidr), corev1.EventTypeWarning, "KubernetesServiceCIDRError",
			"The ServiceCIDR Status can not be set to Ready=True")
	}
	return 0, err
}

// release lets a ServiceCIDR go that is being deleted, or says what it waits for.
func (c *ServiceCIDR) release(ctx context.Context, cidr *networkingv1.ServiceCIDR) (time.Duration, error) {
	if !slices.Contains(cidr.Finalizers, cidrFinalizer) {
		return 0, nil // others hold it
	}
	blocked, err := c.blocked(ctx, cidr)
	if err != nil {
		return 0, err
	}
	if blocked {
		err := setReady(ctx, c.cidrs(), cidr, meta.Condition{
			Status: meta.ConditionFalse, Reason: networkingv1.ServiceCIDRReasonTerminating,
			Message: "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR",
		})
		return retryBlocked, err
	}
	if left := time.Until(cidr.DeletionTimestamp.Add(c.Grace)); left > 0 {
		return left, nil
	}
	cidr.Finalizers = slices.DeleteFunc(cidr.Finalizers, func(f string) bool { return f == cidrFinalizer })
	_, err = c.cidrs().Update(ctx, cidr, meta.UpdateOptions{})
	return 0, err
}

// blocked reports whether a service has an address of a ServiceCIDR which is in no other.
func (c *ServiceCIDR) blocked(ctx context.Context, cidr *networkingv1.ServiceCIDR) (bool, error) {
	var others []iprange.Range
	for other, err := range c.cidrs().All(meta.WithUnread(ctx), meta.ListOptions{}) {
		if meta.IsUnreadable(err) { // nobody knows its ranges: it is no other place for an address
			continue
		}
		if err != nil {
			return false, err
		}
		if other.Name != cidr.Name {
			others = append(others, iprange.Parse(other.Spec.CIDRs)...)
		}
	}
	own := slices.DeleteFunc(iprange.Parse(cidr.Spec.CIDRs), func(r iprange.Range) bool {
		return slices.ContainsFunc(others, func(o iprange.Range) bool { return o.Covers(r) })
	})
	if len(own) == 0 {
		return false, nil
	}
	addresses := client.For[*meta.PartialObjectMetadata](c.Client, networkingv1.GroupVersion.WithResource("ipaddresses"))
	for a, err := range addresses.All(meta.WithUnread(ctx), meta.ListOptions{LabelSelector: networkingv1.LabelManagedBy + "=" + c.AddressManager}) {
		if err != nil && !meta.IsUnreadable(err) { // the name says the address
			return false, err
		}
		ip, err := netip.ParseAddr(a.Name)
		if err == nil && iprange.Within(own, ip) && !iprange.Within(others, ip) {
			return true, nil
		}
	}
	return false, nil
}
