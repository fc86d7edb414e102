package server

import (
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
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// emptying is a definition that is to go: first its instances are deleted, then it loses the finalizer that held it. Every
// server does so, and each can go on where another, or an earlier life of itself, was stopped.
type emptying struct {
	*definitions
	name      string
	uid       meta.UID
	resource  meta.GroupResource
	inhabited bool // it has been served, by this or another server: there may be instances
	overlaps  bool
	fault     error                          // why it is not served here
	instances atomic.Pointer[registry.Store] // nil: it is not served here
}

// emptyAgain is how long a definition waits whose instances could not be deleted.
const emptyAgain = 2 * time.Second

// empty has the instances of a definition deleted, through what it is served by at the moment.
func (d *definitions) empty(f *definition) {
	begins := f.emptying == nil
	if begins {
		f.emptying = &emptying{
			definitions: d, name: f.Name, uid: f.UID, resource: f.resource(),
			inhabited: !f.overlaps && extensions.Served(f.CustomResourceDefinition), overlaps: f.overlaps, fault: f.fault,
		}
	}
	if f.served {
		f.emptying.instances.Store(d.Store(f.resource()))
	}
	if begins {
		d.work.Run(f.emptying.run)
	}
}

// run works until the definition goes, or ctx ends.
func (e *emptying) run(ctx context.Context) {
	if !e.status(ctx, extensions.BeginEmptying) {
		return
	}
	for e.inhabited {
		err := e.deleteAll(ctx)
		if err == nil {
			break
		}
		// Where another server was faster, there is nothing left to delete from.
		if !e.status(ctx, func(def *apiextensionsv1.CustomResourceDefinition, now meta.Time) {
			extensions.FailEmptying(def, err, now)
		}) {
			return
		}
		e.log.Log(backing.Severity(err), "cannot delete all instances of a custom resource definition yet", zap.String("definition", e.name), zap.Error(err))
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

// status changes the definition, and reports whether it is still the one that is to go.
func (e *emptying) status(ctx context.Context, change func(def *apiextensionsv1.CustomResourceDefinition, now meta.Time)) bool {
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

// deleters is how many instances are deleted at a time: their writes share what they wait for.
const deleters = 16

// deleteAll deletes all instances, and returns when none is left: what holds them back is waited for.
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
			_, err := instances.Delete(within, &request.Write{Namespace: namespace, Name: name, Options: opts, Admitted: true}, opts)
			if meta.IsNotFound(err) {
				return nil
			}
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return fmt.Errorf("could not issue all deletes: %w", err)
	}
	if len(unread) > 0 { // they would be waited for for ever
		return fmt.Errorf("%d instances cannot be read: %w", len(unread), unread[0])
	}
	if err := waitForNone(ctx, instances); err != nil {
		return fmt.Errorf("could not confirm zero CustomResources remaining: %w", err)
	}
	return nil
}

// lookForNone wants that nothing is stored of a definition that this server cannot serve. What is, another server may delete, or this
// one when the definition has been mended.
func (e *emptying) lookForNone(ctx context.Context) error {
	res, err := e.Backends().Main().Range(ctx, storage.RangeRequest{Prefix: e.Table().Root() + registry.KeyPrefix(e.resource) + "/", Limit: 1, NoCount: true})
	if err == nil && len(res.Entries) > 0 {
		err = fmt.Errorf("unable to find a custom resource client for %s: %w", e.resource, e.fault)
	}
	if err != nil {
		return fmt.Errorf("could not list instances: %w", err)
	}
	return nil
}

// waitForNone returns when there are no instances, which are on their way out.
func waitForNone(ctx context.Context, instances *registry.Store) error {
	objects := instances.Objects()
	w, err := objects.Watch(ctx, cache.WatchOptions{Prefix: objects.Prefix()})
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		if objects.Count() == 0 {
			if list, err := instances.List(ctx, &request.ListRequest{Limit: 1}); err != nil || list.Len == 0 {
				return err
			}
			return fmt.Errorf("there is an instance that came late")
		}
		if _, err := w.Next(ctx); err != nil {
			return err
		}
	}
}
