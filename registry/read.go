package registry

import (
	"context"
	"errors"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// This file reads one object in process, as fresh as the caller says. The forms differ only in what
// they return: Store.Read the encoded object, View.Read and Read the decoded one, View.Exists
// whether there is one, Store.Selectable what selectors see of it, Memo.Get what was made of the
// revision that was read last. What clients ask for, with a resourceVersion, is Store.Get.

// Read returns one object as it is encoded. It is shared. The error is a *meta.StatusError.
func (s *Store) Read(ctx context.Context, namespace, name string, fresh request.Freshness) (request.Encoded, error) {
	obj, err := s.read(ctx, namespace, name, fresh)
	if err != nil {
		return nil, err
	}
	if s.project != nil {
		return s.present(ctx, obj, ToRead)
	}
	return obj, nil
}

func (s *Store) read(ctx context.Context, namespace, name string, fresh request.Freshness) (*cache.Object, error) {
	key, err := s.key(namespace, name)
	if err != nil {
		return nil, err
	}
	obj, err := s.readKey(ctx, key, fresh)
	if err != nil {
		return nil, s.apiError(err, name)
	}
	return obj, nil
}

// readKey reads the object at a key. Errors are those of the cache.
func (s *Store) readKey(ctx context.Context, key string, fresh request.Freshness) (*cache.Object, error) {
	switch fresh {
	case request.Cached:
		return s.objects.Get(ctx, key, cache.Want{Match: cache.Any})
	case request.ReadYourWrites:
		obj, err := s.objects.Get(ctx, key, cache.Want{Match: cache.Own})
		if !errors.Is(err, storage.NotFound) {
			return obj, err
		}
	}
	return s.objects.Get(ctx, key, cache.Want{Match: cache.Consistent})
}

// Read returns one object. namespace is "" for kinds without.
func (v View[T]) Read(ctx context.Context, namespace, name string, fresh request.Freshness) (T, error) {
	enc, err := v.store.Read(ctx, namespace, name, fresh)
	if err != nil {
		return *new(T), err
	}
	return v.decode(ctx, enc)
}

// Exists reports whether there is an object of a name. It is an error if the object cannot be read.
func (v View[T]) Exists(ctx context.Context, namespace, name string, fresh request.Freshness) (bool, error) {
	key, err := v.store.key(namespace, name)
	if err != nil {
		return false, err
	}
	_, err = v.store.readKey(ctx, key, fresh)
	if errors.Is(err, storage.NotFound) { // a *meta.StatusError, which nobody sees, would cost more than the read
		return false, nil
	}
	return err == nil, v.store.apiError(err, name)
}

// Read returns one object of a resource, which the caller owns. If the server does not have the
// resource, there is no such object. The error is a *meta.StatusError.
func Read[T meta.Object](
	ctx context.Context, stores Stores, gr meta.GroupResource, namespace, name string, fresh request.Freshness,
) (T, error) {
	store := stores.Store(gr)
	if store == nil {
		return *new(T), meta.NewNotFound(gr, name)
	}
	view, err := ViewOf[T](store)
	if err != nil {
		return *new(T), meta.NewInternalError(err)
	}
	return view.Read(ctx, namespace, name, fresh)
}
