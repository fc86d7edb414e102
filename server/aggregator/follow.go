package aggregator

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// This file follows the APIServices and publishes the table of remotes. The server calls Start and
// Hooks once, when its resources are installed; the loop runs until the host stops.

// Start follows APIServices until the host stops. It does nothing if the host has no such resource.
func (a *Aggregator) Start() {
	if a.host.Store(apiServices) != nil {
		a.host.Go(a.run)
	}
}

// Hooks returns the hooks after which the server knows the APIServices that are stored, and what
// the servers behind serve; none if the host has no APIServices. c is a client of the server
// itself. It is not used before the hooks run.
func (a *Aggregator) Hooks(c *client.Client) []generic.Hook {
	if a.host.Store(apiServices) == nil {
		return nil
	}
	seen := func(ctx context.Context) error {
		_ = a.seen.Wait(ctx, 0) // it fails when the server ends
		return nil
	}
	return []generic.Hook{
		{Name: "start-kube-aggregator-informers", Run: generic.Loads(a.host, []meta.GroupResource{apiServices})},
		{Name: "apiservice-registration-controller", Run: seen},
		// From then on a request for OpenAPI is answered with what the servers behind say: they are
		// asked when the request comes.
		{Name: "apiservice-openapi-controller", Run: seen},
		{Name: "apiservice-discovery-controller", Run: func(ctx context.Context) error {
			if a.seen.Wait(ctx, 0) == nil {
				a.docs.wait(ctx)
			}
			return nil
		}},
		{Name: "apiservice-status-remote-available-controller", Run: func(context.Context) error {
			a.availability.begin(a.finder(c))
			return nil
		}},
	}
}

// run follows the APIServices until ctx ends.
func (a *Aggregator) run(ctx context.Context) {
	defer func() {
		for _, r := range a.known {
			r.close()
		}
	}()
	for {
		err := a.follow(ctx)
		if ctx.Err() != nil || errors.Is(err, storage.Closed) {
			return
		}
		if !errors.Is(err, storage.Compacted) {
			a.log.Log(backing.Severity(err), "API services cannot be followed; it will be tried again", zap.Error(err))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(generic.Again):
		}
	}
}

// follow takes in all APIServices, and then each that changes, until that fails.
func (a *Aggregator) follow(ctx context.Context) error {
	objects := a.host.Store(apiServices).Objects()
	w, err := objects.Watch(ctx, cache.WatchOptions{
		Prefix: objects.Prefix(), Initial: true, InitialEnd: true, Corrupt: true,
	})
	if err != nil {
		return err
	}
	defer w.Close()
	metrics := a.availability.metrics
	metrics.unavailable.Reset()
	present := map[string]bool{} // nil after the initial state
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return err
		}
		changed := false
		for i := range events {
			e := &events[i]
			switch {
			case e.InitialEnd:
				for name := range a.known {
					if !present[name] {
						changed = a.forget(name) || changed
					}
				}
				present = nil
			case e.Type == cache.Bookmark:
			case e.Type == cache.Deleted:
				name := a.nameOf(e.Object)
				changed = a.forget(name) || changed
				metrics.forget(name)
			default:
				if present != nil {
					present[a.nameOf(e.Object)] = true
				}
				changed = a.observe(ctx, e.Object) || changed
			}
		}
		if changed {
			a.publish(ctx)
		}
		if present == nil && len(events) > 0 {
			a.seen.Reach(events[len(events)-1].Rev)
		}
	}
}

func (a *Aggregator) nameOf(obj *cache.Object) string {
	return strings.TrimPrefix(obj.Key, a.host.Store(apiServices).Objects().Prefix())
}

// observe takes in a new state of an APIService, and reports whether the table changes. If the
// state cannot be read, the one before stays in force.
func (a *Aggregator) observe(ctx context.Context, obj *cache.Object) bool {
	name := a.nameOf(obj)
	err := obj.Err()
	var decoded meta.Object
	if err == nil {
		decoded, err = a.host.Store(apiServices).Decode(ctx, obj)
	}
	if err != nil {
		a.log.Warn("an API service cannot be read", zap.String("name", name), zap.Error(err))
		return false
	}
	service := decoded.(*apiregistrationv1.APIService)
	a.availability.metrics.show(service)
	if service.Spec.Service == nil {
		return a.forget(name)
	}
	known := a.known[name]
	next := a.reach.newRemote(service, known)
	if known != nil && known.route != next.route {
		known.close()
	}
	a.known[name] = next
	return true
}

// forget drops the remote of an APIService, and reports whether there was one.
func (a *Aggregator) forget(name string) bool {
	known := a.known[name]
	if known == nil {
		return false
	}
	delete(a.known, name)
	known.close()
	return true
}

// publish puts a new table in force, and then tells availability and the neighbours of it. What
// they begin ends with ctx.
func (a *Aggregator) publish(ctx context.Context) {
	if len(a.known) == 0 {
		a.table.Store(nil)
	} else {
		table := make(map[meta.GroupVersion]*remote, len(a.known))
		for r := range maps.Values(a.known) {
			table[r.version()] = r
		}
		a.table.Store(&table)
	}
	a.availability.need(len(a.known) > 0)
	a.docs.set(ctx, a.known)
}
