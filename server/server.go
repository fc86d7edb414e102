package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/core"
	"github.com/coracle-project/coracle/registry/ports"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/addresses"
	"github.com/coracle-project/coracle/server/aggregator"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/bootstrap"
	"github.com/coracle-project/coracle/server/choice"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/connections"
	"github.com/coracle-project/coracle/server/definitions"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/health"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/inspect"
	"github.com/coracle-project/coracle/server/plugins"
	"github.com/coracle-project/coracle/server/upkeep"
)

// Server is an API server. Make it with New, serve with Run. Its parts are complete when New has made it; what changes
// after that is inside of them.
type Server struct {
	Scheme *scheme.Scheme
	Codecs *codec.Factory
	Chain
	// Metrics is the registry behind /metrics.
	Metrics *prometheus.Registry

	*generic.Resources
	links
	addresses *addresses.Addresses
	handler   http.Handler
	client    *client.Client
	identity  *identity.Identity
	listeners *connections.Listeners
	life      *life
}

// links are what the first and the last link of the chain know.
type links struct {
	definitions *definitions.Definitions
	behind      *aggregator.Aggregator // the servers behind this one
}

// Chain is the delegation chain: what one link does not know is the next one's.
type Chain struct {
	// Aggregator comes first. It serves APIServices, and hands requests on to the servers that these name.
	Aggregator *generic.Server
	// Core serves the configured groups. Paths of one's own go to Core.Paths, before Run.
	Core *generic.Server
	// Extensions comes last, and serves custom resources and their definitions.
	Extensions *generic.Server
}

