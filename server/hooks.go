package server

import (
	"context"
	"fmt"
	"sync"
)

// Hook is work that begins after the server listens, or has to be done before it stops. Its context ends with the
// server.
type Hook struct {
	Name string
	// Run does the work. A post-start hook that returns an error ends the server; what it leaves running must be
	// ended by the context and is not waited for, unless it was started with Server.Go.
	Run func(ctx context.Context, s *Server) error
}

// hooks are the post-start hooks with their state. Readiness waits for all of them.
type hooks struct {
	mu    sync.Mutex
	list  []Hook
	state map[string]error // errNotFinished until a hook has returned
}

var errNotFinished = fmt.Errorf("not finished")

// AddPostStartHook adds work to do as soon as the server listens. Hooks run at the same time. It must be called
// before Run. Two hooks of one name are an error.
func (s *Server) AddPostStartHook(h Hook) error { return s.postStart.add(h) }

// AddPreShutdownHook adds work to do when the server is told to stop, before requests are turned away. It must be
// called before Run.
func (s *Server) AddPreShutdownHook(h Hook) error { return s.preShutdown.add(h) }

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

func (h *hooks) names() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := make([]string, len(h.list))
	for i := range h.list {
		names[i] = h.list[i].Name
	}
	return names
}

func (h *hooks) done(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state[name]
}

// run starts all hooks and waits for them. The first error is returned.
func (h *hooks) run(ctx context.Context, s *Server) error {
	var wg sync.WaitGroup
	h.mu.Lock()
	list := h.list
	h.mu.Unlock()
	errs := make(chan error, len(list))
	for _, hook := range list {
		wg.Go(func() {
			err := hook.Run(ctx, s)
			h.mu.Lock()
			h.state[hook.Name] = err
			h.mu.Unlock()
			if err != nil {
				errs <- fmt.Errorf("server: hook %s: %w", hook.Name, err)
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}
