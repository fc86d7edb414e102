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

// life is the course of a server: what it does at the start and at the end, and what runs in
// between.
type life struct {
	shutdown    ShutdownConfig
	health      *health.Health
	preShutdown *health.Hooks
	drain       *filters.Drain
	crowd       *connections.Crowd // of connections, requests that stay, documents, the start
	work        *generic.Work      // of Go
	controllers *generic.Work      // clients of the server, and so stopped before it turns requests away

	ends     *ends         // what Close ends
	used     atomic.Bool   // Run or Close has been called
	ready    chan struct{} // closed when all post-start hooks have run
	closing  sync.Once
	closeErr error // of closing
}

func newLife(c ShutdownConfig, h *health.Health, work *generic.Work, e *ends) *life {
	drain := filters.NewDrain()
	crowd := &connections.Crowd{}
	drain.Spread, drain.Stays = c.WatchGrace, crowd.Came
	return &life{
		shutdown: c, health: h, preShutdown: &health.Hooks{}, drain: drain, crowd: crowd,
		work: work, controllers: work.Part(), ends: e, ready: make(chan struct{}),
	}
}

// Ready is closed when the server listens and all post-start hooks have run.
func (s *Server) Ready() <-chan struct{} { return s.life.ready }

// Go runs work that ends when its context does, which is when the server stops. Run waits for it. A
// server that has stopped runs nothing any more.
func (s *Server) Go(work func(ctx context.Context)) { s.life.work.Run(work) }

// Run serves until ctx ends or a listener fails, and returns when everything has ended. A server
// runs once.
//
// On the way down it fails readiness, waits for ShutdownConfig.Delay, runs the pre-shutdown hooks,
// stops its controllers, turns new requests away, ends watches, over ShutdownConfig.WatchGrace,
// waits for running requests up to ShutdownConfig.Timeout, closes the listeners, ends what runs
// with Go, and closes cache and store.
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
			s.life.crowd.Burst() // the start
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

// first returns a function that sends the first error it is called with to c, which has room for
// it.
func first(c chan error) func(error) {
	return func(err error) {
		select {
		case c <- err:
		default:
		}
	}
}

// shutDown sees the requests out, and then the connections.
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
		s.Log().Info("cut the connections that did not end")
		closeErr = nil
	}
	return errors.Join(err, closeErr)
}

// Close ends everything without waiting for requests. Run calls it; it is for servers that are not
// run.
func (s *Server) Close() error {
	l := s.life
	l.used.Store(true)
	l.closing.Do(func() {
		l.closeErr = l.ends.run()
	})
	return l.closeErr
}
