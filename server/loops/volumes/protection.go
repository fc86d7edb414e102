package volumes

import (
	"context"
	"slices"
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// protection is the Reconcile of the three loops. An object that nobody has deleted gets the
// finalizer; an object that is being deleted loses it as soon as nothing uses it.
type protection[T meta.Object] struct {
	objects   client.Resource[T]
	finalizer string
	// used reports whether something still uses obj, which is being deleted. If used fails, the
	// object keeps the finalizer and is tried again.
	used func(ctx context.Context, obj T) (bool, error)
}

// protected is the part of an object that says whether the object is due: whether it has a
// deletionTimestamp, and whether it has the finalizer of its loop.
type protected struct {
	Deleting, Finalizer bool
}

func newProtected(m *meta.ObjectMeta, finalizer string) protected {
	return protected{Deleting: m.DeletionTimestamp != nil, Finalizer: slices.Contains(m.Finalizers, finalizer)}
}

// due reports whether the loop must look at the object: nobody has deleted it and it lacks the
// finalizer, or it is being deleted and has the finalizer.
func (p protected) due() bool { return p.Deleting == p.Finalizer }

// reconcile adds the finalizer to an object, or removes it from an object that is being deleted and
// that nothing uses. The update has the resourceVersion of the read. If another client has changed
// the object since, the update fails with a conflict, and the loop calls reconcile again. If the
// object is still in use, reconcile asks for no later call: the sources add the object when another
// one ceases to use it.
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
