package core

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/iprange"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// This file takes and gives back cluster IPs (KEP-1880). serviceaddress.go decides which addresses
// a service needs; addressrepair.go repairs what a crash leaves behind. How it works: a server
// takes an address by creating the IPAddress that has the address as its name. Only one creation of
// a name succeeds in the store, so servers need no lock.

// addressPool hands out cluster IPs from the ranges of the ServiceCIDRs.
//
// Law: a service holds an address exactly as long as the IPAddress of that name refers to the
// service, on all servers that share the store. If a server dies between writing an IPAddress and
// its service, the IPAddress stays without a service; AddressRepair finds and deletes it.
type addressPool struct {
	stores     registry.Stores
	cidrs      *registry.ListMemo[*networkingv1.ServiceCIDR]
	configured []iprange.Range // the ranges of DefaultServiceCIDR while that object does not exist

	headStart func() time.Duration // nil: services are stored at once; see waitHeadStart
}

// DefaultServiceCIDR is the name of the ServiceCIDR that holds the ranges of the server's
// configuration. A controller creates it when the server starts; until then the configuration
// itself counts.
const DefaultServiceCIDR = "kubernetes"

// AddressManager is the value of the label ipaddress.kubernetes.io/managed-by on the IPAddresses of
// services. IPAddresses with another manager are not this server's to repair.
const AddressManager = "ipallocator.k8s.io"

// Reasons why a service gets no address, in Kubernetes' words. Callers compare them with ==.
var (
	errFull          = errors.New("range is full")
	errAllocated     = errors.New("provided IP is already allocated")
	errOtherNetwork  = errors.New("the provided network does not match the current range")
	errRangeNotReady = errors.New("allocator not ready")
)

func newAddressPool(c *Config) *addressPool {
	p := &addressPool{
		stores:    c.Stores,
		cidrs:     registry.NewListMemo[*networkingv1.ServiceCIDR](c.Stores, networkingResource("servicecidrs")),
		headStart: c.HeadStart,
	}
	for _, prefix := range c.ServiceRanges {
		p.configured = append(p.configured, iprange.New(prefix))
	}
	return p
}

// maxGuesses is how many random addresses of a band are tried before its free ones are counted. In
// a band that is not nearly full, one of the first guesses is most likely free. A guess costs one
// look into the cache; counting takes time linear in the number of IPAddresses.
const maxGuesses = 8

// takeAddress takes the address that a service asks for. The address may be in any range of the
// family that is ready. A dry run only checks that a range has the address, not that the address is
// free. The errors of a dry run differ from those of a real write, as in Kubernetes.
func (p *addressPool) takeAddress(
	ctx context.Context, ip netip.Addr, family corev1.IPFamily, svc *corev1.Service, dryRun bool,
) error {
	ranges, err := p.ranges(ctx, family)
	if err != nil {
		return err
	}
	for _, r := range ranges {
		switch {
		case !r.Contains(ip):
		case dryRun:
			return nil
		default:
			return p.createAddress(ctx, ip, svc)
		}
	}
	switch {
	case !dryRun:
		return errOtherNetwork
	case len(ranges) == 0:
		return errRangeNotReady
	}
	return fmt.Errorf("the provided IP (%v) is not in the valid range. The range of valid IPs is %v",
		ip, ranges[0].Prefix)
}

// takeAnyAddress takes an address for a service that asks for none. It looks into the ranges in
// order, and in each range into the upper band before the lower: the lower band is left to clients
// that choose addresses (KEP-3070). A dry run returns the first address of the range, that of the
// network itself, which no service can get.
func (p *addressPool) takeAnyAddress(
	ctx context.Context, family corev1.IPFamily, svc *corev1.Service, dryRun bool,
) (netip.Addr, error) {
	ranges, err := p.ranges(ctx, family)
	switch {
	case err != nil:
		return netip.Addr{}, err
	case !dryRun:
	case len(ranges) == 0:
		return netip.Addr{}, errRangeNotReady
	default:
		return ranges[0].Prefix.Addr(), nil
	}
	for _, r := range ranges {
		for _, band := range r.Bands() {
			if ip, err := p.takeFromBand(ctx, band, svc); err != errFull {
				return ip, err
			}
		}
	}
	return netip.Addr{}, errFull
}

