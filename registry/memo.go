package registry

import (
	"context"
	"sync/atomic"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// Memo reads one object as View.Read with ReadYourWrites does, and keeps a value that is computed
// from it. While the object keeps its revision, Get costs one lookup in the cache and decodes
// nothing. The object need not exist. All methods may be called at once.
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

// NewMemo makes a Memo of an object. The function of computes the value from the object; the value
// is shared between callers and must not refer to obj. NewMemo fails if no object can have the
// name.
func NewMemo[T meta.Object, V any](view View[T], namespace, name string, of func(obj T) *V) (*Memo[T, V], error) {
	key, err := view.store.key(namespace, name)
	if err != nil {
		return nil, err
	}
	return &Memo[T, V]{view: view, key: key, name: name, of: of}, nil
}

// Get returns the value that of computes from the object's current state. The error is a
// *meta.StatusError, a 404 if the object does not exist.
func (m *Memo[T, V]) Get(ctx context.Context) (*V, error) {
	obj, err := m.view.store.readKey(ctx, m.key, request.ReadYourWrites)
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
