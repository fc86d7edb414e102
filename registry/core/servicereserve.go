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

// reservation takes one sort of thing for services: addresses, ports or endpoints. It follows the
// law of registry.ReserveOf and may return a nil Settle if nothing is to be settled. The services
// that it sees went through completeService.
type reservation func(ctx context.Context, r *registry.Request, svc, old *corev1.Service) (admission.Settle, error)

// reserveService combines reservations into the Reserve of services: all of them are made, or none.
// They are made and settled at the same time, because each waits for the store, and the store syncs
// concurrent writes together. So each reservation may change only fields of the service that no
// other reads. If several fail, the client gets the error of the first in the list.
func reserveService(f families, parts ...reservation) registry.ReserveOf[*corev1.Service] {
	return func(ctx context.Context, r *registry.Request, svc, old *corev1.Service) (admission.Settle, error) {
		if errs := completeService(f, svc, old); len(errs) > 0 {
			return nil, invalidService(svc, errs)
		}
		made, errs, allMade := make([]admission.Settle, len(parts)), make([]error, len(parts)), false
		settleAll := func(ctx context.Context, fate admission.Fate) {
			runAll(len(made), func(i int) {
				if made[i] != nil {
					made[i](ctx, fate)
				}
			})
		}
		// If one reservation fails or panics, the others are released.
		defer func() {
			if !allMade {
				settleAll(context.WithoutCancel(ctx), admission.NotStored)
			}
		}()
		runAll(len(parts), func(i int) { made[i], errs[i] = parts[i](ctx, r, svc, old) })
		if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
			return nil, errs[i]
		}
		allMade = true
		if !slices.ContainsFunc(made, func(s admission.Settle) bool { return s != nil }) {
			return nil, nil
		}
		return settleAll, nil
	}
}

// runAll calls f with 0 to n-1 at the same time, and returns when all calls have returned. If a
// call panics, runAll panics in the caller's goroutine: the panic then ends one request, not the
// process.
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

// completeService fills in what follows from the service itself, from old, and from the families of
// the cluster. svc is nil if old is deleted. Its errors end the write: the client gets no others.
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

// invalidService returns the answer 422 for errors of a service.
func invalidService(svc *corev1.Service, errs field.ErrorList) error {
	return meta.NewInvalid(meta.GroupKind{Kind: "Service"}, svc.Name, errs)
}

// takeEndpoints deletes the endpoints of a service with the service. Otherwise a new service of the
// same name could get these endpoints before their controller has seen that the old service is
// gone.
func takeEndpoints(stores registry.Stores) reservation {
	return func(_ context.Context, _ *registry.Request, svc, old *corev1.Service) (admission.Settle, error) {
		if svc != nil {
			return nil, nil
		}
		return func(ctx context.Context, fate admission.Fate) {
			endpoints, err := registry.ViewOf[*corev1.Endpoints](
				stores.Store(meta.GroupResource{Resource: "endpoints"}))
			if err == nil && fate == admission.Stored {
				// The usual error is NotFound: few services have Endpoints when they are deleted.
				_ = endpoints.Delete(ctx, old.Namespace, old.Name, false, &meta.DeleteOptions{})
			}
		}, nil
	}
}
