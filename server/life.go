package server

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/server/connections"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/health"
)

// processStart is when the process began, within milliseconds.
var processStart = time.Now()

// life is the state of a server from start to shutdown: readiness, hooks, running requests,
// background work, and the ends of all parts.
type life struct {
	shutdown    ShutdownConfig
	health      *health.Health
	preShutdown *health.Hooks
	drain       *filters.Drain
	bursts      *connections.Bursts // told of bursts: connections, watches, documents, the start
	work        *generic.Work       // what Server.Go runs
	controllers *generic.Work       // loops that are clients of the server: stopped before requests are refused

	ends     *ends         // what Close ends
	used     atomic.Bool   // Run or Close has been called
	ready    chan struct{} // closed when all post-start hooks have run
	closing  sync.Once
	closeErr error // written in closing
}

// newLife makes the life of a server. controllers is a part of work, so it also ends with work.
func newLife(c ShutdownConfig, h *health.Health, work *generic.Work, e *ends) *life {
	drain := filters.NewDrain()
	bursts := &connections.Bursts{}
	drain.Spread, drain.OnLongRunning = c.WatchGrace, bursts.Arrived
	return &life{
		shutdown: c, health: h, preShutdown: &health.Hooks{}, drain: drain, bursts: bursts,
		work: work, controllers: work.Part(), ends: e, ready: make(chan struct{}),
	}
}

// Ready is closed when the server listens and all post-start hooks have run.
func (s *Server) Ready() <-chan struct{} { return s.life.ready }

// Go runs work in a goroutine. Its context ends when the server stops; work must then return, and
// Run waits for it. After the server has stopped Go does nothing.
func (s *Server) Go(work func(ctx context.Context)) { s.life.work.Run(work) }

// Run serves until ctx ends or a listener fails, and returns when everything has ended. A server
// runs once.
//
// Shutdown has these steps, in order: readiness fails; ShutdownConfig.Delay passes; the
// pre-shutdown hooks run; controllers stop; new requests are refused and watches end, over
// ShutdownConfig.WatchGrace; running requests end, within ShutdownConfig.Timeout; the listeners
// close; work of Go ends; caches and stores close.
func (s *Server) Run(ctx context.Context) error {
	if s.life.used.Swap(true) {
		return errors.New("server: Run was called again, or after Close")
	}
	if err := s.listen(); err != nil {
		return errors.Join(err, s.listeners.Close(ctx), s.Close())
	}
	failed := s.listeners.Serve(s.handler)
	hookFailed := make(chan error, 1)
	s.Go(func(ctx context.Context) {
		if s.life.health.RunHooks(ctx, first(hookFailed)) {
			s.life.bursts.Burst() // the start
			close(s.life.ready)
		}
	})
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	case err = <-hookFailed:
	}
	return errors.Join(err, s.shutDown(), s.Close())
}

// first returns a function that sends an error to c, unless c is full. c must have room for one
// error, so the first error is kept and nobody blocks.
func first(c chan error) func(error) {
	return func(err error) {
		select {
		case c <- err:
		default:
		}
	}
}

// shutDown does the steps of Run's shutdown that need the listeners: all up to their close. Close
// does the rest.
func (s *Server) shutDown() error {
	l := s.life
	l.health.Stop()
	s.Log().Info("shutting down")
	time.Sleep(l.shutdown.Delay)
	hooksTime, cancelHooks := context.WithTimeout(l.work.Context(), l.shutdown.Timeout)
	defer cancelHooks()
	hookFailed := make(chan error, 1)
	var err error
	if !l.preShutdown.Run(hooksTime, first(hookFailed)) {
		err = <-hookFailed
	}
	l.controllers.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), l.shutdown.Timeout+l.shutdown.WatchGrace)
	defer cancel()
	if l.shutdown.RefuseNew {
		err = errors.Join(err, l.drain.Refuse(ctx))
	}
	err = errors.Join(err, l.drain.Close(ctx))
	linger, cancelLinger := context.WithTimeout(ctx, l.shutdown.Linger)
	defer cancelLinger()
	closeErr := s.listeners.Close(linger)
	if errors.Is(closeErr, context.DeadlineExceeded) && ctx.Err() == nil {
		s.Log().Info("cut connections that did not end in time")
		closeErr = nil
	}
	return errors.Join(err, closeErr)
}

// Close ends all parts of the server and does not wait for requests. Run calls it. Call it on a
// server that is not run.
func (s *Server) Close() error {
	l := s.life
	l.used.Store(true)
	l.closing.Do(func() {
		l.closeErr = l.ends.run()
	})
	return l.closeErr
}
