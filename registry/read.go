package registry

import (
	"context"
	"errors"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// This file reads one object in process, as fresh as the caller says. The functions differ only in
// their result: Store.Read returns the encoded object, View.Read and Read the decoded one,
// View.Exists whether it exists, Store.Selectable its labels and fields, Memo.Get a value that is
// kept with its revision. Reads of clients, with a resourceVersion, are Store.Get.

// Read returns one object encoded as it is stored. It is shared and must not be changed. The error
// is a *meta.StatusError.
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

// readKey reads the object at a key. Errors are those of the cache. With ReadYourWrites, an object
// that the cache does not have is looked up in the store, because another server may just have
// created it.
func (s *Store) readKey(ctx context.Context, key string, fresh request.Freshness) (*cache.Object, error) {
	switch fresh {
	case request.Cached:
		return s.objects.Get(ctx, key, cache.Want{Match: cache.Any})
	case request.ReadYourWrites:
		obj, err := s.objects.Get(ctx, key, cache.Want{Match: cache.OwnWrites})
		if !errors.Is(err, storage.NotFound) {
			return obj, err
		}
	}
	return s.objects.Get(ctx, key, cache.Want{Match: cache.Consistent})
}

// Read returns one object, which the caller owns. namespace is "" for cluster-scoped kinds.
func (v View[T]) Read(ctx context.Context, namespace, name string, fresh request.Freshness) (T, error) {
	enc, err := v.store.Read(ctx, namespace, name, fresh)
	if err != nil {
		return *new(T), err
	}
	return v.decode(ctx, enc)
}

// Exists reports whether an object exists. It fails if the object exists but cannot be read.
func (v View[T]) Exists(ctx context.Context, namespace, name string, fresh request.Freshness) (bool, error) {
	key, err := v.store.key(namespace, name)
	if err != nil {
		return false, err
	}
	_, err = v.store.readKey(ctx, key, fresh)
	if errors.Is(err, storage.NotFound) { // making a *meta.StatusError costs more than the read
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
