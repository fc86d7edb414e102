// Package health answers the health endpoints of a server and runs its hooks.
//
// Words: a check is a named condition. An endpoint makes several checks: /livez says whether a
// restart would help, /readyz whether the server should get requests, and /healthz is the
// deprecated predecessor of both. A hook is work at the start or at the end of a server. Each hook
// of the start is also a check, which passes when the hook has returned without an error.
//
// Laws: the names of checks and hooks, the checks of each endpoint and the texts of the answers are
// kube-apiserver's, because probes and scripts read them. No check of a store lasts longer than its
// timeout. Of the failures of a check in a row, only the first is logged. Only the path of a single
// check shows the reason of a failure.
//
// Use: package server makes one Health before it listens, adds the hooks of all parts, and calls
// RunHooks once. Endpoints may be requested, and hooks added, at the same time.
//
// Not here: when a server stops, and in which order its parts end (server).
//
// Read: health.go, endpoints.go, hooks.go, loadhooks.go, metrics.go.
package health

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/generic"
)

// Timeouts bound the requests of checks to a store. HealthTimeout is for the check "etcd", which
// all three endpoints make, and ReadyTimeout for "etcd-readiness", which only /readyz makes. The
// same holds for the checks of stores that keep single resources. The flags have DefaultTimeout as
// their default. (--etcd-healthcheck-timeout, --etcd-readycheck-timeout)
type Timeouts struct{ HealthTimeout, ReadyTimeout time.Duration }

// DefaultTimeout is the default time in which a store must answer a check.
const DefaultTimeout = 2 * time.Second

// Needs are the values that a Health works with. All are required except Lenient.
type Needs struct {
	// Paths is the mux on which New installs the endpoints.
	Paths *router.PrefixMux
	// Store is checked together with its Others, the stores of single resources. It need not be
	// open yet.
	Store *backing.Store
	// Timeouts bound the checks of the stores. Neither is zero.
	Timeouts Timeouts
	// LivezGracePeriod is the time, from New on, during which the checks of hooks pass on /livez
	// although the hooks still run. (--livez-grace-period)
	LivezGracePeriod time.Duration
	// Started is the time at which the process began.
	Started time.Time
	Log     *zap.Logger
}

// Health answers the health endpoints of one server. All methods may be called at once.
type Health struct {
	paths    *router.PrefixMux
	store    *backing.Store
	within   Timeouts
	hooks    Hooks // the hooks of the start
	stopping atomic.Bool
	lenient  time.Time // the checks of hooks pass on /livez until then
	failing  sync.Map  // has the name of each check whose last result was a failure
	metrics  *metrics
	log      *zap.Logger
}

// New returns the Health of a server and installs its endpoints: /healthz, /livez and /readyz, a
// path below them for each of their checks, and /metrics/slis, which counts the results.
func New(n Needs) (*Health, error) {
	h := &Health{
		paths: n.Paths, store: n.Store, within: n.Timeouts,
		lenient: time.Now().Add(n.LivezGracePeriod), metrics: newMetrics(n.Started), log: n.Log,
	}
	return h, h.install()
}

// AddHook adds a hook of the start. The checks of the hook become checks of all three endpoints, so
// the server is not ready before the hook has returned. A second hook of the same name is an error.
func (h *Health) AddHook(hook generic.Hook) error {
	if err := h.hooks.Add(hook); err != nil {
		return err
	}
	var errs []error
	for _, c := range h.hooks.checksOf(hook) {
		errs = append(errs,
			h.paths.Handle("/healthz/"+c.Name, h.single(c)), h.paths.Handle("/readyz/"+c.Name, h.single(c)),
			h.paths.Handle("/livez/"+c.Name, h.single(h.patient(c)[0])))
	}
	return errors.Join(errs...)
}

// RunHooks runs the hooks of the start at the same time, and returns when all have returned. The
// result is true if none failed. It calls failed with each error, and several calls of failed may
// run at once. Hooks that are added later do not run.
func (h *Health) RunHooks(ctx context.Context, failed func(error)) bool {
	return h.hooks.Run(ctx, failed)
}

// Stop makes /readyz fail from then on, because the server is about to end.
func (h *Health) Stop() { h.stopping.Store(true) }

