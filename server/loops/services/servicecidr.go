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

// ServiceCIDR is the loop that gives each ServiceCIDR a finalizer and the condition Ready, and
// removes the finalizer of a ServiceCIDR that is being deleted when no address of it is blocked.
type ServiceCIDR struct {
	// Client reads and writes ServiceCIDRs and reads IPAddresses.
	Client *client.Client
	// AddressManager is the value of the label ipaddress.kubernetes.io/managed-by of IPAddresses
	// that belong to services. Other IPAddresses do not block.
	AddressManager string
	// Grace is how long a ServiceCIDR exists at least after its deletion was requested. Each server
	// must see the request while the ServiceCIDR exists, because it takes no more addresses from
	// the ServiceCIDR then.
	Grace time.Duration
	// Events reports ServiceCIDRs whose status cannot be written.
	Events *controller.Recorder
	// Log gets a line for each failure.
	Log *zap.Logger
}

// cidrFinalizer is Kubernetes' finalizer of ServiceCIDRs.
const cidrFinalizer = "networking.k8s.io/service-cidr-finalizer"

// retryBlocked is the time between two looks at a ServiceCIDR with blocked addresses. Kubernetes
// watches all IPAddresses instead. That costs work for each service that is created or deleted,
// although ServiceCIDRs are rarely deleted.
const retryBlocked = 2 * time.Second

// Run keeps ServiceCIDRs up to date until ctx ends, and returns when the work under way has ended.
func (c *ServiceCIDR) Run(ctx context.Context) {
	reconcile := func(ctx context.Context, name controller.Name) (time.Duration, error) {
		again, err := c.reconcile(ctx, name)
		return again, controller.IgnoreLostRace(err)
	}
	controller.Loop{
		Name:   "ipaddresses",
		Source: controller.Watch(c.cidrs(), meta.ListOptions{}), Reconcile: reconcile, Log: c.Log,
	}.Run(ctx)
}

func (c *ServiceCIDR) cidrs() client.Resource[*networkingv1.ServiceCIDR] {
	return client.For[*networkingv1.ServiceCIDR](c.Client, networkingv1.GroupVersion.WithResource("servicecidrs"))
}

// reconcile sets the finalizer before the condition Ready, so that a ServiceCIDR in use cannot
// vanish. A status that cannot be written is reported with Kubernetes' Event.
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
	err = setReady(ctx, c.cidrs(), cidr, meta.Condition{
		Status: meta.ConditionTrue, Message: "Kubernetes Service CIDR is ready",
	})
	if controller.IgnoreLostRace(err) != nil {
		c.Events.Event(ctx, cidrReference(cidr), corev1.EventTypeWarning, "KubernetesServiceCIDRError",
			"The ServiceCIDR Status can not be set to Ready=True")
	}
	return 0, err
}

// release removes the finalizer of a ServiceCIDR that is being deleted. If an address is blocked,
// release sets the condition Ready to False with the reason Terminating instead. It returns the
// pause before the next look, or 0 if none is needed.
func (c *ServiceCIDR) release(ctx context.Context, cidr *networkingv1.ServiceCIDR) (time.Duration, error) {
	if !slices.Contains(cidr.Finalizers, cidrFinalizer) {
		return 0, nil // the finalizers of other controllers are not ours to remove
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

// blocked reports whether a service has an address of cidr that no other ServiceCIDR contains. It
// lists the addresses only if a range of cidr is not covered by a range of another ServiceCIDR.
// Another ServiceCIDR counts even while it is being deleted itself.
func (c *ServiceCIDR) blocked(ctx context.Context, cidr *networkingv1.ServiceCIDR) (bool, error) {
	var others []iprange.Range
	for other, err := range c.cidrs().All(meta.WithUnread(ctx), meta.ListOptions{}) {
		if meta.IsUnreadable(err) { // its ranges are not known, so no address counts as contained in them
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
	addresses := client.For[*meta.PartialObjectMetadata](
		c.Client, networkingv1.GroupVersion.WithResource("ipaddresses"))
	for a, err := range addresses.All(meta.WithUnread(ctx), meta.ListOptions{
		LabelSelector: networkingv1.LabelManagedBy + "=" + c.AddressManager,
	}) {
		if err != nil && !meta.IsUnreadable(err) { // an unreadable IPAddress counts too: its name is the address
			return false, err
		}
		ip, err := netip.ParseAddr(a.Name)
		if err == nil && iprange.Within(own, ip) && !iprange.Within(others, ip) {
			return true, nil
		}
	}
	return false, nil
}
