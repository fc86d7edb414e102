package registry

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage/cache"
)

// Known has the objects of a small resource at hand, decoded, for those who ask at every write: they are decoded when they
// change. All methods may be called at once.
type Known[T meta.Object] struct {
	stores   Stores
	resource meta.GroupResource
	last     atomic.Pointer[known[T]]
}

// known is a state of a resource.
type known[T meta.Object] struct {
	encoded []*cache.Object
	objects []T
}

// KnownOf returns what is known of a resource, whose hub type is T.
func KnownOf[T meta.Object](stores Stores, resource meta.GroupResource) *Known[T] {
	return &Known[T]{stores: stores, resource: resource}
}

// List returns all objects, none if there is no such resource: as the cache has them, or, if consistent, with all that was written
// before. They are shared and not to be changed. The error is a *meta.StatusError.
func (k *Known[T]) List(ctx context.Context, consistent bool) ([]T, error) {
	store := k.stores.Store(k.resource)
	if store == nil {
		return nil, nil
	}
	opts := cache.ListOptions{Prefix: store.root, Want: cache.Want{Match: cache.Any}}
	if consistent {
		opts.Want.Match = cache.Consistent
	}
	list, err := store.objects.List(ctx, opts)
	if err != nil {
		return nil, store.listError(err, 0)
	}
	last := k.last.Load()
	if last != nil && slices.Equal(last.encoded, list.Objects) {
		return last.objects, nil
	}
	view, err := ViewOf[T](store)
	if err != nil {
		return nil, meta.NewInternalError(err)
	}
	next := &known[T]{encoded: list.Objects, objects: make([]T, len(list.Objects))}
	for i, enc := range list.Objects {
		if next.objects[i], err = view.decode(ctx, enc); err != nil {
			return nil, err
		}
	}
	k.last.Store(next)
	return next.objects, nil
}
