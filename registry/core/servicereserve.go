package core

import (
	"context"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// settle is told what became of a write, as the settle of registry.ReserveOf is.
type settle func(ctx context.Context, stored bool)

// reservation takes one sort of thing for services, as registry.ReserveOf says, and answers nil if nothing is to be settled. It
// sees services that completeService has completed.
type reservation func(ctx context.Context, r *registry.Request, svc, old *corev1.Service) (settle, error)

// reserveService makes the reservations of services, in their order, or none.
func reserveService(f families, parts ...reservation) registry.ReserveOf[*corev1.Service] {
	return func(ctx context.Context, r *registry.Request, svc, old *corev1.Service) (func(context.Context, bool), error) {
		if errs := completeService(f, svc, old); len(errs) > 0 {
			return nil, invalidService(svc, errs)
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

// completeService fills in what follows from the service itself, from the old one and from what the cluster has. svc is nil when
// old goes. If something is wrong with it, that is all that the client is told.
func completeService(f families, svc, old *corev1.Service) field.ErrorList {
	if old != nil {
		f.completeOld(old)
	}
	if svc == nil {
		return nil
	}
	if old != nil {
		keepAllocated(svc, old)
	}
	completeClusterIPs(svc, old)
	return f.complete(svc, old)
}

func invalidService(svc *corev1.Service, errs field.ErrorList) error {
	return meta.NewInvalid(meta.GroupKind{Kind: "Service"}, svc.Name, errs)
}

// takeEndpoints has the endpoints of a service's name go with it: else a service that comes by that name could be given them before
// whoever made them has seen that the old one is gone.
func takeEndpoints(stores registry.Stores) reservation {
	return func(_ context.Context, _ *registry.Request, svc, old *corev1.Service) (settle, error) {
		if svc != nil {
			return nil, nil
		}
		return func(ctx context.Context, stored bool) {
			endpoints, err := registry.ViewOf[*corev1.Endpoints](stores.Store(meta.GroupResource{Resource: "endpoints"}))
			if err == nil && stored {
				_ = endpoints.Delete(ctx, old.Namespace, old.Name, false, &meta.DeleteOptions{}) // mostly there are none
			}
		}, nil
	}
}
