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

// This file repairs the IPAddresses of services (KEP-1880), after Kubernetes' repair controller.
// server/addresses calls RepairAll at intervals and RepairServiceOf for each IPAddress that changes
// or goes.
//
// How it works: RepairAll compares all services with all IPAddresses in states that may be old, and
// only collects suspects. repairService and repairAddress then read each suspect at the newest
// revision, decide again, and write with preconditions. So a stale state costs a read, never a
// wrong write.

// AddressRepair makes the IPAddresses agree with the services again. They disagree if a server died
// between writing a service and its IPAddress, or if somebody changed or deleted an IPAddress by
// hand. All methods may be called at once, and on several servers at once.
type AddressRepair struct {
	pool *addressPool
	// services finds the store of services at each call, as Config.Stores finds the others.
	services func() *registry.Store
	// An IPAddress without a service that is younger than grace is left alone.
	grace time.Duration
	// event tells people what is repaired.
	event func(ctx context.Context, e RepairEvent)
}

// RepairEvent describes one thing that was wrong: About is the service or IPAddress, Reason and
// Action are those of an Event, Message is its text.
type RepairEvent struct {
	About                   corev1.ObjectReference
	Reason, Action, Message string
}

// NewAddressRepair returns the repair of the services and IPAddresses in c.Stores. grace must be
// longer than any write of a service takes: an IPAddress that is younger may belong to a service
// that is still on its way to the store. The repair calls event for each thing that it finds wrong,
// before it repairs it.
func NewAddressRepair(c Config, grace time.Duration, event func(ctx context.Context, e RepairEvent)) *AddressRepair {
	services := func() *registry.Store { return c.Stores.Store(meta.GroupResource{Resource: "services"}) }
	return &AddressRepair{newAddressPool(&c), services, grace, event}
}

// serviceName is the key of a service.
type serviceName struct{ namespace, name string }

// RepairAll looks at all services and IPAddresses once. young says that some IPAddresses without a
// service were younger than grace; the caller makes another pass later. It ends with the first
// error of the store; what it has repaired before stays repaired.
func (r *AddressRepair) RepairAll(ctx context.Context) (young bool, err error) {
	services, addresses, err := r.views()
	if err != nil {
		return false, err
	}
	held := map[serviceName][]netip.Addr{}
	for svc, err := range services.Each(ctx, "") {
		if meta.IsUnreadable(err) { // its addresses are not known; see repairAddress
			continue
		}
		if err != nil {
			return false, err
		}
		held[serviceName{svc.Namespace, svc.Name}] = addressesOf(svc)
	}
	var odd []netip.Addr
	owners := map[netip.Addr]serviceName{} // of IPAddresses that need no repair
	for a, err := range addresses.Each(ctx, "") {
		if meta.IsUnreadable(err) { // its owner is not known; see claimAddress
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

// RepairServiceOf repairs the service that an IPAddress named. a is the last state of an IPAddress
// that was changed or deleted. Most often its service is gone as well; then RepairServiceOf costs
// one look into the cache.
func (r *AddressRepair) RepairServiceOf(ctx context.Context, a *networkingv1.IPAddress) error {
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

// readService returns a service at its newest revision, nil if it does not exist or nothing can
// have the name.
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

// repairService makes sure that each address of a service has an IPAddress that refers to the
// service. It only reports addresses that are invalid or outside of all ranges: a service cannot
// change its addresses, so somebody must create the service anew.
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

// claimAddress makes sure that the IPAddress of ip exists, refers to svc and has its labels. If it
// refers to another service that also has ip, the other service keeps it, and an event tells of the
// conflict. An IPAddress that cannot be read is left alone.
func (r *AddressRepair) claimAddress(ctx context.Context, svc *corev1.Service, ip netip.Addr) error {
	_, addresses, err := r.views()
	if err != nil {
		return err
	}
	a, err := addresses.Read(ctx, "", ip.String(), request.Consistent)
	if meta.IsUnreadable(err) {
		return nil
	}
	if err != nil && !meta.IsNotFound(err) {
		return err
	}
	missing := err != nil
	// svc was read before the IPAddress. If the service was deleted in between, its IPAddress goes
	// with it, and there is nothing to repair. So the service is read once more.
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

// serviceHas reports whether a service has an address. A service that cannot be read counts as
// having it: its IPAddress is then left alone.
func (r *AddressRepair) serviceHas(ctx context.Context, name serviceName, ip netip.Addr) (bool, error) {
	svc, err := r.readService(ctx, name)
	if meta.IsUnreadable(err) {
		return true, nil
	}
	return svc != nil && slices.Contains(addressesOf(svc), ip), err
}

// replaceAddress deletes the IPAddress wrong, if it is not nil, and creates that of svc. If another
// writer creates an IPAddress of that name first, the writer's stays.
func (r *AddressRepair) replaceAddress(
	ctx context.Context, wrong *networkingv1.IPAddress, ip netip.Addr, svc *corev1.Service,
) error {
	if wrong != nil {
		if err := r.deleteAddress(ctx, wrong); err != nil {
			return err
		}
	}
	if err := r.pool.createAddress(ctx, ip, svc); err != errAllocated {
		return err
	}
	return nil
}

// deleteAddress deletes the IPAddress a. An IPAddress that was created under the same name since a
// was read stays.
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

// repairAddress deletes the IPAddress of ip if it refers to no service, or to a service that does
// not exist or does not have ip. If it refers to a service and is younger than grace, it stays, and
// young is true. IPAddresses of other managers are left alone.
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
	if meta.IsUnreadable(err) {
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

// serviceOf returns the service that an IPAddress refers to; false if it refers to something else
// or to nothing.
func serviceOf(a *networkingv1.IPAddress) (serviceName, bool) {
	ref := a.Spec.ParentRef
	if ref == nil || ref.Group != "" || ref.Resource != "services" {
		return serviceName{}, false
	}
	return serviceName{ref.Namespace, ref.Name}, true
}

// labelled reports whether an IPAddress has the two labels of an IPAddress of a service.
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

// refText prints a reference as Kubernetes' messages do.
func refText(ref *networkingv1.ParentReference) string {
	if ref == nil {
		return "nil"
	}
	return fmt.Sprintf("&ParentReference{Group:%s,Resource:%s,Namespace:%s,Name:%s,}",
		ref.Group, ref.Resource, ref.Namespace, ref.Name)
}

// ignoreNoName ignores the store's error that no service can have such a name. The reference in an
// IPAddress may name anything, because its validation does not know the names of services.
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
