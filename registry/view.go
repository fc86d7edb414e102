package registry

import (
	"context"
	"fmt"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// View reads the objects of a Store as values of their own type T, in process: for admission plugins, controllers and
// handlers. Reads see every write that ended before they began. The caller owns what it gets.
type View[T meta.Object] struct{ store *Store }

// ViewOf makes a View. It is an error if there is no store, or if T is not the hub type of its kind.
func ViewOf[T meta.Object](s *Store) (View[T], error) {
	if s == nil {
		return View[T]{}, fmt.Errorf("registry: a view of %T, but the server has no such resource", *new(T))
	}
	obj := s.kind.New()
	if _, ok := obj.(T); !ok {
		return View[T]{}, fmt.Errorf("registry: a view of %s as %T, but the hub type is %T", s.res.GroupResource, *new(T), obj)
	}
	return View[T]{s}, nil
}

// Get returns one object. namespace is "" for kinds without. Errors are a *meta.StatusError.
func (v View[T]) Get(ctx context.Context, namespace, name string) (T, error) {
	enc, err := v.store.Get(ctx, namespace, name, "")
	if err != nil {
		return *new(T), err
	}
	return v.decode(ctx, enc)
}

// List returns the objects of a namespace, or all with namespace "", by namespace and name.
func (v View[T]) List(ctx context.Context, namespace string) ([]T, error) {
	list, err := v.store.List(ctx, &request.ListRequest{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	objects := make([]T, 0, list.Len)
	for enc := range list.Items {
		obj, err := v.decode(ctx, enc)
		if err != nil {
			return nil, err
		}
		objects = append(objects, obj)
	}
	return objects, nil
}

func (v View[T]) decode(ctx context.Context, enc request.Encoded) (T, error) {
	obj, err := v.store.Decode(ctx, enc)
	if err != nil {
		return *new(T), err
	}
	return obj.(T), nil
}
