package registry

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Derived keeps a value of type V that is made from all objects of a cluster-scoped resource, such
// as the index of webhook configurations, for callers that need it at every write. The value covers
// each write that this server has answered, and the writes of other servers that this server has
// seen. As long as nothing changes, Now costs a few atomic loads. All methods may be called at
// once.
type Derived[T meta.Object, V any] struct {
	stores   Stores
	resource meta.GroupResource
	build    func(objects []T) V
	now      atomic.Pointer[derivation[T, V]]
	mu       sync.Mutex // held while the value is built
}

// derivation is a value with the objects that it was built from. It is immutable.
type derivation[T meta.Object, V any] struct {
	at      Position
	objects map[string]T     // by name
	hidden  map[string]error // by name: why the object cannot be read
	value   V
}

// NewDerived returns a Derived of a resource, whose hub type is T. build makes the value of the
// objects, which are sorted by name, are shared, and must not be changed. An object that has not
// changed since the last call is at the same address, so that build can keep what it made of the
// object. One goroutine at a time calls build, and all callers of Now wait for it.
func NewDerived[T meta.Object, V any](
	stores Stores, resource meta.GroupResource, build func(objects []T) V,
) *Derived[T, V] {
	return &Derived[T, V]{stores: stores, resource: resource, build: build}
}

// Now returns the value. A server without the resource has no objects of it. Now fails if one of
// the objects cannot be read, because the value would lack something that is in force. The error is
// a *meta.StatusError.
func (d *Derived[T, V]) Now(ctx context.Context) (V, error) {
	store := d.stores.Store(d.resource)
	now := d.now.Load()
	if now == nil || store != nil && !store.Holds(now.at) {
		var err error
		if now, err = d.update(ctx, store); err != nil {
			return *new(V), err
		}
	}
	for _, err := range now.hidden {
		return *new(V), err
	}
	return now.value, nil
}

// update builds the value again if an object has changed. While the cache loads the objects again,
// because the watch of the store was lost, the last value stays in force.
func (d *Derived[T, V]) update(ctx context.Context, store *Store) (*derivation[T, V], error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	last := d.now.Load()
	switch {
	case store == nil && last != nil:
		return last, nil
	case store == nil:
		last = &derivation[T, V]{value: d.build(nil)}
		d.now.Store(last)
		return last, nil
	case last == nil:
		last = &derivation[T, V]{}
	case store.Holds(last.at), store.Reloads(last.at):
		return last, nil
	}
	next, err := last.next(ctx, store)
	if err != nil {
		return nil, err
	}
	sorted := make([]T, 0, len(next.objects))
	for _, name := range slices.Sorted(maps.Keys(next.objects)) {
		sorted = append(sorted, next.objects[name])
	}
	next.value = d.build(sorted)
	d.now.Store(next)
	return next, nil
}

// next reads what has changed since last, and decodes it. The result has no value yet.
func (last *derivation[T, V]) next(ctx context.Context, store *Store) (*derivation[T, V], error) {
	view, err := ViewOf[T](store)
	if err != nil {
		return nil, meta.NewInternalError(err)
	}
	changes, whole, at, err := store.ChangesSince(ctx, last.at, 0)
	if err != nil {
		return nil, err
	}
	next := &derivation[T, V]{at: at, objects: map[string]T{}, hidden: map[string]error{}}
	if !whole {
		maps.Copy(next.objects, last.objects)
		maps.Copy(next.hidden, last.hidden)
	}
	for _, change := range changes {
		delete(next.objects, change.Name)
		delete(next.hidden, change.Name)
		err := change.Err
		if change.Encoded != nil {
			next.objects[change.Name], err = view.decode(ctx, change.Encoded)
		}
		if err != nil {
			delete(next.objects, change.Name)
			next.hidden[change.Name] = err
		}
	}
	return next, nil
}
