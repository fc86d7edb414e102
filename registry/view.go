package registry

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// This file has View, through which the server itself reads and writes objects of a resource as Go
// values. Actions and parts of the server, such as server/addresses, use it. Reads of one object
// are in read.go.

// View reads and writes the objects of a Store as values of their hub type T, in process. Lists are
// request.Consistent; Read (read.go) is as fresh as its caller says. The caller owns the objects
// that it gets. Writes are the server's own: admission is not asked, because it was asked about the
// request that led to them. Errors are a *meta.StatusError. All methods may be called at once.
type View[T meta.Object] struct{ store *Store }

// ViewOf makes a View. It fails if s is nil, or if T is not the hub type of its kind.
func ViewOf[T meta.Object](s *Store) (View[T], error) {
	if s == nil {
		return View[T]{}, fmt.Errorf("registry: a view of %T, but the server has no such resource", *new(T))
	}
	obj := s.kind.New()
	if _, ok := obj.(T); !ok {
		return View[T]{}, fmt.Errorf(
			"registry: a view of %s as %T, but the hub type is %T", s.res.GroupResource, *new(T), obj,
		)
	}
	return View[T]{s}, nil
}

// List returns the objects of a namespace, or of all namespaces if namespace is "", sorted by
// namespace and name.
func (v View[T]) List(ctx context.Context, namespace string) ([]T, error) {
	var objects []T
	for obj, err := range v.All(ctx, namespace) {
		if err != nil {
			return nil, err
		}
		objects = append(objects, obj)
	}
	return objects, nil
}

// All yields the objects that List returns, one by one, so that only one is decoded at a time.
// After an error it yields nothing more.
func (v View[T]) All(ctx context.Context, namespace string) iter.Seq2[T, error] {
	return v.Labelled(ctx, namespace, nil)
}

// Labelled yields the objects whose labels match, as All does.
func (v View[T]) Labelled(ctx context.Context, namespace string, labels meta.LabelRequirements) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		lenient := meta.ShowsUnread(ctx)
		list, err := v.store.List(ctx, &request.ListRequest{Namespace: namespace, Labels: labels})
		if err != nil {
			yield(*new(T), err)
			return
		}
		for enc := range list.Items {
			obj, err := v.decode(ctx, enc)
			if !yield(obj, err) || err != nil && !(lenient && meta.IsUnreadable(err)) {
				return
			}
		}
	}
}

// Each yields objects as All does, but goes on after an object that cannot be read: it yields an
// error for that object, for which meta.IsUnreadable is true.
func (v View[T]) Each(ctx context.Context, namespace string) iter.Seq2[T, error] {
	return v.All(meta.WithUnread(ctx), namespace)
}

// Names returns the names of the objects of a namespace, or of all namespaces if namespace is "",
// and their number. It decodes nothing.
func (v View[T]) Names(ctx context.Context, namespace string) (int, iter.Seq[string], error) {
	list, err := v.store.List(ctx, &request.ListRequest{Namespace: namespace})
	if err != nil {
		return 0, nil, err
	}
	return list.Len, func(yield func(string) bool) {
		for item := range list.Items {
			if _, name := v.store.NameOf(item); !yield(name) {
				return
			}
		}
	}, nil
}

// ServerManager is the field manager of writes that the server itself makes.
const ServerManager = "coracle"

// Create stores a new object through the write pipeline, with ServerManager as the field manager.
// obj is not changed.
func (v View[T]) Create(ctx context.Context, obj T) error {
	_, err := v.store.Create(ctx, &request.Write{
		Namespace: obj.GetObjectMeta().Namespace, Manager: ServerManager, Options: &meta.CreateOptions{},
		Admitted: true,
		Change:   func(context.Context, request.Current) (meta.Typed, error) { return scheme.Copy(obj), nil },
	})
	return err
}

// Update calls change with the current object and stores the result. If another writer was faster,
// it calls change again with the newer object. It bypasses the strategy: the change is neither
// prepared nor validated, does not count as a generation, and records no owner of the fields that
// it sets. An error of change ends it. With dryRun nothing is stored. The result is the changed
// object with its new resourceVersion.
func (v View[T]) Update(ctx context.Context, namespace, name string, dryRun bool, change func(obj T) error) (T, error) {
	obj, err := v.update(ctx, namespace, name, cache.UpdateOptions{DryRun: dryRun}, change)
	return obj, v.store.apiError(err, name)
}

