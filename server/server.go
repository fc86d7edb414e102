package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/core"
	"github.com/coracle-project/coracle/registry/ports"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/connections"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/plugins"
	"github.com/coracle-project/coracle/storage"
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
	addresses *addresses
	handler   http.Handler
	client    *client.Client
	identity  *identity.Identity
	listeners *connections.Listeners
	life      *life
}

// links are what the first and the last link of the chain know.
type links struct {
	definitions *definitions
	behind      *aggregator // the servers behind this one
}

// addresses are what services are given, and who else gives it.
type addresses struct {
	nodePorts *ports.Allocator
	peers     *peers // the other servers on the store
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
	store := c.newStore(table, metrics.store, encryption, accepting(table, declared))
	var opening sync.WaitGroup
	var who *identity.Identity
	var storeErr, identityErr error
	opening.Go(func() { storeErr = store.Open(ctx) })
	opening.Go(func() { encryption.Ask(ctx) })
	opening.Go(func() { who, identityErr = identity.New(ctx, c.identityNeeds(reg)) })
	d, declareErr := declare(c, table, metrics, store, reg)
	close(declared)
	opening.Wait()
	if err := errors.Join(metricsErr, encryptionErr, storeErr, identityErr, declareErr); err != nil {
		if who != nil {
			who.Accounts.Close()
		}
		d.close()
		return nil, errors.Join(err, store.Close())
	}
	who.Accounts.Follow(d.life.work.run, c.Log)
	tracer, err := newTracer(c.Serving.Debug.TracingFile, d.life.work, c.Log)
	if err != nil {
		d.close()
		return nil, errors.Join(err, store.Close())
	}
	authenticator, tokens, err := who.Authenticators(&c.Authentication, identity.Surroundings{
		Stores: d.resources.Stores, Run: d.life.work.run, Metrics: reg, Flawed: metrics.flaws.webhooks, Log: c.Log,
	})
	if err != nil {
		d.close()
		return nil, errors.Join(err, store.Close())
	}
	authorizers, err := access.New(c.access, access.Needs{
		Stores: d.resources.Stores, Metrics: reg, Flawed: metrics.flaws.webhooks, Run: d.life.work.run, Log: c.Log,
	})
	if err != nil {
		d.close()
		return nil, errors.Join(err, store.Close())
	}
	d.access.Keep(access.Answers{Tokens: tokens, Audiences: c.Authentication.Audiences, Authorizers: authorizers, Issuer: who.Accounts})
	gate := newGate(c.Limits, reg)
	d.aggregator.certificate, d.aggregator.gate = who.Proxy, gate
	handler := filters.Chain(d.aggregator, filters.Config{
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
	d.schemas.Made = d.life.crowd.Burst
	client, clientErr := newLoopback(handler, who.Loopback, d.codecs, d.resources, metrics.unreadable)
	listeners, listenersErr := connections.New(c.Serving.connections(who.TLSConfig(c.Serving.protocols()), c.Limits.longest(), d.life.crowd, filters.LimitLog(c.Log)), reg)
	if err := errors.Join(clientErr, listenersErr, newVersionMetrics(reg, c.API.Version)); err != nil {
		d.close()
		return nil, errors.Join(err, store.Close())
	}
	s := &Server{
		Scheme: d.scheme, Codecs: d.codecs, Chain: Chain{Aggregator: d.aggregator.on, Core: d.core, Extensions: d.extensions}, Metrics: reg,
		Resources: d.resources, links: links{d.definitions, d.aggregator}, addresses: d.addresses,
		handler: handler, client: client, identity: who,
		listeners: listeners,
		life:      d.life,
	}
	d.core.Discovery.Address = func() string {
		if c.Serving.SecurePort == NoPort {
			return ""
		}
		return s.external(&c.Serving)
	}
	if err := errors.Join(d.aggregator.begin(s), d.definitions.begin(s), s.addManifests(&c.API, d.definitions.seen), s.addHooks(authorizers.Hooks(client, d.life.controllers.run)...)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// declaration is what a server serves, before it can be asked for it.
type declaration struct {
	scheme           *scheme.Scheme
	codecs           *codec.Factory
	core, extensions *generic.Server
	aggregator       *aggregator
	definitions      *definitions
	life             *life
	access           *access.Promise
	schemas          *router.OpenAPI
	resources        *generic.Resources
	addresses        *addresses
}

// declare registers the types and installs the configured groups. What is wrong with either is found here, and with the kinds of
// built-in groups in tests: those are compiled later. It reads nothing from the store, which is not open.
func declare(c completed, t *generic.Table, m *metrics, store *backing.Store, reg *prometheus.Registry) (*declaration, error) {
	d := &declaration{scheme: scheme.New(), access: new(access.Promise)}
	span, _ := c.API.Services.nodePorts() // checked when the configuration was completed
	d.addresses = &addresses{nodePorts: ports.New(span), peers: new(peers)}
	all := c.groups(surroundings{
		stores: generic.StoresOf(t), nodePorts: d.addresses.nodePorts, access: d.access, peers: d.addresses.peers,
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
		Codecs: d.codecs, MinWatch: c.Limits.MinWatch, WatchStarted: m.watches.started, DeprecatedUse: m.deprecatedUse,
		NoWatchLists: c.API.Without.WatchLists,
	}, router.NewDiscovery(d.codecs)
	d.extensions = generic.NewServer("extensions", cfg, discovery, nil)
	d.core = generic.NewServer("core", cfg, discovery, d.extensions)
	d.life = newLife(c.Shutdown, newHealth(d.core.Paths, store, c.Storage.CheckTimeouts, c.Serving.LivezGrace, c.Log))
	chain, pluginsErr := plugins.New(&c.Admission, plugins.Needs{
		Stores: generic.StoresOf(t), May: d.access, Metrics: reg, Kubelets: c.access.Has(access.Node),
	})
	minor, _ := c.Storage.compatible() // checked when the configuration was completed
	common := registry.Config{Kinds: kinds, Codecs: d.codecs, Admission: chain, Prefix: t.Root(), Protobuf: c.Storage.Protobuf,
		NoGarbageCollection: c.API.Without.GarbageCollection, DeleteWorkers: c.Limits.DeleteWorkers}
	d.resources = generic.NewResources(generic.Needs{
		Table: t, Backends: backing.NewBackends(store, common, m.unreadable, c.Log),
		Reviews:    store.Reviewer,
		Compatible: minor, Forget: m.forget, Run: d.life.work.run, Longest: c.Limits.longest(), Log: c.Log,
	})
	d.aggregator = newAggregator(c.API.Aggregation, d.resources, generic.NewServer("aggregator", cfg, discovery, d.core), m, d.life.work, c.Log)
	d.aggregator.ends = d.life.controllers.ctx
	d.definitions = newDefinitions(d.resources, d.extensions, d.aggregator.resolve, m, d.life.work, c.Log)
	d.definitions.endChain(d.core, c.Storage.shared())
	reg.MustRegister(&cacheCollector{d.resources})
	d.schemas = newOpenAPI(d.core, d.scheme, d.codecs, &c)
	d.schemas.AskRemote = d.aggregator.docs.askV2
	version := VersionInfo(c.API.Version)
	version.MinCompatibilityMinor = strconv.Itoa(minor)
	pathsErr := errors.Join(d.life.health.install(), installPaths(d.core, d.schemas, shownMetrics{reg, &c.Serving.Debug.Metrics}, version))
	if err := errors.Join(pluginsErr, pathsErr); err != nil {
		return d, err
	}
	groups, err := choose(&c.API, all, d.scheme)
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
			on = d.aggregator.on
		case customResourceDefinitions.Group:
			on = d.extensions
		}
		if err := d.resources.Install(on, groups[i]); err != nil {
			return d, err
		}
	}
	warnOfNamespaces(groups, t, c.Log)
	return d, openNodePorts(d.resources, d.addresses.nodePorts)
}

// close ends what a server that is not made has begun.
func (d *declaration) close() {
	if d != nil {
		d.resources.Table().Close()
		d.life.work.stop()
		d.resources.Backends().CloseCaches()
	}
}

// populate gives a server that is complete what runs beside its resources.
func (s *Server) populate(c completed) error {
	if c.Storage.CompactionInterval > 0 {
		for _, b := range s.Backends() {
			compactor := &storage.Compactor{Store: b, Interval: c.Storage.CompactionInterval, Failed: func(err error) {
				s.Log().Log(backing.Severity(err), "compaction failed; it will be tried again", zap.Error(err))
			}}
			s.Go(compactor.Run)
		}
	}
	if e := s.Backends().Main().Encryption(); e.Follows() {
		err := s.AddPostStartHook(Hook{Name: "start-encryption-provider-config-automatic-reload", Run: func(_ context.Context, s *Server) error {
			s.Go(func(ctx context.Context) { e.Follow(ctx, s.Go) })
			return nil
		}})
		if err != nil {
			return err
		}
	}
	if err := s.addReadHooks(c.access.Has(access.RBAC)); err != nil {
		return err
	}
	if err := s.addServiceAddresses(&c); err != nil {
		return err
	}
	if err := s.addControllers(c.Controllers, c.Storage.shared()); err != nil {
		return err
	}
	if !c.API.Without.PriorityAndFairness {
		if err := s.addFlowStatus(); err != nil {
			return err
		}
	}
	if err := s.addKubernetesService(c); err != nil {
		return err
	}
	if err := s.addIdentityLease(c.Storage.shared() && !c.API.Without.IdentityLease); err != nil {
		return err
	}
	if err := s.addAPIServiceRegistration(); err != nil {
		return err
	}
	if err := s.addIssuerPaths(c); err != nil {
		return err
	}
	if err := s.addAuthenticationTrust(&c.Authentication.FrontProxy); err != nil {
		return err
	}
	if err := errors.Join(s.addDebug(&c.Serving.Debug), s.addCheck(), s.addDefragment()); err != nil {
		return err
	}
	if c.Setup != nil {
		return c.Setup(s)
	}
	return nil
}

// newGate makes what decides which requests may run. The configuration's word for no bound is a
// negative one, the gate's is 0.
func newGate(c LimitsConfig, reg prometheus.Registerer) filters.Gate {
	limit := func(n int) int64 { return int64(max(n, 0)) }
	return filters.NewInFlight(filters.Limits{Reads: limit(c.MaxReads), Writes: limit(c.MaxWrites), Long: limit(c.MaxWatches)}, reg)
}

// Handler is the whole server as an http.Handler, filters included.
func (s *Server) Handler() http.Handler { return s.handler }

// Log is the server's log.
func (s *Server) Log() *zap.Logger { return s.life.health.log }
