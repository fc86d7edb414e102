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
	hidden  map[string]error // by name: objects that cannot be read
}

// KnownOf returns what is known of a resource, whose hub type is T.
func KnownOf[T meta.Object](stores Stores, resource meta.GroupResource) *Known[T] {
	return &Known[T]{stores: stores, resource: resource}
}

// List returns all objects that can be read, none if there is no such resource: as the cache has
// them, or, if consistent, with all that was written before. They are shared and not to be changed.
// The error is a *meta.StatusError.
func (k *Known[T]) List(ctx context.Context, consistent bool) ([]T, error) {
	now, err := k.load(ctx, consistent)
	if err != nil {
		return nil, err
	}
	return now.objects, nil
}

// Hidden returns why there is an object of a name, outside of namespaces, that List does not
// return: it cannot be read. It is nil if there is no such object as the cache has it.
func (k *Known[T]) Hidden(ctx context.Context, name string) error {
	now, err := k.load(ctx, false)
	if err != nil {
		return err
	}
	return now.hidden[name]
}

func (k *Known[T]) load(ctx context.Context, consistent bool) (*known[T], error) {
	store := k.stores.Store(k.resource)
	if store == nil {
		return &known[T]{}, nil
	}
	opts := cache.ListOptions{Prefix: store.root, Want: cache.Want{Match: cache.Any}, Corrupt: true}
	if consistent {
		opts.Want.Match = cache.Consistent
	}
	list, err := store.objects.List(ctx, opts)
	if err != nil {
		return nil, store.listError(err, 0)
	}
	last := k.last.Load()
	if last != nil && slices.Equal(last.encoded, list.Objects) {
		return last, nil
	}
	view, err := ViewOf[T](store)
	if err != nil {
		return nil, meta.NewInternalError(err)
	}
	next := &known[T]{encoded: list.Objects, hidden: map[string]error{}}
	for _, enc := range list.Objects {
		obj, err := view.known(ctx, enc)
		switch {
		case meta.IsUnreadable(err):
			_, name := store.split(enc.Key)
			next.hidden[name] = err
		case err != nil:
			return nil, err
		default:
			next.objects = append(next.objects, obj)
		}
	}
	k.last.Store(next)
	return next, nil
}

// known decodes an object of the cache, which it may be impossible to read.
func (v View[T]) known(ctx context.Context, obj *cache.Object) (T, error) {
	if err := obj.Err(); err != nil {
		return *new(T), v.store.apiError(err, "")
	}
	return v.decode(ctx, obj)
}
