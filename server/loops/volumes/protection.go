package volumes

import (
	"context"
	"slices"
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// protection keeps a finalizer on the objects of a resource while they are not being deleted, and
// on those being deleted while they are used.
type protection[T meta.Object] struct {
	objects   client.Resource[T]
	finalizer string
	used      func(ctx context.Context, obj T) (bool, error)
}

// protected is what is known of the protection of an object.
type protected struct {
	Deleting, Finalizer bool
}

func newProtected(m *meta.ObjectMeta, finalizer string) protected {
	return protected{Deleting: m.DeletionTimestamp != nil, Finalizer: slices.Contains(m.Finalizers, finalizer)}
}

// due reports whether the finalizer may be missing, or not be needed any more.
func (p protected) due() bool { return p.Deleting == p.Finalizer }

// reconcile adds the finalizer, or takes it off.
func (p *protection[T]) reconcile(ctx context.Context, name controller.Name) (time.Duration, error) {
	objects := p.objects.In(name.Namespace)
	obj, err := objects.Get(ctx, name.Name, meta.GetOptions{})
	if err != nil {
		return 0, controller.IgnoreNotFound(err)
	}
	m := obj.GetObjectMeta()
	now := newProtected(m, p.finalizer)
	if !now.due() {
		return 0, nil
	}
	if now.Deleting {
		if used, err := p.used(ctx, obj); used || err != nil {
			return 0, err
		}
		m.Finalizers = slices.DeleteFunc(m.Finalizers, func(f string) bool { return f == p.finalizer })
	} else {
		m.Finalizers = append(m.Finalizers, p.finalizer)
	}
	_, err = objects.Update(ctx, obj, meta.UpdateOptions{})
	return 0, controller.IgnoreNotFound(err)
}