// takeFromBand takes an address from a band. First it guesses; if all guesses are taken, it walks
// the free addresses. It returns errFull only if it has seen that no address of the band is free.
func (p *addressPool) takeFromBand(ctx context.Context, band iprange.Band, svc *corev1.Service) (netip.Addr, error) {
	addresses, err := p.addresses()
	if err != nil {
		return netip.Addr{}, err
	}
	for range maxGuesses {
		ip, ok := band.Any()
		if !ok {
			return netip.Addr{}, errFull
		}
		if taken, err := addresses.Exists(ctx, "", ip.String(), request.Cached); err != nil {
			return netip.Addr{}, err
		} else if taken {
			continue
		}
		if err := p.createAddress(ctx, ip, svc); err != errAllocated {
			return ip, err
		}
	}
	for ctx.Err() == nil { // ends: each round that another writer wins leaves one free address less
		n, all, err := addresses.Names(ctx, "")
		if err != nil {
			return netip.Addr{}, err
		}
		ip, ok := band.Free(n, parseAddresses(all))
		if !ok {
			return netip.Addr{}, errFull
		}
		if err := p.createAddress(ctx, ip, svc); err != errAllocated {
			return ip, err
		}
	}
	return netip.Addr{}, ctx.Err()
}

// parseAddresses yields the addresses that names of IPAddresses stand for, and skips names that are
// no address.
func parseAddresses(names iter.Seq[string]) iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		for name := range names {
			if ip, err := netip.ParseAddr(name); err == nil && !yield(ip) {
				return
			}
		}
	}
}

// createAddress creates the IPAddress of a service. It returns errAllocated if an IPAddress of that
// name exists, even one that refers to the same service.
func (p *addressPool) createAddress(ctx context.Context, ip netip.Addr, svc *corev1.Service) error {
	addresses, err := p.addresses()
	if err != nil {
		return err
	}
	err = addresses.Create(ctx, NewServiceAddress(ip, svc.Namespace, svc.Name))
	if meta.IsAlreadyExists(err) {
		return errAllocated
	}
	return err
}

// NewServiceAddress returns the IPAddress that records that the service of a namespace and name
// holds ip. It is not stored yet.
func NewServiceAddress(ip netip.Addr, namespace, name string) *networkingv1.IPAddress {
	return &networkingv1.IPAddress{
		ObjectMeta: meta.ObjectMeta{Name: ip.String(), Labels: map[string]string{
			networkingv1.LabelIPAddressFamily: string(familyOf(ip.Is4())), networkingv1.LabelManagedBy: AddressManager,
		}},
		Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{
			Resource: "services", Namespace: namespace, Name: name,
		}},
	}
}

// waitHeadStart waits between the two writes of a change: IPAddress, then service; or service, then
// deletion of the IPAddress.
//
// Reason: a kube-apiserver on the same store follows services and IPAddresses by two independent
// watches. If it saw a service without its IPAddress, because the IPAddress arrives later or its
// deletion arrives earlier, it would warn about the service and create the IPAddress itself.
func (p *addressPool) waitHeadStart(ctx context.Context) error {
	if p.headStart == nil {
		return nil
	}
	if d := p.headStart(); d > 0 {
		return storage.Sleep(ctx, d)
	}
	return nil
}

