package registry

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// Memo keeps what somebody wants to know of one object, which need not exist, for the revision of it that was seen last: asking again
// costs a look at the cache, and no decoding. It asks no store, unless there is no such object here: then it may have been made
// elsewhere. What this server itself has written or deleted counts at once, what others have when it arrives here. All methods may
// be called at once.
type Memo[T meta.Object, V any] struct {
	view      View[T]
	key, name string
	of        func(obj T) *V
	last      atomic.Pointer[memoized[V]]
}

type memoized[V any] struct {
	rev   storage.Revision
	value *V
}

// NewMemo makes a Memo of an object. What of returns is shared, and must not refer to obj. The error says that the name can be that of no
// object.
func NewMemo[T meta.Object, V any](view View[T], namespace, name string, of func(obj T) *V) (*Memo[T, V], error) {
	key, err := view.store.key(namespace, name)
	if err != nil {
		return nil, err
	}
	return &Memo[T, V]{view: view, key: key, name: name, of: of}, nil
}

// Get returns what is to be known of the object as it is now.
func (m *Memo[T, V]) Get(ctx context.Context) (*V, error) {
	objects := m.view.store.objects
	obj, err := objects.Get(ctx, m.key, cache.Want{Match: cache.Own})
	if errors.Is(err, storage.NotFound) {
		obj, err = objects.Get(ctx, m.key, cache.Want{})
	}
	if err != nil {
		m.last.Store(nil)
		return nil, m.view.store.apiError(err, m.name)
	}
	if last := m.last.Load(); last != nil && last.rev == obj.Rev {
		return last.value, nil
	}
	decoded, err := m.view.decode(ctx, obj)
	if err != nil {
		return nil, err
	}
	now := &memoized[V]{obj.Rev, m.of(decoded)}
	m.last.Store(now)
	return now.value, nil
}
