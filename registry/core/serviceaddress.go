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

// reserveAddresses takes the cluster IPs of services, and gives back what they have no more.
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

// addressChange is what a write changes in the addresses of a service.
type addressChange struct {
	pool     *addressPool
	dryRun   bool
	svc      *corev1.Service
	taken    []netip.Addr              // given back if the write is not stored
	released []*networkingv1.IPAddress // given back if it is
}

// settle gives back what the service does not have. In doubt it gives nothing back: the repair
// does.
func (c *addressChange) settle(ctx context.Context, fate admission.Fate) {
	switch fate {
	case admission.Stored:
		if len(c.released) > 0 {
			_ = c.pool.waitHeadStart(ctx) // it fails when ctx ends, which the rest tells, too
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

// give has addresses given back when the service no longer has them. Which IPAddresses these are is
// found out before that: as soon as it has happened, another service of the name may have one of
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

// plan takes what the service lacks, and finds out what it no longer has. What it has had it keeps;
// that it may not be changed is for others to say. One that was stored where nobody gave addresses
// gets them now.
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

// take takes an address for each family of the service from one on: the one that the client asks
// for, or any.
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

func (c *addressChange) takeOne(ctx context.Context, family corev1.IPFamily, asked string) (netip.Addr, error) {
	if asked == "" {
		return c.pool.takeAnyAddress(ctx, family, c.svc, c.dryRun)
	}
	ip, _ := names.ParseIP(asked, false) // checked
	return ip, c.pool.takeAddress(ctx, ip, family, c.svc, c.dryRun)
}

// explain says to the client why a service does not get an address.
func (c *addressChange) explain(err error, asked string) error {
	var failed *meta.StatusError
	switch {
	case errors.As(err, &failed) && !meta.IsInvalid(err): // of the store: the client has done nothing wrong
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

// lacksAddresses reports whether a service has no addresses, and did not refuse them.
func lacksAddresses(svc *corev1.Service) bool { return !isHeadless(svc) && len(addressesOf(svc)) == 0 }

// addressesOf are the addresses that a service has; zero for what is none.
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
