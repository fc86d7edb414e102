package registry

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage/cache"
)

// ListMemo lists the objects of a small resource for callers that ask at every write. It keeps the
// decoded objects, and decodes again only when an object has changed. All methods may be called at
// once.
type ListMemo[T meta.Object] struct {
	stores   Stores
	resource meta.GroupResource
	last     atomic.Pointer[listed[T]]
}

// listed is the decoded state of a resource. It is immutable.
type listed[T meta.Object] struct {
	encoded []*cache.Object
	objects []T
	hidden  map[string]error // by name: the errors of objects that cannot be read
}

// NewListMemo makes a ListMemo of a resource, whose hub type is T.
func NewListMemo[T meta.Object](stores Stores, resource meta.GroupResource) *ListMemo[T] {
	return &ListMemo[T]{stores: stores, resource: resource}
}

// List returns all objects that can be read, and none if the server does not have the resource.
// ReadYourWrites reads as Consistent does. The objects are shared, and must not be changed. The
// error is a *meta.StatusError.
func (m *ListMemo[T]) List(ctx context.Context, fresh request.Freshness) ([]T, error) {
	now, err := m.load(ctx, fresh)
	if err != nil {
		return nil, err
	}
	return now.objects, nil
}

// Hidden returns the error of reading the cluster-scoped object of a name, if List leaves it out
// because it cannot be read. It returns nil if there is no such object.
func (m *ListMemo[T]) Hidden(ctx context.Context, name string) error {
	now, err := m.load(ctx, request.Cached)
	if err != nil {
		return err
	}
	return now.hidden[name]
}

// load returns the present state: the last one, if it consists of the same entries of the cache.
// Two loads at once may both decode and store their states, of which either may be the older one.
// That costs the next load some work, and never gives it a stale answer.
func (m *ListMemo[T]) load(ctx context.Context, fresh request.Freshness) (*listed[T], error) {
	store := m.stores.Store(m.resource)
	if store == nil {
		return &listed[T]{}, nil
	}
	opts := cache.ListOptions{Prefix: store.root, Want: cache.Want{Match: cache.Any}, Corrupt: true}
	if fresh != request.Cached {
		opts.Want.Match = cache.Consistent
	}
	list, err := store.objects.List(ctx, opts)
	if err != nil {
		return nil, store.listError(err, 0)
	}
	last := m.last.Load()
	if last != nil && slices.Equal(last.encoded, list.Objects) {
		return last, nil
	}
	view, err := ViewOf[T](store)
	if err != nil {
		return nil, meta.NewInternalError(err)
	}
	next := &listed[T]{encoded: list.Objects, hidden: map[string]error{}}
	for _, enc := range list.Objects {
		obj, err := view.decodeCached(ctx, enc)
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
	m.last.Store(next)
	return next, nil
}

// decodeCached decodes an object of the cache. Its error is a *meta.StatusError, also for an entry
// that is marked as unreadable.
func (v View[T]) decodeCached(ctx context.Context, obj *cache.Object) (T, error) {
	if err := obj.Err(); err != nil {
		return *new(T), v.store.apiError(err, "")
	}
	return v.decode(ctx, obj)
}
