package core

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file is the reservation of cluster IPs: which addresses a write takes for its service and
// which it gives back. services passes reserveAddresses to reserveService; addressPool does the
// work.

// reserveAddresses takes the cluster IPs that a service lacks. It gives back those that the service
// no longer has, once the write is stored.
func reserveAddresses(pool *addressPool) reservation {
	return func(ctx context.Context, r *registry.Request, svc, old *corev1.Service) (admission.Settle, error) {
		c := addressChange{pool: pool, dryRun: r.DryRun, svc: svc}
		if svc == nil {
			c.svc = old
			return c.settle, c.planRelease(ctx, addressesOf(old))
		}
		if err := c.plan(ctx, old); err != nil {
			c.settle(context.WithoutCancel(ctx), admission.NotStored)
			return nil, err
		}
		if len(c.taken)+len(c.released) == 0 {
			return nil, nil
		}
		return c.settle, nil
	}
}

// addressChange is the change of a service's addresses by one try of a write.
type addressChange struct {
	pool     *addressPool
	dryRun   bool
	svc      *corev1.Service           // the new object; the old one in a deletion
	taken    []netip.Addr              // given back if the write is not stored
	released []*networkingv1.IPAddress // given back if the write is stored
}

// settle gives back what the service does not have after the write. If the fate is in doubt, it
// gives back nothing: AddressRepair decides later by what is stored.
func (c *addressChange) settle(ctx context.Context, fate admission.Fate) {
	switch fate {
	case admission.Stored:
		if len(c.released) > 0 {
			_ = c.pool.waitHeadStart(ctx) // an error is the end of ctx, which the deletions report as well
		}
		for _, a := range c.released {
			c.pool.deleteAddress(ctx, a)
		}
	case admission.NotStored:
		for _, ip := range c.taken {
			if a, err := c.pool.addressHeldBy(ctx, ip, c.svc); err == nil && a != nil {
				c.pool.deleteAddress(ctx, a)
			}
		}
	}
}

// planRelease notes the IPAddresses that are given back if the write is stored. They are read
// before the write, with their UIDs: right after it, a new service of the same name may hold one of
// the addresses.
func (c *addressChange) planRelease(ctx context.Context, list []netip.Addr) error {
	for _, ip := range list {
		a, err := c.pool.addressHeldBy(ctx, ip, c.svc)
		if err != nil {
			return err
		}
		if a != nil {
			c.released = append(c.released, a)
		}
	}
	return nil
}

// plan takes what the service lacks and notes what it no longer has. Three changes matter:
//   - The service is new, or has no address yet: it takes one for each family. Objects that were
//     stored by a server without addresses get theirs here.
//   - It becomes an ExternalName: it releases all.
//   - A second family comes or goes: it takes or releases the second address.
//
// Any other service keeps its addresses. clusterIPsUpdate checks that the client does not change
// them.
func (c *addressChange) plan(ctx context.Context, old *corev1.Service) error {
	svc := c.svc
	switch {
	case old == nil || lacksAddresses(old):
		if usesClusterIP(svc) && !isHeadless(svc) {
			return c.takeFamilies(ctx, 0)
		}
	case keepsDualStack(svc, old), isHeadless(old):
	case !usesClusterIP(svc):
		return c.planRelease(ctx, addressesOf(old))
	case len(old.Spec.IPFamilies) == 1 && len(svc.Spec.IPFamilies) == 2:
		return c.takeFamilies(ctx, 1)
	case len(old.Spec.IPFamilies) == 2 && len(svc.Spec.IPFamilies) == 1:
		if all := addressesOf(old); len(all) > 1 {
			return c.planRelease(ctx, all[1:])
		}
	}
	return nil
}

// takeFamilies takes an address for each family of the service, from index from on: the one that
// the client asks for, or any. Then it waits the head start that IPAddresses have before their
// service.
func (c *addressChange) takeFamilies(ctx context.Context, from int) error {
	spec := &c.svc.Spec
	for len(spec.ClusterIPs) < len(spec.IPFamilies) {
		spec.ClusterIPs = append(spec.ClusterIPs, "")
	}
	for i := from; i < len(spec.IPFamilies); i++ {
		ip, err := c.takeOne(ctx, spec.IPFamilies[i], spec.ClusterIPs[i])
		if err != nil {
			return c.explain(err, spec.ClusterIPs[i])
		}
		if !c.dryRun {
			c.taken = append(c.taken, ip)
		}
		if spec.ClusterIPs[i] == "" {
			spec.ClusterIPs[i] = ip.String()
		}
	}
	spec.ClusterIP = spec.ClusterIPs[0]
	if len(c.taken) == 0 {
		return nil
	}
	return c.pool.waitHeadStart(ctx)
}

// takeOne takes the address asked, or any if asked is "".
func (c *addressChange) takeOne(ctx context.Context, family corev1.IPFamily, asked string) (netip.Addr, error) {
	if asked == "" {
		return c.pool.takeAnyAddress(ctx, family, c.svc, c.dryRun)
	}
	ip, _ := names.ParseIP(asked, false) // checkClusterIPs has parsed it
	return ip, c.pool.takeAddress(ctx, ip, family, c.svc, c.dryRun)
}

// explain turns an error of addressPool into the answer to the client. A full range is an internal
// error (500), any other reason is the client's (422), as in Kubernetes.
func (c *addressChange) explain(err error, asked string) error {
	var failed *meta.StatusError
	switch {
	case errors.As(err, &failed) && !meta.IsInvalid(err): // of the store: the client did nothing wrong
		return err
	case err == errFull:
		return meta.NewInternalError(fmt.Errorf("failed to allocate a serviceIP for Service %q: %w", c.svc.Name, err))
	}
	what := "failed to allocate IP: "
	if asked != "" {
		what = "failed to allocate IP " + asked + ": "
	}
	return invalidService(c.svc, field.ErrorList{field.Invalid(
		field.NewPath("spec", "clusterIPs"), c.svc.Spec.ClusterIPs, what+err.Error())})
}

// lacksAddresses reports whether a service has no addresses although it did not refuse them.
func lacksAddresses(svc *corev1.Service) bool { return !isHeadless(svc) && len(addressesOf(svc)) == 0 }

// addressesOf returns the cluster IPs of a service, in order. A text that is no address yields the
// zero address, so that indexes stay those of clusterIPs.
func addressesOf(svc *corev1.Service) []netip.Addr {
	if !usesClusterIP(svc) || isHeadless(svc) {
		return nil
	}
	list := make([]netip.Addr, len(svc.Spec.ClusterIPs))
	for i, text := range svc.Spec.ClusterIPs {
		list[i], _ = names.ParseIP(text, false)
	}
	return list
}
