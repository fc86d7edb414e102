package health

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/coracle-project/coracle/server/generic"
)

// Hooks are the hooks of one occasion, the start or the end of a server, with their results. The
// zero Hooks have no hooks. All methods may be called at once.
type Hooks struct {
	mu    sync.Mutex
	list  []generic.Hook
	state map[string]error // the result of each hook by name; errNotFinished until it has returned
}

// errNotFinished is the reason of a hook's check while the hook runs, in kube-apiserver's words.
var errNotFinished = errors.New("not finished")

// Add adds hooks. A second hook of the same name is an error; the hooks before it stay added. A
// hook that is added after the call of Run does not run.
func (h *Hooks) Add(list ...generic.Hook) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, hook := range list {
		if _, ok := h.state[hook.Name]; ok {
			return fmt.Errorf("server: hook %q is registered twice", hook.Name)
		}
		if h.state == nil {
			h.state = map[string]error{}
		}
		h.state[hook.Name] = errNotFinished
		h.list = append(h.list, hook)
	}
	return nil
}

// Run runs all hooks at the same time and returns when all have returned: true if none failed. As
// soon as a hook fails, it calls failed with the error. Several calls of failed may run at once.
func (h *Hooks) Run(ctx context.Context, failed func(error)) bool {
	h.mu.Lock()
	list := h.list
	h.mu.Unlock()
	var wg sync.WaitGroup
	var bad atomic.Bool
	for _, hook := range list {
		wg.Go(func() {
			err := hook.Run(ctx)
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

// checks returns the health checks of the hooks, in the order in which they were added.
func (h *Hooks) checks() []generic.Check {
	h.mu.Lock()
	defer h.mu.Unlock()
	checks := make([]generic.Check, 0, len(h.list))
	for _, hook := range h.list {
		checks = append(checks, h.checksOf(hook)...)
	}
	return checks
}

// checksOf returns the health checks of one hook: that it has returned, and Hook.Completes.
func (h *Hooks) checksOf(hook generic.Hook) []generic.Check {
	checks := []generic.Check{{
		Name: "poststarthook/" + hook.Name,
		Run:  func(context.Context) error { return h.done(hook.Name) },
	}}
	if hook.Completes.Name != "" {
		checks = append(checks, hook.Completes)
	}
	return checks
}

// done returns nil if a hook has returned without an error, else the reason. It also returns nil if
// there is no such hook.
func (h *Hooks) done(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state[name]
}
