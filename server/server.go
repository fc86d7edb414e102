package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/storage"
)

// Server is an API server. Make it with New, serve with Run.
type Server struct {
	cfg Config
	log *zap.Logger

	Scheme *scheme.Scheme
	Codecs *codec.Factory
	// Core serves the configured groups. Paths of one's own go to Core.Paths, before Run.
	Core *GenericServer
	// Metrics is the registry behind /metrics.
	Metrics *prometheus.Registry

	main     *backend      // where all resources live
	table    *table        // of the resources
	declared chan struct{} // closed when the table has the configured groups, or their declaration has failed
	metrics  *metrics

	handler  http.Handler
	inflight *filters.InFlight
	drain    *filters.Drain
	identity *identity
	client   *client.Client
	loopback string // the token of client

	postStart, preShutdown hooks
	failing                sync.Map    // names of the health checks that failed when they were last made
	used                   atomic.Bool // Run or Close has been called
	stopping               atomic.Bool
	ready                  chan struct{} // closed when all post-start hooks have run

	listeners   listeners
	work        sync.WaitGroup // of Go
	controllers controllers
	ctx         context.Context
	cancel      context.CancelFunc
	closeOnce   sync.Once
	closeErr    error
}

// New makes a server from cfg: it opens the store, and certificates are made if there are none. What is wrong with cfg
// is reported all at once. A server that is not Run must be Closed.
//
// ctx bounds New alone, not the server: with its end New gives up waiting for the store, which may be an etcd that does
// not answer or a log that is being replayed, and returns the cause.
func New(ctx context.Context, cfg Config) (*Server, error) {
	err := cfg.complete()
	if err == nil {
		err = cfg.makeDataDir()
	}
	if err != nil {
		if cfg.Store != nil {
			cfg.Store.Close()
		}
		return nil, fmt.Errorf("server: %w", err)
	}
	s := &Server{
		cfg:      cfg,
		log:      cfg.Log,
		Scheme:   scheme.New(),
		Metrics:  prometheus.NewRegistry(),
		drain:    filters.NewDrain(),
		table:    newTable(cfg.EtcdPrefix + "/"),
		ready:    make(chan struct{}),
		declared: make(chan struct{}),
	}
	s.listeners.conns = newConns(maxConns(maxFiles()), s.log)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.controllers.ctx, s.controllers.cancel = context.WithCancel(s.ctx)
	if err := s.build(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// build makes the parts in the order in which they need each other. The store opens and the certificates are made
// while the types are compiled and the resources declared.
func (s *Server) build(ctx context.Context) error {
	var opening sync.WaitGroup
	var storeErr, identityErr, encryptionErr error
	s.inflight = &filters.InFlight{Reads: limit(s.cfg.MaxReads), Writes: limit(s.cfg.MaxWrites), Long: limit(s.cfg.MaxWatches)}
	metricsErr := s.buildMetrics()
	s.main, encryptionErr = s.newBackend()
	opening.Go(func() { storeErr = s.main.open(ctx, s) })
	opening.Go(func() { s.identity, identityErr = newIdentity(&s.cfg) })
	declareErr := s.declare()
	opening.Wait()
	if err := errors.Join(storeErr, identityErr, encryptionErr, metricsErr, declareErr); err != nil {
		return err
	}
	if err := s.buildClient(); err != nil {
		return err
	}
	if s.cfg.CompactionInterval > 0 {
		compactor := &storage.Compactor{Store: s.main.store, Interval: s.cfg.CompactionInterval, Failed: func(err error) {
			s.log.Log(severity(err), "compaction failed; it will be tried again", zap.Error(err))
		}}
		s.Go(compactor.Run)
	}
	if err := errors.Join(s.buildAdmission(), s.buildControllers(), s.buildHandler()); err != nil {
		return err
	}
	if s.cfg.Setup != nil {
		return s.cfg.Setup(s)
	}
	return nil
}

// declare compiles the types and installs the configured groups. It reads nothing from the store, which may wait for it to
// know what its files are.
func (s *Server) declare() error {
	defer close(s.declared)
	for i := range s.cfg.Groups {
		s.cfg.Groups[i].AddToScheme(s.Scheme)
	}
	if err := s.Scheme.Complete(); err != nil {
		return err
	}
	s.Codecs = codec.NewFactory(s.Scheme)
	s.main.serve(s)
	s.Core = NewGenericServer("core", &router.Config{
		Codecs: s.Codecs, MinWatch: s.cfg.MinWatch, WatchStarted: s.metrics.watches.started,
	}, router.NewDiscovery(s.Codecs), nil)
	for i := range s.cfg.Groups {
		if err := s.Install(s.Core, s.cfg.Groups[i]); err != nil {
			return err
		}
	}
	return nil
}

// buildAdmission makes the chain of plugins that every write passes.
func (s *Server) buildAdmission() error {
	var chain admission.Chain
	if namespaces := s.Store(meta.GroupResource{Resource: "namespaces"}); namespaces != nil {
		chain = append(chain, admission.NewNamespaceLifecycle(namespaces))
	}
	chain = append(chain, admission.TaintNodesByCondition{}, admission.Priority{}, admission.DefaultTolerationSeconds{})
	if s.cfg.Admission != nil {
		more, err := s.cfg.Admission(s)
		if err != nil {
			return err
		}
		chain = append(chain, more...)
	}
	s.main.registry.Admission = chain
	return nil
}

// buildHandler puts the filters around the delegation chain.
func (s *Server) buildHandler() error {
	if err := s.installPaths(); err != nil {
		return err
	}
	origins := make([]*regexp.Regexp, len(s.cfg.CORSOrigins))
	for i, o := range s.cfg.CORSOrigins {
		origins[i] = regexp.MustCompile(o) // validate has compiled it
	}
	authenticator, err := s.authenticator()
	if err != nil {
		return err
	}
	steps := filters.Config{
		Fail:           router.WriteError,
		Authenticator:  acquainted{authenticator},
		Authorizer:     s.authorizer(),
		Log:            s.log,
		Metrics:        s.metrics.requests,
		Drain:          s.drain,
		InFlight:       s.inflight,
		RequestTimeout: s.cfg.RequestTimeout,
		Origins:        origins,
	}.Steps()
	s.handler = filters.Chain(s.Core, steps...)
	return nil
}

// limit turns a configured bound, negative for none, into the filter's, 0 for none.
func limit(n int) int64 { return int64(max(n, 0)) }

// authorizer asks the configured authorizer first, then the mode's.
func (s *Server) authorizer() request.Authorizer {
	all := []request.Authorizer{authz.Privileged(request.GroupMasters)}
	if s.cfg.Authorizer != nil {
		all = append(all, s.cfg.Authorizer)
	}
	switch s.cfg.Authorization {
	case AuthorizeAlways:
		all = append(all, authz.AlwaysAllow())
	case AuthorizeNever:
		all = append(all, authz.AlwaysDeny())
	case AuthorizePrivileged:
		all = append(all, authz.Discovery())
	}
	return authz.Union(all...)
}

// Handler is the whole server as an http.Handler, filters included.
func (s *Server) Handler() http.Handler { return s.handler }

// Ready is closed when the server listens and all post-start hooks have run.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Log is the server's log.
func (s *Server) Log() *zap.Logger { return s.log }

// Go runs work that ends when its context does, which is when the server stops. Run waits for it.
func (s *Server) Go(work func(ctx context.Context)) {
	s.work.Go(func() { work(s.ctx) })
}

// Run serves until ctx ends or a listener fails, and returns when everything has ended. A server runs once.
//
// On the way down it fails readiness, waits for ShutdownDelay, runs the pre-shutdown hooks, stops its controllers, turns new
// requests away, ends watches, waits for running requests up to ShutdownTimeout, closes the listeners, ends what runs
// with Go, and closes cache and store.
func (s *Server) Run(ctx context.Context) error {
	if s.used.Swap(true) {
		return errors.New("server: Run was called again, or after Close")
	}
	if err := s.listen(); err != nil {
		return errors.Join(err, s.listeners.close(ctx), s.Close())
	}
	failed := s.listeners.serve(s.handler, s.cfg.RequestTimeout+writeGrace, filters.LimitLog(s.log))
	hookFailed := make(chan error, 1)
	s.Go(func(ctx context.Context) {
		if s.postStart.run(ctx, s, first(hookFailed)) {
			close(s.ready)
		}
	})
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	case err = <-hookFailed:
	}
	return errors.Join(err, s.shutdown(), s.Close())
}

// first returns a function that sends the first error it is called with to c, which has room for it.
func first(c chan error) func(error) {
	return func(err error) {
		select {
		case c <- err:
		default:
		}
	}
}

// lingerTime is how long connections have to end when all requests have been served. What takes longer is not
// reading its answer, or has never asked for anything.
const lingerTime = 5 * time.Second

// shutdown sees the requests out, and then the connections.
func (s *Server) shutdown() error {
	s.stopping.Store(true)
	s.log.Info("shutting down")
	time.Sleep(s.cfg.ShutdownDelay)
	hooksTime, cancelHooks := context.WithTimeout(s.ctx, s.cfg.ShutdownTimeout)
	defer cancelHooks()
	hookFailed := make(chan error, 1)
	var err error
	if !s.preShutdown.run(hooksTime, s, first(hookFailed)) {
		err = <-hookFailed
	}
	s.controllers.stop()
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.ShutdownTimeout)
	defer cancel()
	err = errors.Join(err, s.drain.Close(ctx))
	linger, cancelLinger := context.WithTimeout(ctx, lingerTime)
	defer cancelLinger()
	closeErr := s.listeners.close(linger)
	if errors.Is(closeErr, context.DeadlineExceeded) && ctx.Err() == nil {
		s.log.Info("cut the connections that did not end")
		closeErr = nil
	}
	return errors.Join(err, closeErr)
}

// Close ends everything without waiting for requests. Run calls it; it is for servers that are not run.
func (s *Server) Close() error {
	s.used.Store(true)
	s.closeOnce.Do(func() {
		s.table.close()
		s.cancel()
		s.controllers.stop()
		s.work.Wait()
		s.closeErr = s.main.close()
	})
	return s.closeErr
}

// Address returns where the server listens for HTTPS, or nil before Run listens or without that port.
func (s *Server) Address() net.Addr {
	secure, _ := s.listeners.addresses()
	return secure
}

// PlainAddress is Address for plain HTTP.
func (s *Server) PlainAddress() net.Addr {
	_, plain := s.listeners.addresses()
	return plain
}
