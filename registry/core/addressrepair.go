package core

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/iprange"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// AddressRepair makes IPAddresses say again who has which address, where they do not: because a
// server has died between writing a service and an IPAddress, or somebody has changed or deleted
// one by hand. What is to be done it finds out in a state that may be old, and does by what it
// reads then. Several servers may repair at the same time.
type AddressRepair struct {
	pool     *addressPool
	services func() *registry.Store
	grace    time.Duration
	event    func(ctx context.Context, e RepairEvent)
}

// RepairEvent tells people what was wrong.
type RepairEvent struct {
	About                   corev1.ObjectReference
	Reason, Action, Message string
}

// NewAddressRepair returns the repair of what c.Stores has. No write of a service takes longer than
// grace: younger IPAddresses may be of services that are still on their way to the store.
func NewAddressRepair(c Config, grace time.Duration, event func(ctx context.Context, e RepairEvent)) *AddressRepair {
	services := func() *registry.Store { return c.Stores.Store(meta.GroupResource{Resource: "services"}) }
	return &AddressRepair{newAddressPool(&c), services, grace, event}
}

// serviceName names a service.
type serviceName struct{ namespace, name string }

// Pass looks at all services and addresses, and reports whether some IPAddresses were too young to
// be judged.
func (r *AddressRepair) Pass(ctx context.Context) (young bool, err error) {
	services, addresses, err := r.views()
	if err != nil {
		return false, err
	}
	held := map[serviceName][]netip.Addr{}
	for svc, err := range services.Each(ctx, "") {
		if meta.IsUnreadable(err) { // nobody knows its addresses; see repairAddress
			continue
		}
		if err != nil {
			return false, err
		}
		held[serviceName{svc.Namespace, svc.Name}] = addressesOf(svc)
	}
	var odd []netip.Addr
	owners := map[netip.Addr]serviceName{} // of IPAddresses that are as they should be
	for a, err := range addresses.Each(ctx, "") {
		if meta.IsUnreadable(err) { // nobody knows whose it is; see claim
			continue
		}
		if err != nil {
			return false, err
		}
		ip, err := netip.ParseAddr(a.Name)
		if err != nil {
			continue
		}
		if owner, ok := serviceOf(a); ok && labelled(a, ip) && slices.Contains(held[owner], ip) {
			owners[ip] = owner
		} else {
			odd = append(odd, ip)
		}
	}
	ranges, err := r.pool.allRanges(ctx)
	if err != nil {
		return false, err
	}
	for owner, ips := range held {
		if slices.ContainsFunc(ips, func(ip netip.Addr) bool {
			return owners[ip] != owner || !iprange.Within(ranges, ip)
		}) {
			if err := r.repairService(ctx, owner); err != nil {
				return false, err
			}
		}
	}
	for _, ip := range odd {
		isYoung, err := r.repairAddress(ctx, ip)
		if err != nil {
			return false, err
		}
		young = young || isYoung
	}
	return young, nil
}

// Changed is told the last state of an IPAddress that has changed or is gone, and repairs the
// service that it named. It costs next to nothing if that is gone, too, as it mostly is.
func (r *AddressRepair) Changed(ctx context.Context, a *networkingv1.IPAddress) error {
	owner, ok := serviceOf(a)
	services, _, err := r.views()
	if err != nil || !ok {
		return err
	}
	there, err := services.Exists(ctx, owner.namespace, owner.name, request.Cached)
	if meta.IsUnreadable(err) {
		return nil
	}
	if err != nil || !there {
		return ignoreNoName(err)
	}
	return r.repairService(ctx, owner)
}

func (r *AddressRepair) views() (registry.View[*corev1.Service], registry.View[*networkingv1.IPAddress], error) {
	services, err := registry.ViewOf[*corev1.Service](r.services())
	if err != nil {
		return services, registry.View[*networkingv1.IPAddress]{}, err
	}
	addresses, err := r.pool.addresses()
	return services, addresses, err
}

// service returns a service, nil if there is none.
func (r *AddressRepair) readService(ctx context.Context, name serviceName) (*corev1.Service, error) {
	services, _, err := r.views()
	if err != nil {
		return nil, err
	}
	svc, err := services.Read(ctx, name.namespace, name.name, request.Consistent)
	if err != nil {
		return nil, ignoreNoName(ignoreNotFound(err))
	}
	return svc, nil
}

