package aggregator

import (
	"context"
	"maps"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/generic"
)

// This file follows the APIServices and publishes the table of remotes. The server calls Start and
// Hooks once, when its resources are installed; the loop runs until the host stops.

// Start follows APIServices until the host stops. It does nothing if the host has no such resource.
func (a *Aggregator) Start() {
	if a.host.Store(apiServices) != nil {
		a.host.Go(a.run)
	}
}

// Hooks returns the hooks after which the server has read the stored APIServices and has asked each
// server behind once what it serves. There are none if the host has no APIServices. The names are
// those of kube-apiserver. c is a client of the server itself; it is not used before the hooks run.
func (a *Aggregator) Hooks(c *client.Client) []generic.Hook {
	if a.host.Store(apiServices) == nil {
		return nil
	}
	seen := func(ctx context.Context) error {
		_ = a.seen.Wait(ctx, 0) // it fails when the server ends
		return nil
	}
	return []generic.Hook{
		{Name: "start-kube-aggregator-informers", Run: generic.CacheLoader(a.host, []meta.GroupResource{apiServices})},
		{Name: "apiservice-registration-controller", Run: seen},
		// There is nothing else to wait for: servers behind are asked for OpenAPI documents when a
		// request needs them.
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
		for _, r := range a.remotes {
			r.close()
		}
	}()
	source := a.host.Store(apiServices).Source()
	for b := range follow.Changes(ctx, source, follow.Options{Failed: a.failed, MaxPause: generic.RetryPause}) {
		changed := false
		for i := range b.Changes {
			changed = a.apply(ctx, &b.Changes[i]) || changed
		}
		if changed {
			a.publish(ctx)
		}
		if b.InStep {
			a.seen.Reach(b.ResourceVersion)
		}
	}
}

// failed logs why APIServices cannot be followed at the moment.
func (a *Aggregator) failed(err error) {
	if !meta.IsResourceExpired(err) {
		a.log.Log(backing.Severity(err), "cannot follow APIServices; trying again", zap.Error(err))
	}
}

// apply applies one change of an APIService to remotes, and reports whether the table changes. If
// the new state cannot be read the old state stays in force.
func (a *Aggregator) apply(ctx context.Context, ch *follow.Change[request.Encoded]) bool {
	name := ch.Name.Name
	if ch.Gone {
		a.availability.metrics.forget(name)
		return a.forget(name)
	}
	err := ch.Unread
	var decoded meta.Object
	if err == nil {
		decoded, err = a.host.Store(apiServices).Decode(ctx, ch.New)
	}
	if err != nil {
		a.log.Warn("an APIService cannot be read; its last state stays in force", zap.String("name", name),
			zap.Error(err))
		return false
	}
	service := decoded.(*apiregistrationv1.APIService)
	a.availability.metrics.show(service)
	if service.Spec.Service == nil {
		return a.forget(name)
	}
	before := a.remotes[name]
	next := a.reach.newRemote(service, before)
	if before != nil && before.route != next.route {
		before.close()
	}
	a.remotes[name] = next
	return true
}

// forget removes the remote of an APIService and closes its route. It reports whether there was
// one.
func (a *Aggregator) forget(name string) bool {
	before := a.remotes[name]
	if before == nil {
		return false
	}
	delete(a.remotes, name)
	before.close()
	return true
}

// publish puts a new table in force, and then updates availability and the neighbours. The
// goroutines that these start end with ctx.
func (a *Aggregator) publish(ctx context.Context) {
	if len(a.remotes) == 0 {
		a.table.Store(nil)
	} else {
		table := make(map[meta.GroupVersion]*remote, len(a.remotes))
		for r := range maps.Values(a.remotes) {
			table[r.version()] = r
		}
		a.table.Store(&table)
	}
	a.availability.need(len(a.remotes) > 0)
	a.docs.set(ctx, a.remotes)
}