// install serves the endpoints and a path for each check. AddHook adds the paths of the hooks.
func (h *Health) install() error {
	live := func() []generic.Check { return append(h.basic(), h.patient(h.hooks.checks()...)...) }
	ready := func() []generic.Check { return append(h.notLive(h.readiness()...), h.shutdown()) }
	errs := []error{
		h.paths.Handle("/healthz", h.endpoint("healthz", func() []generic.Check { return h.notLive() })),
		h.paths.Handle("/livez", h.endpoint("livez", live)),
		h.paths.Handle("/readyz", h.endpoint("readyz", ready)),
		h.paths.Handle("/readyz/shutdown", h.single(h.shutdown())),
		h.paths.Handle("/metrics/slis", h.metrics),
	}
	for _, c := range h.basic() {
		for _, path := range []string{"/healthz/", "/livez/", "/readyz/"} {
			errs = append(errs, h.paths.Handle(path+c.Name, h.single(c)))
		}
	}
	for _, c := range h.readiness() {
		errs = append(errs, h.paths.Handle("/readyz/"+c.Name, h.single(c)))
	}
	for _, c := range h.kmsPlugins() {
		errs = append(errs,
			h.paths.Handle("/healthz/"+c.Name, h.single(c)),
			h.paths.Handle("/readyz/"+c.Name, h.single(c)))
	}
	return errors.Join(errs...)
}

// basic returns the checks that all three endpoints make.
func (h *Health) basic() []generic.Check {
	good := func(context.Context) error { return nil }
	checks := []generic.Check{
		{Name: "ping", Run: good},
		{Name: "log", Run: good},
		storeAnswers("etcd", h.store, h.within.HealthTimeout),
	}
	for i, other := range h.store.Others {
		checks = append(checks, storeAnswers(fmt.Sprintf("etcd-override-%d", i), other, h.within.HealthTimeout))
	}
	return checks
}

// readiness returns the checks that only /readyz makes: the stores answer, and the resources that
// authorization reads are loaded.
func (h *Health) readiness() []generic.Check {
	checks := []generic.Check{storeAnswers("etcd-readiness", h.store, h.within.ReadyTimeout)}
	for i, other := range h.store.Others {
		name := fmt.Sprintf("etcd-override-readiness-%d", i)
		checks = append(checks, storeAnswers(name, other, h.within.ReadyTimeout))
	}
	return append(checks, generic.Check{
		Name: "informer-sync",
		Run:  func(context.Context) error { return h.hooks.done(decidingHook) },
	})
}

// storeAnswers returns the check that a store answers within a time.
func storeAnswers(name string, s *backing.Store, within time.Duration) generic.Check {
	return generic.Check{Name: name, Run: func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		return s.CheckHealth(ctx)
	}}
}

// kmsPlugins returns the one check of all KMS plugins, as in kube-apiserver, or none if the
// encryption configuration has no plugins.
func (h *Health) kmsPlugins() []generic.Check {
	e := h.store.Encryption()
	if !e.Checked() {
		return nil
	}
	return []generic.Check{{Name: "kms-providers", Run: e.Check}}
}

// notLive returns the checks that /healthz and /readyz share, with the checks in more, which only
// /readyz makes. They include the KMS plugins. /livez leaves the plugins out, because a restart of
// the server does not repair them.
func (h *Health) notLive(more ...generic.Check) []generic.Check {
	return slices.Concat(h.basic(), more, h.kmsPlugins(), h.hooks.checks())
}

// shutdown returns the check that Stop was not called. The text of its failure is kube-apiserver's.
func (h *Health) shutdown() generic.Check {
	return generic.Check{Name: "shutdown", Run: func(context.Context) error {
		if h.stopping.Load() {
			return errors.New("process is shutting down")
		}
		return nil
	}}
}

// patient returns the checks of hooks as /livez makes them: they pass until h.lenient. It changes
// the elements of checks. Each check compares the time again, because AddHook installs it once for
// the life of the server.
func (h *Health) patient(checks ...generic.Check) []generic.Check {
	if time.Now().After(h.lenient) {
		return checks
	}
	for i, c := range checks {
		checks[i].Run = func(ctx context.Context) error {
			if time.Now().Before(h.lenient) {
				return nil
			}
			return c.Run(ctx)
		}
	}
	return checks
}

// runCheck makes a check and returns its error. Of failures in a row it logs only the first,
// because clients decide how often a check is made.
func (h *Health) runCheck(ctx context.Context, c generic.Check) error {
	err := c.Run(ctx)
	if ctx.Err() != nil { // the check may have failed only because the request ended
		return err
	}
	if err == nil {
		h.failing.Delete(c.Name)
	} else if _, before := h.failing.LoadOrStore(c.Name, nil); !before {
		h.log.Log(backing.Severity(err), "health check failed", zap.String("check", c.Name), zap.Error(err))
	}
	return err
}
