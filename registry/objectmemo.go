package registry

import (
	"context"
	"sync"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// maxMemoObjects is the largest number of objects that an ObjectMemo keeps.
const maxMemoObjects = 4096

// ObjectMemo reads objects of a resource by name, for callers that ask for few of them at many
// writes, such as the service accounts of pods. It keeps up to maxMemoObjects decoded objects, and
// decodes an object again only when it has changed. All methods may be called at once.
type ObjectMemo[T meta.Object] struct {
	stores   Stores
	resource meta.GroupResource
	mu       sync.Mutex
	last     map[string]decodedObject[T] // by key
}

type decodedObject[T meta.Object] struct {
	rev    storage.Revision
	object T
}

// NewObjectMemo makes an ObjectMemo of a resource, whose hub type is T.
func NewObjectMemo[T meta.Object](stores Stores, resource meta.GroupResource) *ObjectMemo[T] {
	return &ObjectMemo[T]{stores: stores, resource: resource, last: map[string]decodedObject[T]{}}
}

// Get returns an object, which is shared and must not be changed. If the server does not have the
// resource, there is no such object. The error is a *meta.StatusError.
func (m *ObjectMemo[T]) Get(ctx context.Context, namespace, name string, fresh request.Freshness) (T, error) {
	var none T
	store := m.stores.Store(m.resource)
	if store == nil {
		return none, meta.NewNotFound(m.resource, name)
	}
	enc, err := store.read(ctx, namespace, name, fresh)
	if err != nil {
		return none, err
	}
	m.mu.Lock()
	last, ok := m.last[enc.Key]
	m.mu.Unlock()
	if ok && last.rev == enc.Rev {
		return last.object, nil
	}
	view, err := ViewOf[T](store)
	if err != nil {
		return none, meta.NewInternalError(err)
	}
	obj, err := view.decodeCached(ctx, enc)
	if err != nil {
		return none, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.last) >= maxMemoObjects {
		clear(m.last)
	}
	m.last[enc.Key] = decodedObject[T]{enc.Rev, obj}
	return obj, nil
}
