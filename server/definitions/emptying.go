package definitions

import (
	"cmp"
	"context"
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

// A definition that is being deleted first loses its instances, then the finalizer that held it.
// Every server does this work, and each can go on where another one, or an earlier process of its
// own, was stopped. The loop begins it (empty); each definition has a goroutine of the host.

// emptying is the work on one definition that is being deleted.
type emptying struct {
	*statuses
	home      *backing.Backend // of the instances
	name      string
	uid       meta.UID
	resource  meta.GroupResource
	inhabited bool // some server has served it: there may be instances
	overlaps  bool
	fault     error                          // why this server does not serve it
	instances atomic.Pointer[registry.Store] // nil: this server does not serve it
}

// emptyAgain is how long a definition waits whose instances could not be deleted.
const emptyAgain = 2 * time.Second

// empty has the instances of a definition deleted, through the resource as it is served now.
func (l *loop) empty(f *definition) {
	begins := f.emptying == nil
	if begins {
		f.emptying = &emptying{
			statuses: l.statuses, home: l.home, name: f.Name, uid: f.UID, resource: f.resource(),
			inhabited: !f.overlaps && extensions.Served(f.CustomResourceDefinition),
			overlaps:  f.overlaps, fault: f.fault,
		}
	}
	if f.served {
		f.emptying.instances.Store(l.host.Store(f.resource()))
	}
	if begins {
		l.host.Go(f.emptying.run)
	}
}

// run works until the definition has lost its finalizer, or is another one, or ctx ends.
func (e *emptying) run(ctx context.Context) {
	if !e.status(ctx, extensions.BeginEmptying) {
		return
	}
	for e.inhabited {
		err := e.deleteAll(ctx)
		if err == nil {
			break
		}
		// If another server was faster, the definition is gone, and so is what failed here.
		if !e.status(ctx, func(def *apiextensionsv1.CustomResourceDefinition, now meta.Time) {
			extensions.FailEmptying(def, err, now)
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
		extensions.EndEmptying(def, e.overlaps, now)
	})
}

// status changes the status of the definition, and reports whether it still is the one that is
// being deleted.
func (e *emptying) status(
	ctx context.Context, change func(def *apiextensionsv1.CustomResourceDefinition, now meta.Time),
) bool {
	return e.untilDone(ctx, e.name, func() error {
		_, err := e.update(ctx, e.name, func(_ request.Encoded, def *apiextensionsv1.CustomResourceDefinition) error {
			if def.UID != e.uid || !extensions.Emptying(def) {
				return errOvertaken
			}
			change(def, now())
			return nil
		})
		return err
	})
}

// deleters is how many instances are deleted at a time: their writes share the store's commits.
const deleters = 16

// deleteAll deletes all instances, and returns when none is left. It waits for their finalizers.
func (e *emptying) deleteAll(ctx context.Context) error {
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
	if len(unread) > 0 { // they never go, so there is nothing to wait for
		return fmt.Errorf("%d instances cannot be read: %w", len(unread), unread[0])
	}
	if err := waitForNone(ctx, instances); err != nil {
		return fmt.Errorf("could not confirm zero CustomResources remaining: %w", err)
	}
	return nil
}

// lookForNone returns an error if an instance is stored of a definition that this server cannot
// serve. Another server may delete the instance, or this server when the definition has been
// mended.
func (e *emptying) lookForNone(ctx context.Context) error {
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

// waitForNone returns when there are no instances. All of them are being deleted.
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
		return fmt.Errorf("there is an instance that came late")
	}
	return cmp.Or(context.Cause(following), follow.ErrEnded)
}
