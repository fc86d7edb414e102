package resourcequota

import (
	"context"
	"errors"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission/quota"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/coordinationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has Books, the quotas and the fence as the server stores them. The plugin and the
// recount (server/quotas) use the same Books.

// The fence is a Lease, which says when quotas were recounted. Clients can see it. If a client
// changes or deletes it, the writes that are under way are charged once more, and nothing else
// happens.
const (
	FenceNamespace = "kube-system"
	FenceName      = "resourcequota-recount"
)

// The resources that Books reads and writes.
var (
	quotaResource  = meta.GroupResource{Resource: "resourcequotas"}
	leaseResource  = meta.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	deviceClasses  = meta.GroupResource{Group: "resource.k8s.io", Resource: "deviceclasses"}
	resourceClaims = meta.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}
	podResource    = meta.GroupResource{Resource: "pods"}
)

// Books is the Ledger of a server. All methods may be called at once.
type Books struct {
	stores  registry.Stores
	quotas  *registry.NamespaceMemo[*corev1.ResourceQuota]
	classes *registry.ListMemo[*resourcev1.DeviceClass]
}

// NewBooks returns the Books over the resources of a server. The resources may be installed later.
func NewBooks(stores registry.Stores) *Books {
	return &Books{
		stores, registry.NewNamespaceMemo[*corev1.ResourceQuota](stores, quotaResource),
		registry.NewListMemo[*resourcev1.DeviceClass](stores, deviceClasses),
	}
}

// Quotas implements Ledger. It decodes quotas again only when they have changed.
func (b *Books) Quotas(
	ctx context.Context, namespace string, fresh request.Freshness,
) ([]*corev1.ResourceQuota, error) {
	return b.quotas.List(ctx, namespace, fresh)
}

// Update implements Ledger.
func (b *Books) Update(
	ctx context.Context, namespace, name string, fence Fence, change func(q *corev1.ResourceQuota) error,
) error {
	view, err := registry.ViewOf[*corev1.ResourceQuota](b.stores.Store(quotaResource))
	if err != nil {
		return meta.NewInternalError(err)
	}
	var own error // of change: the view wraps it
	_, err = view.UpdateFenced(ctx, namespace, name, registry.Fence(fence), func(q *corev1.ResourceQuota) error {
		own = change(q)
		return own
	})
	switch {
	case own != nil && err != nil:
		return own
	case errors.Is(err, registry.ErrFenced):
		return ErrFenced
	}
	return err
}

// Fence implements Ledger. It is the zero Fence, which always holds, if the server has no Leases or
// if its quotas are in a store of their own.
func (b *Books) Fence(ctx context.Context, fresh request.Freshness) (Fence, error) {
	if !b.Fences(quotaResource) {
		return Fence{}, nil
	}
	fence, err := b.stores.Store(leaseResource).FenceAt(ctx, FenceNamespace, FenceName, fresh)
	return Fence(fence), err
}

// Fences implements Ledger. It is false if Leases, quotas and the resource are not in one store.
func (b *Books) Fences(resource meta.GroupResource) bool {
	leases := b.stores.Store(leaseResource)
	for _, gr := range []meta.GroupResource{quotaResource, resource} {
		if store := b.stores.Store(gr); leases == nil || store == nil || !store.SharesStore(leases) {
			return false
		}
	}
	return true
}

// Raise raises the fence and returns it. Every write that was charged before and is not stored yet
// will not be stored.
func (b *Books) Raise(ctx context.Context, holder string) (Fence, error) {
	if !b.Fences(quotaResource) {
		return Fence{}, nil
	}
	store := b.stores.Store(leaseResource)
	leases, err := registry.ViewOf[*coordinationv1.Lease](store)
	if err != nil {
		return Fence{}, meta.NewInternalError(err)
	}
	now := meta.MicroTime{Time: time.Now()}
	_, err = leases.Update(ctx, FenceNamespace, FenceName, false, func(l *coordinationv1.Lease) error {
		l.Spec.HolderIdentity, l.Spec.RenewTime = &holder, &now
		return nil
	})
	if meta.IsNotFound(err) {
		l := &coordinationv1.Lease{}
		l.Namespace, l.Name = FenceNamespace, FenceName
		l.Spec.HolderIdentity, l.Spec.RenewTime = &holder, &now
		err = leases.Create(ctx, l)
	}
	if err != nil {
		return Fence{}, err
	}
	fence, err := store.FenceAt(ctx, FenceNamespace, FenceName, request.Consistent)
	return Fence(fence), err
}

// Surroundings implements Ledger. Its functions read objects only when they are called.
func (b *Books) Surroundings(ctx context.Context) quota.Surroundings {
	return quota.Surroundings{
		Now: time.Now(),
		Classes: func() []*resourcev1.DeviceClass {
			list, err := b.classes.List(ctx, request.Cached)
			if err != nil {
				return nil
			}
			return list
		},
		Pod: func(namespace, name string) *corev1.Pod {
			pod, err := registry.Read[*corev1.Pod](ctx, b.stores, podResource, namespace, name, request.Cached)
			if err != nil {
				return nil
			}
			return pod
		},
		Claims: func(namespace string, _ meta.UID) ([]*resourcev1.ResourceClaim, bool) {
			view, err := registry.ViewOf[*resourcev1.ResourceClaim](b.stores.Store(resourceClaims))
			if err != nil {
				return nil, true
			}
			list, err := view.List(ctx, namespace)
			return list, err == nil
		},
	}
}
