package definitions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/storage"
)

// This file deletes the instances of a definition that is being deleted, and then removes the
// finalizer customresourcecleanup.apiextensions.k8s.io from the definition. Every server does this
// work at the same time, and each can go on where another server or an earlier process was stopped:
// nothing but the definition and its instances says how far the work is. The loop starts it
// (empty), in a goroutine of the host for each definition.

// instanceDeletion deletes the instances of one definition that is being deleted.
type instanceDeletion struct {
	*statuses
	home      *backing.Backend // of the instances
	name      string
	uid       meta.UID
	resource  meta.GroupResource
	inhabited bool  // the definition has been served by some server, so there may be instances
	overlaps  bool  // the server has a resource of that name itself, so its objects are no instances
	fault     error // why this server does not serve the resource; nil if it does
	// instances is the store of the resource, nil while this server does not serve the resource.
	// The loop sets it when a change of the definition makes the resource servable.
	instances atomic.Pointer[registry.Store]
}

// emptyAgain is the pause after a failure to delete all instances.
const emptyAgain = 2 * time.Second

// empty starts the work for f if it has not begun, and gives it the store of the resource as it is
// served at present. The loop calls empty for each state of a definition that is being deleted.
func (l *loop) empty(f *definition) {
	begins := f.deletion == nil
	if begins {
		f.deletion = &instanceDeletion{
			statuses: l.statuses, home: l.home, name: f.Name, uid: f.UID, resource: f.resource(),
			inhabited: !f.overlaps && extensions.Served(f.CustomResourceDefinition),
			overlaps:  f.overlaps, fault: f.fault,
		}
	}
	if f.served {
		f.deletion.instances.Store(l.host.Store(f.resource()))
	}
	if begins {
		l.host.Go(f.deletion.run)
	}
}

// run works until the definition has lost its finalizer, or is gone, or ctx ends. A definition of
// the same name with another uid counts as gone.
func (e *instanceDeletion) run(ctx context.Context) {
	if !e.status(ctx, extensions.BeginInstanceDeletion) {
		return
	}
	for e.inhabited {
		err := e.deleteAll(ctx)
		if err == nil {
			break
		}
		// If another server has emptied the definition, the status cannot be changed, and the
		// failure here does not matter.
		if !e.status(ctx, func(def *apiextensionsv1.CustomResourceDefinition, now meta.Time) {
			extensions.FailInstanceDeletion(def, err, now)
		}) {
			return
		}
		e.log.Log(backing.Severity(err), "cannot delete all instances of a custom resource definition yet",
			zap.String("definition", e.name), zap.Error(err))
		select {
		case <-ctx.Done():
			return
		case <-time.After(emptyAgain):
		}
	}
	e.status(ctx, func(def *apiextensionsv1.CustomResourceDefinition, now meta.Time) {
		extensions.FinishInstanceDeletion(def, e.overlaps, now)
	})
}

// status changes the status of the definition, and reports whether the change was stored. The
// change is not stored if the definition is gone, has another uid or no longer waits for its
// instances, or if ctx ends.
func (e *instanceDeletion) status(
	ctx context.Context, change func(def *apiextensionsv1.CustomResourceDefinition, now meta.Time),
) bool {
	return e.untilDone(ctx, e.name, func() error {
		_, err := e.update(ctx, e.name, func(_ request.Encoded, def *apiextensionsv1.CustomResourceDefinition) error {
			if def.UID != e.uid || !extensions.NeedsInstanceDeletion(def) {
				return errOvertaken
			}
			change(def, now())
			return nil
		})
		return err
	})
}

// deleters is the number of instances that are deleted at a time. Concurrent writes share a commit
// of the store.
const deleters = 16

// deleteAll deletes all instances, and returns when none is left. If instances have finalizers, it
// waits, however long, until the owners of the finalizers have removed them. An error
// that kube-apiserver has, too, has its text, because it gets into the condition Terminating.
func (e *instanceDeletion) deleteAll(ctx context.Context) error {
	instances := e.instances.Load()
	if instances == nil {
		return e.lookForNone(ctx)
	}
	list, err := instances.List(meta.WithUnread(ctx), &request.ListRequest{})
	if err != nil {
		return fmt.Errorf("could not list instances: %w", err)
	}
	var unread []error
	work, within := errgroup.WithContext(ctx)
	work.SetLimit(deleters)
	for item := range list.Items {
		if err := registry.Unreadable(item); err != nil {
			unread = append(unread, err)
			continue
		}
		namespace, name := instances.NameOf(item)
		work.Go(func() error {
			opts := &meta.DeleteOptions{}
			w := &request.Write{Namespace: namespace, Name: name, Options: opts, Admitted: true}
			_, err := instances.Delete(within, w, opts)
			if meta.IsNotFound(err) {
				return nil
			}
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return fmt.Errorf("could not issue all deletes: %w", err)
	}
	if len(unread) > 0 { // they cannot be deleted, so waiting would not end
		return fmt.Errorf("%d instances cannot be read: %w", len(unread), unread[0])
	}
	if err := waitForNone(ctx, instances); err != nil {
		return fmt.Errorf("could not confirm zero CustomResources remaining: %w", err)
	}
	return nil
}

// lookForNone returns an error if the store has an instance although this server does not serve the
// resource, and so cannot delete the instance. Another server may delete it, or this server after
// somebody has repaired the definition.
func (e *instanceDeletion) lookForNone(ctx context.Context) error {
	prefix := e.host.Table().PrefixOf(e.resource)
	res, err := e.home.Range(ctx, storage.RangeRequest{Prefix: prefix, Limit: 1, NoCount: true})
	if err == nil && len(res.Entries) > 0 {
		err = fmt.Errorf("unable to find a custom resource client for %s: %w", e.resource, e.fault)
	}
	if err != nil {
		return fmt.Errorf("could not list instances: %w", err)
	}
	return nil
}

// waitForNone waits until there are no instances. All instances that were listed are being deleted.
// The cache is followed because that costs the store nothing; when the cache is empty, a list that
// asks the store confirms it. An instance in that list was created by a request that began before
// creates were refused; the error makes run delete it, too.
func waitForNone(ctx context.Context, instances *registry.Store) error {
	following, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	for b := range follow.Changes(following, instances.Source(), follow.Options{Failed: fail}) {
		if !b.InStep || instances.Objects().Count() > 0 {
			continue
		}
		if list, err := instances.List(ctx, &request.ListRequest{Limit: 1}); err != nil || list.Len == 0 {
			return err
		}
		return errors.New("an instance was created while the others were deleted")
	}
	return cmp.Or(context.Cause(following), follow.ErrEnded)
}