// addressHeldBy returns the IPAddress of ip if it refers to svc. It returns nil if the address is
// free or belongs to somebody else.
func (p *addressPool) addressHeldBy(
	ctx context.Context, ip netip.Addr, svc *corev1.Service,
) (*networkingv1.IPAddress, error) {
	addresses, err := p.addresses()
	if err != nil {
		return nil, err
	}
	a, err := addresses.Read(ctx, "", ip.String(), request.Consistent)
	if err != nil || a.Spec.ParentRef == nil ||
		*a.Spec.ParentRef != *NewServiceAddress(ip, svc.Namespace, svc.Name).Spec.ParentRef {
		return nil, ignoreNotFound(err)
	}
	return a, nil
}

// deleteAddress deletes an IPAddress. The precondition on the UID spares an IPAddress that was
// created under the same name since a was read. An error is dropped: AddressRepair deletes what
// remains.
func (p *addressPool) deleteAddress(ctx context.Context, a *networkingv1.IPAddress) {
	if addresses, err := p.addresses(); err == nil {
		_ = addresses.Delete(ctx, "", a.Name, false,
			&meta.DeleteOptions{Preconditions: &meta.Preconditions{UID: &a.UID}})
	}
}

// ranges returns the ranges of a family that addresses may be taken from at the moment: those of
// ready ServiceCIDRs that are not being deleted. It leaves out IPv6 ranges larger than /64, which
// Kubernetes does not allocate from.
func (p *addressPool) ranges(ctx context.Context, family corev1.IPFamily) ([]iprange.Range, error) {
	all, err := p.rangesOf(ctx, func(c *networkingv1.ServiceCIDR) bool {
		return c.DeletionTimestamp == nil && rangesReady(c)
	})
	return slices.DeleteFunc(all, func(r iprange.Range) bool {
		return familyOf(r.Is4()) != family || !r.Is4() && r.Prefix.Bits() < 64
	}), err
}

// allRanges returns all ranges in which services may have addresses. Addresses of a ServiceCIDR
// that is being deleted, or not ready, stay valid; no new ones are taken there.
func (p *addressPool) allRanges(ctx context.Context) ([]iprange.Range, error) {
	return p.rangesOf(ctx, func(*networkingv1.ServiceCIDR) bool { return true })
}

// rangesOf returns the ranges of the ServiceCIDRs that are usable, those of DefaultServiceCIDR
// first. While DefaultServiceCIDR does not exist, the ranges of the configuration stand in its
// place. It returns none if the server does not serve IPAddresses or ServiceCIDRs: then no service
// gets an address.
func (p *addressPool) rangesOf(
	ctx context.Context, usable func(*networkingv1.ServiceCIDR) bool,
) ([]iprange.Range, error) {
	for _, name := range []string{"servicecidrs", "ipaddresses"} {
		if p.stores.Store(networkingResource(name)) == nil { // not served
			return nil, nil
		}
	}
	cidrs, err := p.cidrs.List(ctx, request.Consistent)
	if err != nil {
		return nil, err
	}
	var list []iprange.Range
	configured := p.configured
	for _, c := range cidrs {
		var ranges []iprange.Range
		if usable(c) {
			ranges = iprange.Parse(c.Spec.CIDRs)
		}
		if c.Name == DefaultServiceCIDR {
			configured = ranges
		} else {
			list = append(list, ranges...)
		}
	}
	return append(slices.Clone(configured), list...), nil
}

// rangesReady reports whether a ServiceCIDR is ready. One without the condition Ready counts as
// ready, because no controller may be running that sets it.
func rangesReady(c *networkingv1.ServiceCIDR) bool {
	ready := meta.FindCondition(c.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	return ready == nil || ready.Status == meta.ConditionTrue
}

func (p *addressPool) addresses() (registry.View[*networkingv1.IPAddress], error) {
	return registry.ViewOf[*networkingv1.IPAddress](p.stores.Store(networkingResource("ipaddresses")))
}

func networkingResource(name string) meta.GroupResource {
	return meta.GroupResource{Group: networkingv1.GroupVersion.Group, Resource: name}
}