// Fence is a key in the store with the revision that it must still have when a write is stored, 0
// if it must not exist: see storage.Fence.
type Fence struct {
	Key      string
	Revision uint64
}

// SharesStore reports whether the objects of two Stores are in one store, so that their revisions
// compare, and a fence in one of them holds for the other.
func (s *Store) SharesStore(other *Store) bool { return s.objects.SharesStore(other.objects) }

// ErrFenced is the error of UpdateFenced if the fence does not have its revision.
var ErrFenced = errors.New("registry: the fence does not have its revision")

// FenceAt returns the fence of an object at its present revision. The object need not exist.
func (s *Store) FenceAt(ctx context.Context, namespace, name string, fresh request.Freshness) (Fence, error) {
	key, err := s.key(namespace, name)
	if err != nil {
		return Fence{}, err
	}
	obj, err := s.readKey(ctx, key, fresh)
	switch {
	case errors.Is(err, storage.NotFound):
		return Fence{Key: key}, nil
	case err != nil:
		return Fence{}, s.apiError(err, name)
	}
	return Fence{key, uint64(obj.Rev)}, nil
}

// UpdateFenced does what Update does, while the fence has its revision. If it has another, nothing
// is stored, and the error is ErrFenced. The zero Fence holds always.
func (v View[T]) UpdateFenced(
	ctx context.Context, namespace, name string, fence Fence, change func(obj T) error,
) (T, error) {
	put := cache.PutOptions{Fence: storage.Fence{Key: fence.Key, Rev: storage.Revision(fence.Revision)}}
	opts := cache.UpdateOptions{Put: func() cache.PutOptions { return put }}
	obj, err := v.update(ctx, namespace, name, opts, change)
	if errors.Is(err, storage.Fenced) {
		return obj, ErrFenced
	}
	return obj, v.store.apiError(err, name)
}

// update does the work of Update and UpdateFenced. Errors are those of change and of the cache.
func (v View[T]) update(
	ctx context.Context, namespace, name string, opts cache.UpdateOptions, change func(obj T) error,
) (T, error) {
	var changed T
	key, err := v.store.key(namespace, name)
	if err != nil {
		return changed, err
	}
	stored, err := v.store.objects.Update(ctx, key, opts, func(cur *cache.Object) ([]byte, storage.LeaseID, error) {
		obj, err := v.decode(ctx, cur)
		if err != nil {
			return nil, 0, err
		}
		if err := change(obj); err != nil {
			return nil, 0, err
		}
		changed = obj
		value, _, err := v.store.reader.encode(ctx, obj)
		return value, 0, err
	})
	if err != nil {
		return changed, err
	}
	changed.GetObjectMeta().ResourceVersion = formatRevision(stored.Rev)
	return changed, nil
}

// MayUpdate returns the conflict that an update of obj with the preconditions p meets, nil if they
// hold.
func (v View[T]) MayUpdate(obj T, p *meta.Preconditions) error {
	m := obj.GetObjectMeta()
	switch {
	case p == nil:
	case p.UID != nil && *p.UID != m.UID:
		return v.store.preconditionFailed(m, "UID", string(*p.UID), string(m.UID))
	case p.ResourceVersion != nil && *p.ResourceVersion != m.ResourceVersion:
		return v.store.preconditionFailed(m, "ResourceVersion", *p.ResourceVersion, m.ResourceVersion)
	}
	return nil
}

// MayDelete returns the conflict that a deletion of obj with the preconditions p meets, nil if they
// hold.
func (v View[T]) MayDelete(obj T, p *meta.Preconditions) error {
	return v.store.mayDelete(obj.GetObjectMeta(), p)
}

// Delete deletes an object, or marks it, as a client's deletion with these options does.
func (v View[T]) Delete(ctx context.Context, namespace, name string, dryRun bool, opts *meta.DeleteOptions) error {
	_, err := v.store.Delete(
		ctx, &request.Write{Namespace: namespace, Name: name, DryRun: dryRun, Options: opts, Admitted: true}, opts,
	)
	return err
}

func (v View[T]) decode(ctx context.Context, enc request.Encoded) (T, error) {
	if u, ok := enc.(*unread); ok {
		return *new(T), u.err
	}
	obj, err := v.store.Decode(ctx, enc)
	if err != nil {
		return *new(T), err
	}
	return obj.(T), nil
}
