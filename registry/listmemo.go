package registry

import (
	"context"
	"slices"
	"sync"
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

// load returns the current state, and keeps it for the next call.
func (m *ListMemo[T]) load(ctx context.Context, fresh request.Freshness) (*listed[T], error) {
	store := m.stores.Store(m.resource)
	if store == nil {
		return &listed[T]{}, nil
	}
	last := m.last.Load()
	next, err := last.reload(ctx, store, store.root, fresh)
	if err != nil {
		return nil, err
	}
	if next == nil {
		return &listed[T]{}, nil
	}
	if next != last {
		m.last.Store(next)
	}
	return next, nil
}

// maxMemoNamespaces is the largest number of namespaces whose objects a NamespaceMemo keeps.
const maxMemoNamespaces = 4096

// NamespaceMemo lists the objects that a namespace has of a resource, for callers that ask at every
// write. A namespace has few objects of the resource or none, such as limit ranges. NamespaceMemo
// keeps the decoded objects of up to maxMemoNamespaces namespaces, and decodes again only when an
// object has changed. All methods may be called at once.
type NamespaceMemo[T meta.Object] struct {
	stores   Stores
	resource meta.GroupResource
	mu       sync.Mutex
	last     map[string]*listed[T] // by namespace; only namespaces with objects
}

// NewNamespaceMemo makes a NamespaceMemo of a namespaced resource, whose hub type is T.
func NewNamespaceMemo[T meta.Object](stores Stores, resource meta.GroupResource) *NamespaceMemo[T] {
	return &NamespaceMemo[T]{stores: stores, resource: resource, last: map[string]*listed[T]{}}
}

// List returns all objects of a namespace, sorted by name, and none if the server does not have the
// resource. ReadYourWrites reads as Consistent does. The objects are shared, and must not be
// changed. If an object cannot be read, List fails. The error is a *meta.StatusError.
func (m *NamespaceMemo[T]) List(ctx context.Context, namespace string, fresh request.Freshness) ([]T, error) {
	store := m.stores.Store(m.resource)
	if store == nil {
		return nil, nil
	}
	m.mu.Lock()
	last := m.last[namespace]
	m.mu.Unlock()
	next, err := last.reload(ctx, store, store.root+namespace+"/", fresh)
	if err != nil {
		return nil, err
	}
	if next == nil {
		return nil, nil
	}
	if next != last {
		m.keep(namespace, next)
	}
	for _, err := range next.hidden {
		return nil, err
	}
	return next.objects, nil
}

// keep keeps the state of a namespace for the next call.
func (m *NamespaceMemo[T]) keep(namespace string, next *listed[T]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(next.encoded) == 0 {
		delete(m.last, namespace)
		return
	}
	if len(m.last) >= maxMemoNamespaces {
		clear(m.last)
	}
	m.last[namespace] = next
}

// listed is the decoded state of a resource or of one namespace. It is immutable. A nil listed has
// no objects.
type listed[T meta.Object] struct {
	encoded []*cache.Object
	objects []T
	hidden  map[string]error // by name: the errors of objects that cannot be read
}

// state returns the encoded objects.
func (last *listed[T]) state() []*cache.Object {
	if last == nil {
		return nil
	}
	return last.encoded
}

// reload returns the state of the objects whose keys begin with prefix: last itself if no object
// has changed since.
func (last *listed[T]) reload(
	ctx context.Context, store *Store, prefix string, fresh request.Freshness,
) (*listed[T], error) {
	opts := cache.ListOptions{Prefix: prefix, Want: cache.Want{Match: cache.Any}, Corrupt: true}
	if fresh != request.Cached {
		opts.Want.Match = cache.Consistent
	}
	list, err := store.objects.List(ctx, opts)
	if err != nil {
		return nil, store.listError(err, 0)
	}
	if slices.Equal(last.state(), list.Objects) {
		return last, nil
	}
	view, err := ViewOf[T](store)
	if err != nil {
		return nil, meta.NewInternalError(err)
	}
	next := &listed[T]{encoded: list.Objects}
	for _, enc := range list.Objects {
		obj, err := view.decodeCached(ctx, enc)
		switch {
		case meta.IsUnreadable(err):
			if next.hidden == nil {
				next.hidden = map[string]error{}
			}
			_, name := store.split(enc.Key)
			next.hidden[name] = err
		case err != nil:
			return nil, err
		default:
			next.objects = append(next.objects, obj)
		}
	}
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
