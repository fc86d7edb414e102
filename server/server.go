package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/storage"
)

// Server is an API server. Make it with New, serve with Run. Its parts are complete when New has made it; what changes
// after that is inside of them.
type Server struct {
	Scheme *scheme.Scheme
	Codecs *codec.Factory
	// Core serves the configured groups. Paths of one's own go to Core.Paths, before Run.
	Core *GenericServer
	// Metrics is the registry behind /metrics.
	Metrics *prometheus.Registry

	*resources
	log       *zap.Logger
	handler   http.Handler
	client    *client.Client
	identity  *identity
	listeners *listeners
	life      *life
}

// New makes a server from cfg: it opens the store, and certificates are made if there are none. What is wrong with cfg
// is reported all at once. A server that is not Run must be Closed.
//
// ctx bounds New alone, not the server: with its end New gives up waiting for the store, which may be an etcd that does
// not answer or a log that is being replayed, and returns the cause.
func New(ctx context.Context, cfg Config) (*Server, error) {
	c, err := cfg.complete()
	if err == nil {
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

// build makes a server without resources: its parts, in the order in which they need each other. If it fails it leaves
// nothing open.
func build(ctx context.Context, c completed) (_ *Server, err error) {
	reg, inflight := prometheus.NewRegistry(), newInFlight(c.Limits)
	prefix := c.Storage.Prefix + "/"
	table := newTable(prefix)
	metrics, metricsErr := newMetrics(reg, inflight, table)
	base, err := layBase(ctx, c, table, metrics.store)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, base.store.Close())
		}
	}()
	codecs := codec.NewFactory(base.scheme)
	core := NewGenericServer("core", &router.Config{
		Codecs: codecs, MinWatch: c.Limits.MinWatch, WatchStarted: metrics.watches.started,
	}, router.NewDiscovery(codecs), nil)
	life := newLife(c.Shutdown, newHealth(core.Paths, base.store, c.Log))
	pathsErr := errors.Join(life.health.install(), installPaths(core, codecs, reg, c.Serving.Profiling))

	handler := filters.Chain(core, filters.Config{
		Fail:           router.WriteError,
		Authenticator:  acquainted{base.identity.authenticator(c.Authentication)},
		Authorizer:     newAuthorizer(c.Authorization),
		Log:            c.Log,
		Metrics:        metrics.requests,
		Drain:          life.drain,
		InFlight:       inflight,
		RequestTimeout: c.Limits.RequestTimeout,
		Origins:        c.origins,
	}.Steps()...)
	client, clientErr := newLoopback(handler, base.identity.loopback, codecs)
	plugins, pluginsErr := newAdmission(c.Admission, Stores{table})
	if err := errors.Join(metricsErr, pathsErr, clientErr, pluginsErr); err != nil {
		return nil, err
	}
	backend := newBackend(base.store, registry.Config{
		Kinds: kind.NewTypes(base.scheme, codecs), Codecs: codecs, Admission: plugins, Prefix: prefix, Protobuf: c.Storage.Protobuf,
	}, c.Log)
	reg.MustRegister(&cacheCollector{table, backend})
	return &Server{
		Scheme: base.scheme, Codecs: codecs, Core: core, Metrics: reg,
		resources: &resources{
			Stores: Stores{table}, backend: backend, metrics: metrics, log: c.Log,
			work: life.work, longest: c.Limits.RequestTimeout + writeGrace,
		},
		log: c.Log, handler: handler, client: client, identity: base.identity,
		listeners: newListeners(c.Serving, newConns(maxConns(maxFiles()), c.Log)),
		life:      life,
	}, nil
}

// base is what a server stands on, and what takes time to make.
type base struct {
	store    *opened
	identity *identity
	scheme   *scheme.Scheme
}

// layBase opens the store and makes the certificates while the types are compiled. If it fails it leaves nothing open.
func layBase(ctx context.Context, c completed, t *table, m *storeMetrics) (*base, error) {
	b := &base{scheme: scheme.New()}
	var storeErr, identityErr error
	var opening sync.WaitGroup
	opening.Go(func() { b.store, storeErr = openStore(ctx, c, t, m) })
	opening.Go(func() { b.identity, identityErr = newIdentity(c) })
	for i := range c.API.Groups {
		c.API.Groups[i].AddToScheme(b.scheme)
	}
	schemeErr := b.scheme.Complete()
	opening.Wait()
	err := errors.Join(storeErr, identityErr, schemeErr)
	if err != nil && b.store != nil {
		err = errors.Join(err, b.store.Close())
	}
	return b, err
}

// populate gives a server that is complete its resources, and what runs beside them.
func (s *Server) populate(c completed) error {
	for i := range c.API.Groups {
		if err := s.Install(s.Core, c.API.Groups[i]); err != nil {
			return err
		}
	}
	if c.Storage.CompactionInterval > 0 {
		compactor := &storage.Compactor{Store: s.backend.opened, Interval: c.Storage.CompactionInterval, Failed: func(err error) {
			s.log.Log(severity(err), "compaction failed; it will be tried again", zap.Error(err))
		}}
		s.Go(compactor.Run)
	}
	if err := s.addControllers(c.Controllers); err != nil {
		return err
	}
	if c.Setup != nil {
		return c.Setup(s)
	}
	return nil
}

// newInFlight bounds requests. The configuration's word for no bound is a negative one, the filter's is 0.
func newInFlight(c LimitsConfig) *filters.InFlight {
	limit := func(n int) int64 { return int64(max(n, 0)) }
	return &filters.InFlight{Reads: limit(c.MaxReads), Writes: limit(c.MaxWrites), Long: limit(c.MaxWatches)}
}

// Handler is the whole server as an http.Handler, filters included.
func (s *Server) Handler() http.Handler { return s.handler }

// Log is the server's log.
func (s *Server) Log() *zap.Logger { return s.log }