// New makes a server from cfg: it opens the store, and certificates are made if there are none. What is wrong with cfg
// is reported all at once. A server that is not Run must be Closed.
//
// ctx bounds New alone, not the server: with its end New gives up waiting for the store, which may be an etcd that does
// not answer or a log that is being replayed, and returns the cause.
func New(ctx context.Context, cfg Config) (*Server, error) {
	c, err := cfg.complete()
	if err == nil {
		c.recognize(ctx)
		err = c.makeDataDir()
	}
	if err != nil {
		if cfg.Storage.Store != nil {
			cfg.Storage.Store.Close()
		}
		return nil, fmt.Errorf("server: %w", err)
	}
	s, err := build(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := s.populate(c); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// build makes a server: its parts, in the order in which they need each other. The store opens and the certificates are made
// while the types are compiled and the resources declared: a store of files waits for these to know what its files are. If
// it fails it leaves nothing open.
func build(ctx context.Context, c completed) (*Server, error) {
	reg, table := prometheus.NewRegistry(), generic.NewTable(c.Storage.Prefix+"/")
	metrics, metricsErr := newMetrics(reg, table, c.Log)
	encryption, encryptionErr := backing.NewEncryption(c.Storage.EncryptionConfigFile, c.Storage.EncryptionReload, reg, c.Log)
	declared := make(chan struct{})
	self := c.Serving.self()
	store := c.newStore(table, metrics.store, encryption, generic.AcceptorOf(table, declared))
	var opening sync.WaitGroup
	var who *identity.Identity
	var storeErr, identityErr error
	opening.Go(func() { storeErr = store.Open(ctx) })
	opening.Go(func() { encryption.Ask(ctx) })
	opening.Go(func() { who, identityErr = identity.New(ctx, c.identityNeeds(self, reg)) })
	d, declareErr := declare(c, self, table, metrics, store, reg)
	close(declared)
	opening.Wait()
	if err := errors.Join(metricsErr, encryptionErr, storeErr, identityErr, declareErr); err != nil {
		if who != nil {
			who.Accounts.Close()
		}
		d.close()
		return nil, errors.Join(err, store.Close())
	}
	who.Accounts.Follow(d.life.work.Run, c.Log)
	tracer, err := inspect.NewTracer(c.Serving.Debug.TracingFile, d.life.work.Run, c.Log)
	if err != nil {
		d.close()
		return nil, errors.Join(err, store.Close())
	}
	authenticator, tokens, err := who.Authenticators(&c.Authentication, identity.Surroundings{
		Stores: d.resources.Stores, Run: d.life.work.Run, Metrics: reg, Flawed: metrics.flaws.webhooks, Log: c.Log,
	})
	if err != nil {
		d.close()
		return nil, errors.Join(err, store.Close())
	}
	authorizers, err := access.New(c.access, access.Needs{
		Stores: d.resources.Stores, Metrics: reg, Flawed: metrics.flaws.webhooks, Run: d.life.work.Run, Log: c.Log,
	})
	if err != nil {
		d.close()
		return nil, errors.Join(err, store.Close())
	}
	d.access.Keep(access.Answers{Tokens: tokens, Audiences: c.Authentication.Audiences, Authorizers: authorizers, Issuer: who.Accounts})
	gate := newGate(c.Limits, reg)
	behind, err := aggregator.New(aggregator.Needs{
		Config: c.API.Aggregation, Host: d.resources, On: d.aggregator, Resolve: d.resolve,
		Certificate: who.Proxy, Gate: gate, Flawed: metrics.flaws.behind, Metrics: reg,
		Ends: d.life.controllers.Context(), Loop: d.life.controllers.Run,
	})
	if err == nil {
		err = installOpenAPI(d.core, newOpenAPI(&c, d, behind, d.life.crowd.Burst))
	}
	if err != nil {
		d.close()
		return nil, errors.Join(err, store.Close())
	}
	handler := filters.Chain(behind, filters.Config{
		Fail:           router.WriteError,
		Authenticator:  connections.Acquaint(authenticator),
		Authorizer:     authorizers,
		Log:            c.Log,
		Registry:       reg,
		Metrics:        metrics.requests,
		Tracer:         tracer,
		Drain:          d.life.drain,
		Gate:           gate,
		RequestTimeout: c.Limits.RequestTimeout,
		Origins:        c.origins,
		NoCompression:  c.API.Without.Compression,
		Server:         "Coracle/" + Version,
		Settings:       c.Serving.HTTP.Settings,
	}.Steps()...)
	client, clientErr := newLoopback(handler, who.Loopback, d.codecs, d.resources, metrics.unreadable)
	listeners, listenersErr := connections.New(c.Serving.connections(who.TLSConfig(c.Serving.protocols()), c.Limits.longest(), d.life.crowd, filters.LimitLog(c.Log)), reg)
	if err := errors.Join(clientErr, listenersErr); err != nil {
		d.close()
		return nil, errors.Join(err, store.Close())
	}
	places, err := addresses.New(c.API.Services, addresses.Needs{
		Resources: d.resources, NodePorts: d.nodePorts, Self: self, Peers: d.peers, Client: client, Loops: d.life.controllers,
		Shared: c.Storage.shared(), Lease: !c.API.Without.IdentityLease, RequestTimeout: c.Limits.RequestTimeout,
	})
	if err != nil {
		d.close()
		return nil, errors.Join(err, store.Close())
	}
	s := &Server{
		Scheme: d.scheme, Codecs: d.codecs, Chain: Chain{Aggregator: d.aggregator, Core: d.core, Extensions: d.definitions.Server()}, Metrics: reg,
		Resources: d.resources, links: links{d.definitions, behind}, addresses: places,
		handler: handler, client: client, identity: who,
		listeners: listeners,
		life:      d.life,
	}
	behind.Start()
	if err := errors.Join(s.addHooks(behind.Hooks(client)...), s.follow(d.definitions), s.addHooks(authorizers.Hooks(client, d.life.controllers.Run)...)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// declaration is what a server serves, before it can be asked for it.
type declaration struct {
	scheme      *scheme.Scheme
	codecs      *codec.Factory
	work        *generic.Work
	core        *generic.Server
	aggregator  *generic.Server  // where APIServices are
	resolve     callout.Resolver // finds services, for calls to servers behind and webhooks
	definitions *definitions.Definitions
	life        *life
	access      *access.Promise
	resources   *generic.Resources
	nodePorts   *ports.Allocator
	peers       *addresses.Peers
}

// declare registers the types and installs the configured groups. What is wrong with either is found here, and with the kinds of
// built-in groups in tests: those are compiled later. It reads nothing from the store, which is not open.
func declare(c completed, self *addresses.Self, t *generic.Table, m *metrics, store *backing.Store, reg *prometheus.Registry) (*declaration, error) {
	d := &declaration{scheme: scheme.New(), work: generic.NewWork(context.Background()), access: new(access.Promise)}
	span, _ := c.API.Services.NodePorts() // checked when the configuration was completed
	d.nodePorts, d.peers = ports.New(span), new(addresses.Peers)
	all := c.groups(surroundings{
		stores: generic.StoresOf(t), nodePorts: d.nodePorts, access: d.access, peers: d.peers,
		tokens: core.TokenConfig{Sign: d.access.Sign, Audiences: c.Authentication.Audiences, Bounds: d.access.Bounds},
	})
	for i := range all {
		all[i].Register(d.scheme)
	}
	if c.API.Core {
		d.scheme.AddOptions(api.Others()...)
	}
	if err := d.scheme.Complete(); err != nil {
		return nil, err
	}
	d.codecs = codec.NewFactory(d.scheme)
	kinds := kind.NewTypes(d.scheme, d.codecs)
	if err := kinds.CheckRules(); err != nil {
		return nil, err
	}
	cfg, discovery := &router.Config{
		Codecs: d.codecs, MinWatch: c.Limits.MinWatch, WatchStarted: m.resources.WatchStarted, DeprecatedUse: m.resources.DeprecatedUse,
		NoWatchLists: c.API.Without.WatchLists,
	}, router.NewDiscovery(d.codecs)
	if self.Secure {
		discovery.Address = self.External
	}
	chain, pluginsErr := plugins.New(&c.Admission, plugins.Needs{
		Stores: generic.StoresOf(t), May: d.access, Metrics: reg, Kubelets: c.access.Has(access.Node),
	})
	minor, _ := c.Storage.compatible() // checked when the configuration was completed
	common := registry.Config{Kinds: kinds, Codecs: d.codecs, Admission: chain, Prefix: t.Root(), Protobuf: c.Storage.Protobuf,
		NoGarbageCollection: c.API.Without.GarbageCollection, DeleteWorkers: c.Limits.DeleteWorkers}
	d.resources = generic.NewResources(generic.Needs{
		Table: t, Backends: backing.NewBackends(store, common, m.unreadable, c.Log),
		Reviews:    store.Reviewer,
		Compatible: minor, Forget: m.forget, Run: d.work.Run, Longest: c.Limits.longest(), Log: c.Log,
	})
	d.resolve = addresses.NewResolver(d.resources.Stores, c.API.Aggregation.ByEndpoints)
	var err error
	d.definitions, err = definitions.New(definitions.Needs{
		Host: d.resources, Home: d.resources.Backends().Main(), Router: cfg, Discovery: discovery, Before: d.serves, Shared: c.Storage.shared(),
		Resolve: d.resolve, Flawed: m.flaws.webhooks, Metrics: reg,
	})
	if err != nil {
		return d, err
	}
	d.core = generic.NewServer("core", cfg, discovery, d.definitions)
	d.aggregator = generic.NewServer("aggregator", cfg, discovery, d.core)
	alive, healthErr := health.New(health.Needs{Paths: d.core.Paths, Store: store, Timeouts: c.Storage.Timeouts, Lenient: c.Serving.LivezGrace,
		Started: processStart, Log: c.Log})
	d.life = newLife(c.Shutdown, alive, d.work)
	reg.MustRegister(d.resources.Collector())
	if err := errors.Join(pluginsErr, healthErr); err != nil {
		return d, err
	}
	groups, err := choice.Apply(choice.Config{Profile: c.API.Profile, Runtime: c.API.Runtime}, all, d.scheme)
	if err != nil {
		return d, err
	}
	if c.API.Core && c.API.Profile == "" { // with less, nothing is served that the plugins judge
		c.Admission.TellAbsence(groups, c.Log)
	}
	for i := range groups {
		on := d.core
		switch groups[i].Name {
		case apiServices.Group:
			on = d.aggregator
		case customResourceDefinitions.Group:
			on = d.definitions.Server()
		}
		if err := d.resources.Install(on, groups[i]); err != nil {
			return d, err
		}
	}
	warnOfNamespaces(groups, t, c.Log)
	return d, addresses.OpenNodePorts(d.resources, d.nodePorts)
}

// serves implements definitions.Before.
func (d *declaration) serves(group string) bool {
	return d.core.REST.Serves(group) || group == apiServices.Group
}

// close ends what a server that is not made has begun.
func (d *declaration) close() {
	if d != nil {
		d.resources.Table().Close()
		d.work.Stop()
		d.resources.Backends().CloseCaches()
	}
}

// follow has definitions followed, and the server wait for those that are stored before it is ready.
func (s *Server) follow(d *definitions.Definitions) error {
	hooks, err := d.Start()
	return errors.Join(err, s.addHooks(hooks...))
}

// populate gives a server that is complete what runs beside its resources.
func (s *Server) populate(c completed) error {
	stored := upkeep.New(upkeep.Needs{
		Host: s.Resources, Backends: s.Backends(), Unread: s.definitions.Unread, CompactionInterval: c.Storage.CompactionInterval,
	})
	stored.Start()
	if e := s.Backends().Main().Encryption(); e.Follows() {
		err := s.addHooks(generic.Hook{Name: "start-encryption-provider-config-automatic-reload", Run: func(context.Context) error {
			s.Go(func(ctx context.Context) { e.Follow(ctx, s.Go) })
			return nil
		}})
		if err != nil {
			return err
		}
	}
	var deciding []meta.GroupResource
	if c.access.Has(access.RBAC) {
		deciding = access.RoleResources()
	}
	if err := s.addHooks(health.Reads(s, s.Backends().Main().Store, deciding, plugins.Reads())...); err != nil {
		return err
	}
	if err := s.addHooks(s.addresses.ServiceHooks()...); err != nil {
		return err
	}
	made, err := bootstrap.New(bootstrap.Needs{
		Host: s.Resources, Client: s.client, Run: s.life.controllers.Run, Ready: s.life.ready, Defined: s.definitions.Seen(),
		Manifests: c.API.Manifests, Objects: c.API.Objects, FlowStatus: !c.API.Without.PriorityAndFairness,
	})
	if err != nil {
		return err
	}
	if err := s.addHooks(made.Hooks()...); err != nil {
		return err
	}
	if err := s.addControllers(c.Controllers, c.Storage.shared()); err != nil {
		return err
	}
	if err := errors.Join(s.addHooks(s.addresses.ServerHooks()...), s.life.preShutdown.Add(s.addresses.PreShutdownHooks()...)); err != nil {
		return err
	}
	registration := &aggregator.Registration{
		Host: s.Resources, Client: s.client, Yields: s.addresses.Peers().Foreign, Ready: s.Ready(),
		Definitions: aggregator.Definitions{
			All: s.definitions.Versions, Changed: s.definitions.VersionsChanged, Hidden: s.definitions.UnreadIn,
		},
		Loop: s.life.controllers.Run, Log: s.loopLog("apiservice-registration"),
	}
	if err := s.addHooks(registration.Hooks()...); err != nil {
		return err
	}
	if err := s.identity.Accounts.ServeIssuer(s.Core.Paths, &c.Authentication.ServiceAccounts, s.addresses.Self().External, s.Log()); err != nil {
		return err
	}
	if err := s.addAuthenticationTrust(&c.Authentication.FrontProxy); err != nil {
		return err
	}
	if err := errors.Join(inspect.Install(&c.Serving.Debug, s.inspected(&c)), stored.Install(s.Core.Paths)); err != nil {
		return err
	}
	if c.Setup != nil {
		return c.Setup(s)
	}
	return nil
}

// inspected is what the server is inspected by.
func (s *Server) inspected(c *completed) inspect.Needs {
	version := VersionInfo(c.API.Version)
	minor, _ := c.Storage.compatible() // checked when the configuration was completed
	version.MinCompatibilityMinor = strconv.Itoa(minor)
	return inspect.Needs{
		On: s.Core, Codecs: s.Codecs, Metrics: s.Metrics, Version: version, Started: processStart, Go: s.Go, Log: s.Log(),
	}
}

// newGate makes what decides which requests may run. The configuration's word for no bound is a
// negative one, the gate's is 0.
func newGate(c LimitsConfig, reg prometheus.Registerer) filters.Gate {
	limit := func(n int) int64 { return int64(max(n, 0)) }
	return filters.NewInFlight(filters.Limits{Reads: limit(c.MaxReads), Writes: limit(c.MaxWrites), Long: limit(c.MaxWatches)}, reg)
}

// Handler is the whole server as an http.Handler, filters included.
func (s *Server) Handler() http.Handler { return s.handler }

// HandleGet serves GET requests at a path that is no API resource, as PrefixMux.Handle understands paths. They come
// through all filters: who may ask is decided by rules for non-resource URLs. An error that get returns, before it
// has written anything, is answered as a Status. For other methods there is Core.Paths.
func (s *Server) HandleGet(path string, get func(w http.ResponseWriter, r *http.Request) error) error {
	return s.Core.Paths.Handle(path, router.ReadOnly(router.Plain(get)))
}
