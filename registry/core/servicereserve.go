package core

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// reservation takes one sort of thing for services, as registry.ReserveOf says, and answers nil if
// nothing is to be settled. It sees services that completeService has completed.
type reservation func(ctx context.Context, r *registry.Request, svc, old *corev1.Service) (admission.Settle, error)

// reserveService makes the reservations of services, or none. They are made, and settled, at the
// same time: each waits for the store, which syncs once what is written at once. So each may change
// only those fields of the service that are its own. If several fail, the client is told of the
// first.
func reserveService(f families, parts ...reservation) registry.ReserveOf[*corev1.Service] {
	return func(ctx context.Context, r *registry.Request, svc, old *corev1.Service) (admission.Settle, error) {
		if errs := completeService(f, svc, old); len(errs) > 0 {
			return nil, invalidService(svc, errs)
		}
		made, errs, given := make([]admission.Settle, len(parts)), make([]error, len(parts)), false
		settleAll := func(ctx context.Context, fate admission.Fate) {
			runAll(len(made), func(i int) {
				if made[i] != nil {
					made[i](ctx, fate)
				}
			})
		}
		defer func() {
			if !given { // what others have taken is not taken if one fails, or panics
				settleAll(context.WithoutCancel(ctx), admission.NotStored)
			}
		}()
		runAll(len(parts), func(i int) { made[i], errs[i] = parts[i](ctx, r, svc, old) })
		if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
			return nil, errs[i]
		}
		given = true
		if !slices.ContainsFunc(made, func(s admission.Settle) bool { return s != nil }) {
			return nil, nil
		}
		return settleAll, nil
	}
}

// together calls f with 0 to n-1 at the same time, and returns when all calls have. If one panics,
// so does together: it is the request that has failed, not the server.
func runAll(n int, f func(i int)) {
	var others sync.WaitGroup
	var panicked atomic.Value
	for i := 1; i < n; i++ {
		others.Go(func() {
			defer func() {
				if cause := recover(); cause != nil {
					panicked.Store(fmt.Sprintf("%v\n%s", cause, debug.Stack()))
				}
			}()
			f(i)
		})
	}
	if n > 0 {
		f(0)
	}
	others.Wait()
	if cause := panicked.Load(); cause != nil {
		panic(cause)
	}
}

// completeService fills in what follows from the service itself, from the old one and from what the
// cluster has. svc is nil when old goes. If something is wrong with it, that is all that the client
// is told.
func completeService(f families, svc, old *corev1.Service) field.ErrorList {
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

// takeEndpoints has the endpoints of a service's name go with it: else a service that comes by that
// name could be given them before whoever made them has seen that the old one is gone.
func takeEndpoints(stores registry.Stores) reservation {
	return func(_ context.Context, _ *registry.Request, svc, old *corev1.Service) (admission.Settle, error) {
		if svc != nil {
			return nil, nil
		}
		return func(ctx context.Context, fate admission.Fate) {
			endpoints, err := registry.ViewOf[*corev1.Endpoints](
				stores.Store(meta.GroupResource{Resource: "endpoints"}))
			if err == nil && fate == admission.Stored {
				_ = endpoints.Delete(ctx, old.Namespace, old.Name, false,
					&meta.DeleteOptions{}) // mostly there are none
			}
		}, nil
	}
}