// repairService sees to it that a service has its addresses.
func (r *AddressRepair) repairService(ctx context.Context, name serviceName) error {
	svc, err := r.readService(ctx, name)
	if meta.IsUnreadable(err) {
		return nil
	}
	if err != nil || svc == nil {
		return err
	}
	ranges, err := r.pool.allRanges(ctx)
	if err != nil || !usesClusterIP(svc) || isHeadless(svc) {
		return err
	}
	for _, text := range svc.Spec.ClusterIPs {
		ip, bad := names.ParseIP(text, false)
		switch {
		case len(bad) > 0:
			r.event(ctx, aboutService(svc, "ClusterIPNotValid", "ClusterIPValidation",
				"Cluster IP %s is not a valid IP; please recreate Service", text))
		case !iprange.Within(ranges, ip):
			r.event(ctx, aboutService(svc, "ClusterIPOutOfRange", "ClusterIPAllocation",
				"Cluster IP [%v]: %s is not within any configured Service CIDR; please recreate service",
				familyOf(ip.Is4()), ip))
		default:
			if err := r.claimAddress(ctx, svc, ip); err != nil {
				return err
			}
		}
	}
	return nil
}

// claim makes an IPAddress say that a service has an address, unless another service has it, too.
func (r *AddressRepair) claimAddress(ctx context.Context, svc *corev1.Service, ip netip.Addr) error {
	_, addresses, err := r.views()
	if err != nil {
		return err
	}
	a, err := addresses.Read(ctx, "", ip.String(), request.Consistent)
	if meta.IsUnreadable(err) { // it is there, and nobody else gets the address
		return nil
	}
	if err != nil && !meta.IsNotFound(err) {
		return err
	}
	missing := err != nil
	if has, err := r.serviceHas(ctx, serviceName{svc.Namespace, svc.Name}, ip); err != nil || !has {
		return err
	}
	family := familyOf(ip.Is4())
	if missing {
		r.event(ctx, aboutService(svc, "ClusterIPNotAllocated", "ClusterIPAllocation",
			"Cluster IP [%v]: %s is not allocated; repairing", family, ip))
		return r.replaceAddress(ctx, nil, ip, svc)
	}
	owner, ok := serviceOf(a)
	if ok && owner == (serviceName{svc.Namespace, svc.Name}) {
		if labelled(a, ip) {
			return nil
		}
		return r.replaceAddress(ctx, a, ip, svc)
	}
	if ok {
		if taken, err := r.serviceHas(ctx, owner, ip); err != nil {
			return err
		} else if taken {
			r.event(ctx, aboutService(svc, "ClusterIPAlreadyAllocated", "ClusterIPAllocation",
				"Cluster IP [%v]:%s was assigned to multiple services; please recreate service", family, ip))
			return nil
		}
	}
	r.event(ctx, aboutService(svc, "ClusterIPNotAllocated", "ClusterIPAllocation",
		"the ClusterIP [%v]: %s for Service %s/%s has a wrong reference; repairing",
		family, ip, svc.Namespace, svc.Name))
	return r.replaceAddress(ctx, a, ip, svc)
}

// has reports whether a service has an address. One that cannot be read has what an IPAddress says.
func (r *AddressRepair) serviceHas(ctx context.Context, name serviceName, ip netip.Addr) (bool, error) {
	svc, err := r.readService(ctx, name)
	if meta.IsUnreadable(err) {
		return true, nil
	}
	return svc != nil && slices.Contains(addressesOf(svc), ip), err
}

// recreate puts the IPAddress of a service in the place of another, if there is one.
func (r *AddressRepair) replaceAddress(
	ctx context.Context, wrong *networkingv1.IPAddress, ip netip.Addr, svc *corev1.Service,
) error {
	if wrong != nil {
		if err := r.deleteAddress(ctx, wrong); err != nil {
			return err
		}
	}
	if err := r.pool.createAddress(ctx, ip, svc); err != errAllocated { // else by another server, or to another service
		return err
	}
	return nil
}

