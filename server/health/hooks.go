package health

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/coracle-project/coracle/server/generic"
)

// Hooks is the list of the hooks of a server's start, or of those of its end, with their results.
// The zero Hooks is an empty list. All methods may be called at once.
type Hooks struct {
	mu    sync.Mutex
	list  []generic.Hook
	state map[string]error // the result of each hook by name; errNotFinished until it has returned
}

// errNotFinished is why the check of a hook fails until the hook has returned, in kube-apiserver's
// words.
var errNotFinished = errors.New("not finished")

// Add adds hooks. A second hook of the same name is an error, but the hooks before it in list stay
// added. A hook that is added after the call of Run does not run, so its check never passes.
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

// Run runs all hooks at the same time, and returns when all have returned. The result is true if
// none failed. Run calls failed with the error of a hook as soon as the hook has failed. Several
// calls of failed may run at once.
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

// checksOf returns the health checks of one hook: the check that the hook has returned without an
// error, and Hook.Completes if it has a name.
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

// done returns nil if a hook has returned without an error, and also if there is no such hook.
// Otherwise it returns the hook's error, or errNotFinished.
func (h *Hooks) done(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state[name]
}
