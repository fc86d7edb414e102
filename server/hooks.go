package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/coracle-project/coracle/server/generic"
)

// Hook is work that begins after the server listens, or has to be done before it stops. The context of a post-start
// hook ends with the server; that of a pre-shutdown hook after ShutdownConfig.Timeout.
type Hook struct {
	Name string
	// Run does the work. A post-start hook that returns an error ends the server; what it leaves running must be
	// ended by the context and is not waited for, unless it was started with Server.Go.
	Run func(ctx context.Context, s *Server) error

	completes healthCheck // a check of its own, as Kubernetes has one for what the hook does; the zero one for none
}

// hooks are those of one occasion, with their state. Readiness waits for all post-start hooks.
type hooks struct {
	mu    sync.Mutex
	list  []Hook
	state map[string]error // errNotFinished until a hook has returned
}

var errNotFinished = errors.New("not finished")

// AddPostStartHook adds work to do as soon as the server listens. Hooks run at the same time, and the server is not
// ready before all have returned. It must be called before Run. Two hooks of one name are an error.
func (s *Server) AddPostStartHook(h Hook) error {
	if err := s.life.postStart.add(h); err != nil {
		return err
	}
	var errs []error
	for _, c := range s.life.postStart.checksOf(h) {
		errs = append(errs, s.life.health.installHook(c))
	}
	return errors.Join(errs...)
}

// addHooks adds the hooks of a part.
func (s *Server) addHooks(list ...generic.Hook) error {
	var errs []error
	for _, h := range list {
		errs = append(errs, s.AddPostStartHook(Hook{
			Name: h.Name, Run: hostless(h.Run), completes: healthCheck{h.Completes.Name, h.Completes.Run},
		}))
	}
	return errors.Join(errs...)
}

// addPreShutdownHooks adds those of a part.
func (s *Server) addPreShutdownHooks(list ...generic.Hook) error {
	var errs []error
	for _, h := range list {
		errs = append(errs, s.AddPreShutdownHook(Hook{Name: h.Name, Run: hostless(h.Run)}))
	}
	return errors.Join(errs...)
}

// hostless is the work of a hook that does not look at the server.
func hostless(run func(context.Context) error) func(context.Context, *Server) error {
	return func(ctx context.Context, _ *Server) error { return run(ctx) }
}

// AddPreShutdownHook adds work to do when the server is told to stop, before requests are turned away. It must be
// called before Run.
func (s *Server) AddPreShutdownHook(h Hook) error { return s.life.preShutdown.add(h) }

func (h *hooks) add(hook Hook) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.state[hook.Name]; ok {
		return fmt.Errorf("server: hook %q is registered twice", hook.Name)
	}
	if h.state == nil {
		h.state = map[string]error{}
	}
	h.state[hook.Name] = errNotFinished
	h.list = append(h.list, hook)
	return nil
}

// checks are the health checks of the hooks, in the order in which they were added.
func (h *hooks) checks() []healthCheck {
	h.mu.Lock()
	defer h.mu.Unlock()
	checks := make([]healthCheck, 0, len(h.list))
	for _, hook := range h.list {
		checks = append(checks, h.checksOf(hook)...)
	}
	return checks
}

// checksOf are the health checks of one hook.
func (h *hooks) checksOf(hook Hook) []healthCheck {
	checks := []healthCheck{{"poststarthook/" + hook.Name, func(context.Context) error { return h.done(hook.Name) }}}
	if hook.completes.check != nil {
		checks = append(checks, hook.completes)
	}
	return checks
}

func (h *hooks) done(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state[name]
}

// run starts all hooks, reports each that fails at once, and returns when all have ended: true if none failed.
func (h *hooks) run(ctx context.Context, s *Server, failed func(error)) bool {
	h.mu.Lock()
	list := h.list
	h.mu.Unlock()
	var wg sync.WaitGroup
	var bad atomic.Bool
	for _, hook := range list {
		wg.Go(func() {
			err := hook.Run(ctx, s)
			h.mu.Lock()
			h.state[hook.Name] = err
			h.mu.Unlock()
			if err != nil {
				bad.Store(true)
				failed(fmt.Errorf("server: hook %s: %w", hook.Name, err))
			}
		})
	}
	wg.Wait()
	return !bad.Load()
}