// remove deletes an IPAddress as it was read.
func (r *AddressRepair) deleteAddress(ctx context.Context, a *networkingv1.IPAddress) error {
	_, addresses, err := r.views()
	if err != nil {
		return err
	}
	err = addresses.Delete(ctx, "", a.Name, false, &meta.DeleteOptions{Preconditions: &meta.Preconditions{UID: &a.UID}})
	if meta.IsConflict(err) {
		return nil
	}
	return ignoreNotFound(err)
}

// repairAddress deletes an IPAddress of services that none has, and reports whether it is too young
// for that.
func (r *AddressRepair) repairAddress(ctx context.Context, ip netip.Addr) (young bool, err error) {
	_, addresses, err := r.views()
	if err != nil {
		return false, err
	}
	a, err := addresses.Read(ctx, "", ip.String(), request.Consistent)
	if err != nil || a.Labels[networkingv1.LabelManagedBy] != AddressManager {
		return false, ignoreNotFound(err)
	}
	owner, ok := serviceOf(a)
	if !ok {
		r.event(ctx, aboutAddress(a, "IPAddressNotAllocated",
			"IPAddress %s appears to have been modified, not referencing a Service %s: cleaning up",
			a.Name, refText(a.Spec.ParentRef)))
		return false, r.deleteAddress(ctx, a)
	}
	svc, err := r.readService(ctx, owner)
	if meta.IsUnreadable(err) { // the service is there, and has it as far as anybody knows
		return false, nil
	}
	if err != nil || svc != nil && slices.Contains(addressesOf(svc), ip) {
		return false, err
	}
	if a.CreationTimestamp != nil && time.Since(a.CreationTimestamp.Time) < r.grace {
		return true, nil
	}
	if svc == nil {
		r.event(ctx, aboutAddress(a, "IPAddressNotAllocated",
			"IPAddress: %s for Service %s/%s appears to have leaked: cleaning up", a.Name, owner.namespace, owner.name))
	} else {
		r.event(ctx, aboutAddress(a, "IPAddressWrongReference",
			"IPAddress: %s for Service %s/%s has a wrong reference; cleaning up", a.Name, owner.namespace, owner.name))
	}
	return false, r.deleteAddress(ctx, a)
}

// serviceOf is the service that an IPAddress says has the address; false if it says so of something
// else.
func serviceOf(a *networkingv1.IPAddress) (serviceName, bool) {
	ref := a.Spec.ParentRef
	if ref == nil || ref.Group != "" || ref.Resource != "services" {
		return serviceName{}, false
	}
	return serviceName{ref.Namespace, ref.Name}, true
}

// labelled reports whether an IPAddress has the labels of those of services.
func labelled(a *networkingv1.IPAddress, ip netip.Addr) bool {
	return a.Labels[networkingv1.LabelManagedBy] == AddressManager &&
		a.Labels[networkingv1.LabelIPAddressFamily] == string(familyOf(ip.Is4()))
}

func aboutService(svc *corev1.Service, reason, action, format string, args ...any) RepairEvent {
	return RepairEvent{corev1.ObjectReference{
		APIVersion: "v1", Kind: "Service", Namespace: svc.Namespace, Name: svc.Name,
		UID: svc.UID, ResourceVersion: svc.ResourceVersion,
	}, reason, action, fmt.Sprintf(format, args...)}
}

func aboutAddress(a *networkingv1.IPAddress, reason, format string, args ...any) RepairEvent {
	return RepairEvent{corev1.ObjectReference{
		APIVersion: networkingv1.GroupVersion.String(), Kind: "IPAddress", Name: a.Name,
		UID: a.UID, ResourceVersion: a.ResourceVersion,
	}, reason, "IPAddressAllocation", fmt.Sprintf(format, args...)}
}

// refText shows a reference in messages.
func refText(ref *networkingv1.ParentReference) string {
	if ref == nil {
		return "nil"
	}
	return fmt.Sprintf("&ParentReference{Group:%s,Resource:%s,Namespace:%s,Name:%s,}",
		ref.Group, ref.Resource, ref.Namespace, ref.Name)
}

// ignoreNoName ignores that a service cannot have the name that an IPAddress says: clients write
// there what they like.
func ignoreNoName(err error) error {
	if meta.IsBadRequest(err) {
		return nil
	}
	return err
}

func ignoreNotFound(err error) error {
	if meta.IsNotFound(err) {
		return nil
	}
	return err
}
