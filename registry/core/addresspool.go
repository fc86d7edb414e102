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

// addressPool is where services get addresses from: the ranges of the ServiceCIDRs. Who has one is
// said by the IPAddress of its name: whoever creates that has the address, on whichever server, and
// until it is deleted. A service that is not stored in the end, because the server has died, leaves
// an IPAddress without it, which is for the repair of addresses to find.
type addressPool struct {
	stores     registry.Stores
	cidrs      *registry.ListMemo[*networkingv1.ServiceCIDR]
	configured []iprange.Range // those of the ServiceCIDR DefaultServiceCIDR, as long as it does not exist

	headStart func() time.Duration // nil: services are stored at once
}

// DefaultServiceCIDR is the name of the ServiceCIDR that has the ranges of the configuration.
const DefaultServiceCIDR = "kubernetes"

// AddressManager is what the IPAddresses of services say of who looks after them.
const AddressManager = "ipallocator.k8s.io"

// What keeps a service from an address. Kubernetes' words.
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

// guesses is how often an address is chosen by chance before those that are taken are looked at.
const maxGuesses = 8

// take takes an address for a service.
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

// takeAny takes an address for a service that asks for none. What a dry run answers is none that a
// service can have.
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

// takeFrom takes an address from a band.
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
	for ctx.Err() == nil { // each round that finds somebody else faster is one address less
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

// parsed are the addresses that have IPAddresses of these names.
func parseAddresses(names iter.Seq[string]) iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		for name := range names {
			if ip, err := netip.ParseAddr(name); err == nil && !yield(ip) {
				return
			}
		}
	}
}

// create makes the IPAddress of a service.
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

// NewServiceAddress returns the IPAddress that says that a service has an address.
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

// settle waits between two writes: of IPAddresses and then of their service, or of a service and
// then the end of its IPAddresses. Another server may follow both by two watches. It would warn of
// a service whose IPAddress it has not seen yet or sees no more, and make the IPAddress again.
func (p *addressPool) waitHeadStart(ctx context.Context) error {
	if p.headStart == nil {
		return nil
	}
	if d := p.headStart(); d > 0 {
		return storage.Sleep(ctx, d)
	}
	return nil
}

// held returns the IPAddress that says that a service has an address, nil if somebody else has it,
// or nobody.
func (p *addressPool) addressHeldBy(ctx context.Context, ip netip.Addr, svc *corev1.Service) (*networkingv1.IPAddress, error) {
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

// giveBack deletes an IPAddress, and none that has come in its place. What fails is left to the
// repair.
func (p *addressPool) deleteAddress(ctx context.Context, a *networkingv1.IPAddress) {
	if addresses, err := p.addresses(); err == nil {
		_ = addresses.Delete(ctx, "", a.Name, false,
			&meta.DeleteOptions{Preconditions: &meta.Preconditions{UID: &a.UID}})
	}
}

// ranges returns the ranges of a family from which addresses are taken.
func (p *addressPool) ranges(ctx context.Context, family corev1.IPFamily) ([]iprange.Range, error) {
	all, err := p.rangesOf(ctx, func(c *networkingv1.ServiceCIDR) bool {
		return c.DeletionTimestamp == nil && rangesReady(c)
	})
	return slices.DeleteFunc(all, func(r iprange.Range) bool {
		return familyOf(r.Is4()) != family || !r.Is4() && r.Prefix.Bits() < 64
	}), err
}

// allRanges returns those that addresses of services may be from, too.
func (p *addressPool) allRanges(ctx context.Context) ([]iprange.Range, error) {
	return p.rangesOf(ctx, func(*networkingv1.ServiceCIDR) bool { return true })
}

// rangesOf returns the ranges of some ServiceCIDRs, those of DefaultServiceCIDR first; none if
// there cannot be IPAddresses.
func (p *addressPool) rangesOf(ctx context.Context, usable func(*networkingv1.ServiceCIDR) bool) ([]iprange.Range, error) {
	for _, name := range []string{"servicecidrs", "ipaddresses"} {
		if p.stores.Store(networkingResource(name)) == nil { // switched off
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

// rangesReady reports whether addresses may be taken from a ServiceCIDR. Without a condition they
// may: perhaps no controller runs.
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
