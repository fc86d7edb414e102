package core

import (
	"context"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// settle is told what became of a write, as the settle of registry.ReserveOf is.
type settle func(ctx context.Context, stored bool)

// reservation takes one sort of thing for services, as registry.ReserveOf says, and answers nil if nothing is to be settled. It
// sees a service whose allocated fields are complete: what an update leaves out is as it was.
type reservation func(ctx context.Context, r *registry.Request, svc, old *corev1.Service) (settle, error)

// reserveService makes the reservations of services, in their order, or none.
func reserveService(parts ...reservation) registry.ReserveOf[*corev1.Service] {
	return func(ctx context.Context, r *registry.Request, svc, old *corev1.Service) (func(context.Context, bool), error) {
		if svc != nil && old != nil {
			keepAllocated(svc, old)
		}
		if svc != nil {
			completeClusterIPs(svc, old)
		}
		var made []settle
		settleAll := func(ctx context.Context, stored bool) {
			for _, settle := range made {
				settle(ctx, stored)
			}
		}
		for _, reserve := range parts {
			settle, err := reserve(ctx, r, svc, old)
			if err != nil {
				settleAll(context.WithoutCancel(ctx), false)
				return nil, err
			}
			if settle != nil {
				made = append(made, settle)
			}
		}
		if len(made) == 0 {
			return nil, nil
		}
		return settleAll, nil
	}
}
