package registry

import (
	"context"
	"fmt"
	"iter"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// View reads and writes the objects of a Store as values of their own type T, in process: for
// admission plugins, handlers, and what a write does beside its own object. Lists are
// request.Consistent; Read (read.go) is as fresh as its caller says. The caller owns what it gets.
// Writes are the server's own: admission, which has been asked about what led to them, is not asked
// again. Errors are a *meta.StatusError.
type View[T meta.Object] struct{ store *Store }

// ViewOf makes a View. It is an error if there is no store, or if T is not the hub type of its
// kind.
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

// List returns the objects of a namespace, or all with namespace "", by namespace and name.
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

// All yields what List returns, one after the other. An error is the last thing that it yields.
func (v View[T]) All(ctx context.Context, namespace string) iter.Seq2[T, error] {
	return v.Labelled(ctx, namespace, nil)
}

// Labelled is All of those objects whose labels match.
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

// Each is All, but an object that cannot be read does not end it: an error of its own, which
// meta.IsUnreadable knows, is yielded in its place.
func (v View[T]) Each(ctx context.Context, namespace string) iter.Seq2[T, error] {
	return v.All(meta.WithUnread(ctx), namespace)
}

// Names returns the names of a namespace's objects, or of all with namespace "", and how many there
// are.
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

// ServerManager owns the fields that the server itself writes.
const ServerManager = "coracle"

// Create stores a new object, as if a client had sent it whose field manager is ServerManager.
func (v View[T]) Create(ctx context.Context, obj T) error {
	_, err := v.store.Create(ctx, &request.Write{
		Namespace: obj.GetObjectMeta().Namespace, Manager: ServerManager, Options: &meta.CreateOptions{}, Admitted: true,
		Change: func(context.Context, request.Current) (meta.Typed, error) { return scheme.Copy(obj), nil },
	})
	return err
}

// Update lets change have the present object, and stores what it makes of it, again if somebody
// else was faster. It is past the strategy, too: the change is neither prepared nor validated,
// counts as no generation, and nobody comes to own what it sets. An error of change ends it. With
// dryRun nothing is stored. The result is the changed object at its new revision.
func (v View[T]) Update(ctx context.Context, namespace, name string, dryRun bool, change func(obj T) error) (T, error) {
	var changed T
	key, err := v.store.key(namespace, name)
	if err != nil {
		return changed, err
	}
	stored, err := v.store.objects.Update(ctx, key, cache.UpdateOptions{DryRun: dryRun}, func(cur *cache.Object) ([]byte, storage.LeaseID, error) {
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
		return changed, v.store.apiError(err, name)
	}
	changed.GetObjectMeta().ResourceVersion = formatRevision(stored.Rev)
	return changed, nil
}

// MayUpdate returns the conflict of an update of obj with preconditions that do not hold, nil if
// they do.
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

// MayDelete is MayUpdate for a deletion, which would say the same.
func (v View[T]) MayDelete(obj T, p *meta.Preconditions) error {
	return v.store.mayDelete(obj.GetObjectMeta(), p)
}

// Delete deletes an object, or marks it, as if a client had asked for it with these options.
func (v View[T]) Delete(ctx context.Context, namespace, name string, dryRun bool, opts *meta.DeleteOptions) error {
	_, err := v.store.Delete(ctx, &request.Write{Namespace: namespace, Name: name, DryRun: dryRun, Options: opts, Admitted: true}, opts)
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
