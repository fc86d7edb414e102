// The parts that say what a server serves: types, plugins, resources, and the servers of the
// delegation chain (declaredParts in parts.go). A Judge and CheckStore make these parts, too,
// without a server around them.

package server

import (
	"context"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/core"
	"github.com/coracle-project/coracle/registry/ports"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/addresses"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/choice"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/definitions"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/health"
	"github.com/coracle-project/coracle/server/plugins"
)

// declaration is what the declared parts add to an assembly. None of it reads the store.
type declaration struct {
	types
	promised  *access.Promise // authorization: resources and plugins hold it before authorizers exist
	nodePorts *ports.Allocator
	peers     *addresses.Peers
	offered   []Group // all groups that may be served, before the configuration chooses
	plugins   admission.Chain

	resources   *generic.Resources
	work        *generic.Work    // what Server.Go and parts run; ends with the server
	resolve     callout.Resolver // finds addresses of Services: of servers behind and webhooks
	definitions *definitions.Definitions
	on          Chain
	life        *life
}

// types holds the kinds, their codecs, and the configuration of routers and discovery.
type types struct {
	scheme    *scheme.Scheme
	codecs    *codec.Factory
	kinds     *kind.Types
	router    *router.Config
	discovery *router.Discovery
}

// makeTypes registers the types of all groups that may be served. It returns an error if a
// configured group has types or validation rules that are wrong. Types of built-in groups compile
// at their first use, so that the start is quick; tests check them.
func (a *assembly) makeTypes() error {
	span, _ := a.API.Services.NodePorts() // checked when the configuration was completed
	a.promised, a.nodePorts, a.peers = new(access.Promise), ports.New(span), new(addresses.Peers)
	a.scheme = scheme.New()
	a.offered = a.groups(surroundings{
		stores: generic.StoresOf(a.table), nodePorts: a.nodePorts, access: a.promised, peers: a.peers,
		reserved: a.Admission.Manifests,
		tokens: core.TokenConfig{
			Sign:      a.promised.Sign,
			Audiences: a.Authentication.Audiences,
			Bounds:    a.promised.Bounds,
		},
	})
	for i := range a.offered {
		a.offered[i].Register(a.scheme)
	}
	if a.API.Core {
		a.scheme.AddOptions(api.Others()...)
	}
	if err := a.scheme.Complete(); err != nil {
		return err
	}
	a.codecs = codec.NewFactory(a.scheme)
	a.kinds = kind.NewTypes(a.scheme, a.codecs)
	a.discovery = router.NewDiscovery(a.codecs)
	if a.self.Secure {
		a.discovery.Address = a.self.External
	}
	a.router = &router.Config{
		Codecs: a.codecs, MinWatch: a.Limits.MinWatch, WatchStarted: a.metrics.resources.WatchStarted,
		InitialSent:   a.metrics.resources.InitialSent,
		DeprecatedUse: a.metrics.resources.DeprecatedUse, NoWatchLists: a.API.Without.WatchLists,
	}
	return a.kinds.CheckRules()
}

// makePlugins makes the resolver of services, which all that call webhooks share, and the chain of
// admission plugins. The plugins ask the promise for authorization, because authorizers are made
// later.
func (a *assembly) makePlugins() (err error) {
	stores := generic.StoresOf(a.table)
	a.resolve = addresses.NewResolver(stores, a.API.Aggregation.ByEndpoints)
	a.plugins, err = plugins.New(&a.Admission, plugins.Needs{
		Stores: stores, Authorizer: a.promised, ResourceOf: a.discovery.ResourceOf, Equivalents: stores.Equivalents,
		Resolve: a.resolve, Flawed: a.metrics.flaws.webhooks, OnClose: a.ends.push, Metrics: a.registry,
		Kubelets: a.access.Has(access.Node), Log: a.Log.Named("admission"),
	})
	return err
}

// makeResources makes the set of resources, which is still empty, and the Work that runs beside
// requests. At the end the table closes first, so that nobody installs or removes resources; then
// Work stops, and the caches that it reads close last.
func (a *assembly) makeResources() error {
	minor, _ := a.Storage.compatible() // checked when the configuration was completed
	common := registry.Config{
		Kinds: a.kinds, Codecs: a.codecs, Admission: a.plugins, Prefix: a.table.Root(), Protobuf: a.Storage.Protobuf,
		NoGarbageCollection: a.API.Without.GarbageCollection, DeleteWorkers: a.Limits.DeleteWorkers,
	}
	a.work = generic.NewWork(controller.WithQueues(context.Background(), a.metrics.queues))
	a.resources = generic.NewResources(generic.Needs{
		Table: a.table, Backends: backing.NewBackends(a.store, common, a.metrics.unreadable, a.Log),
		Reviews:    a.store.Reviewer,
		Compatible: minor, ForgetMetrics: a.metrics.forget, Run: a.work.Run, Longest: a.Limits.longest(), Log: a.Log,
	})
	a.ends.push(func() error {
		a.table.Close()
		a.work.Stop()
		a.resources.Backends().CloseCaches()
		return nil
	})
	return a.registry.Register(a.resources.Collector())
}

// makeDefinitions makes the last server of the delegation chain, which serves
// CustomResourceDefinitions and the resources that they define.
func (a *assembly) makeDefinitions() (err error) {
	a.definitions, err = definitions.New(definitions.Needs{
		Host:          a.resources,
		Backend:       a.resources.Backends().Main(),
		Router:        a.router,
		Discovery:     a.discovery,
		ServedEarlier: a.serves,
		Shared:        a.Storage.shared(),
		Resolve:       a.resolve,
		Flawed:        a.metrics.flaws.webhooks,
		Metrics:       a.registry,
	})
	return err
}

// serves implements definitions.ServedEarlier: it reports whether the core or the aggregator serves
// a group.
func (a *assembly) serves(group string) bool {
	return a.on.Core.REST.Serves(group) || group == apiServices.Group
}

// makeServers makes the servers core and aggregator. Each needs the next one, so the chain is made
// from its end.
func (a *assembly) makeServers() error {
	core := generic.NewServer("core", a.router, a.discovery, a.definitions)
	a.on = Chain{
		Aggregator: generic.NewServer("aggregator", a.router, a.discovery, core),
		Core:       core,
		Extensions: a.definitions.Server(),
	}
	return nil
}

// makeLife makes the health checks, and the life that Run goes through from start to shutdown.
func (a *assembly) makeLife() error {
	alive, err := health.New(health.Needs{
		Paths: a.on.Core.Paths, Store: a.store, Timeouts: a.Storage.Timeouts, LivezGracePeriod: a.Serving.LivezGrace,
		Started: processStart, Log: a.Log,
	})
	a.life = newLife(a.Shutdown, alive, a.work, &a.ends)
	a.ends.push(func() error { a.life.controllers.Stop(); return nil })
	return err
}

// installGroups installs, on the server of the chain that owns each group, the resources that
// Profile and Runtime choose.
func (a *assembly) installGroups() error {
	groups, err := choice.Apply(choice.Config{Profile: a.API.Profile, Runtime: a.API.Runtime}, a.offered, a.scheme)
	if err != nil {
		return err
	}
	for i := range groups {
		on := a.on.Core
		switch groups[i].Name {
		case apiServices.Group:
			on = a.on.Aggregator
		case customResourceDefinitions.Group:
			on = a.on.Extensions
		}
		if err := a.resources.Install(on, groups[i]); err != nil {
			return err
		}
	}
	warnOfNamespaces(groups, a.table, a.Log)
	return addresses.OpenNodePorts(a.resources, a.nodePorts)
}
