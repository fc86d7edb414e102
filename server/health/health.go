// Package health says whether a server is alive and ready, and what its hooks have done.
//
// A check is a named condition. An endpoint makes several checks: /healthz and /livez say whether a
// restart would help, /readyz whether requests should come. A hook is work of the start or the end
// of a server; each hook of the start is a check, too, which is good once the hook has returned.
//
// Guarantees: the names of checks and hooks, the checks of each endpoint and the text of the
// answers are those of kube-apiserver, so probes and people read them as they are used to. A check
// asks a store for as long as its timeout and no longer. A check that fails again and again is
// logged once, and again after it has been good. The reason for a failure is shown only by the path
// of the single check.
//
// Health may be asked by many at once, and its hooks may be added while it is asked.
//
// Not here: when a server is told to stop, and in which order it ends (server).
//
// Read: health.go, endpoints.go, hooks.go, reads.go, metrics.go.
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

// Timeouts bound the questions that the checks "etcd" and "etcd-readiness" ask a store, default
// DefaultTimeout. (--etcd-healthcheck-timeout, --etcd-readycheck-timeout)
type Timeouts struct{ HealthTimeout, ReadyTimeout time.Duration }

// DefaultTimeout is how long a store may take to answer a check by default.
const DefaultTimeout = 2 * time.Second

// Needs are what a Health is made of.
type Needs struct {
	// Paths is where the endpoints are installed.
	Paths *router.PrefixMux
	// Store is the store whose checks are made, with the others that belong to it. It need not be
	// open.
	Store *backing.Store
	// Timeouts are those of the checks of the store; none is zero.
	Timeouts Timeouts
	// Lenient is how long from now /livez takes hooks that still run for done.
	Lenient time.Duration
	// Started is when the process began.
	Started time.Time
	Log     *zap.Logger
}

// Health is what a server says of its own health.
type Health struct {
	paths    *router.PrefixMux
	store    *backing.Store
	within   Timeouts
	hooks    Hooks // of the start
	stopping atomic.Bool
	lenient  time.Time // until then /livez takes hooks that still run for done
	failing  sync.Map  // names of the checks that failed when they were last made
	metrics  *metrics
	log      *zap.Logger
}

// New returns the health of a server, whose endpoints it installs: /healthz, /livez and /readyz,
// each of their checks below them, and /metrics/slis, which counts what came of them.
func New(n Needs) (*Health, error) {
	h := &Health{
		paths: n.Paths, store: n.Store, within: n.Timeouts, lenient: time.Now().Add(n.Lenient), metrics: newMetrics(n.Started), log: n.Log,
	}
	return h, h.install()
}

// AddHook adds work of the start. Readiness waits for it, and it is a check of all three endpoints.
// Two hooks of one name are an error.
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

// RunHooks runs the hooks of the start: see Hooks.Run.
func (h *Health) RunHooks(ctx context.Context, failed func(error)) bool {
	return h.hooks.Run(ctx, failed)
}

// Stop fails readiness from now on: the server is about to end.
func (h *Health) Stop() { h.stopping.Store(true) }

// install serves the endpoints, and each check below them. AddHook does so for the checks of hooks.
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
	for _, c := range h.plugins() {
		errs = append(errs, h.paths.Handle("/healthz/"+c.Name, h.single(c)), h.paths.Handle("/readyz/"+c.Name, h.single(c)))
	}
	return errors.Join(errs...)
}

// basic returns the checks that all three endpoints make.
func (h *Health) basic() []generic.Check {
	good := func(context.Context) error { return nil }
	checks := []generic.Check{{Name: "ping", Run: good}, {Name: "log", Run: good}, answers("etcd", h.store, h.within.HealthTimeout)}
	for i, other := range h.store.Others {
		checks = append(checks, answers(fmt.Sprintf("etcd-override-%d", i), other, h.within.HealthTimeout))
	}
	return checks
}

// readiness returns the checks that only /readyz makes: that the stores answer, and that everything
// has been read by which requests are authorized.
func (h *Health) readiness() []generic.Check {
	checks := []generic.Check{answers("etcd-readiness", h.store, h.within.ReadyTimeout)}
	for i, other := range h.store.Others {
		checks = append(checks, answers(fmt.Sprintf("etcd-override-readiness-%d", i), other, h.within.ReadyTimeout))
	}
	return append(checks, generic.Check{Name: "informer-sync", Run: func(context.Context) error { return h.hooks.done(decidingHook) }})
}

// answers returns the check that a store answers in time.
func answers(name string, s *backing.Store, within time.Duration) generic.Check {
	return generic.Check{Name: name, Run: func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		return s.Answers(ctx)
	}}
}

// plugins returns the check of KMS plugins, if there are any: one for all of them, as in
// kube-apiserver.
func (h *Health) plugins() []generic.Check {
	e := h.store.Encryption()
	if !e.Checked() {
		return nil
	}
	return []generic.Check{{Name: "kms-providers", Run: e.Check}}
}

// notLive returns the checks of /healthz, and with more those of /readyz. They include what a
// restart would not mend, which /livez leaves out.
func (h *Health) notLive(more ...generic.Check) []generic.Check {
	return slices.Concat(h.basic(), more, h.plugins(), h.hooks.checks())
}

// shutdown returns the check that the server is not about to end.
func (h *Health) shutdown() generic.Check {
	return generic.Check{Name: "shutdown", Run: func(context.Context) error {
		if h.stopping.Load() {
			return errors.New("process is shutting down")
		}
		return nil
	}}
}

// patient returns the checks of hooks as /livez makes them: they are good until the time of
// leniency has passed.
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

// made makes a check, and logs it if it is the first failure of this check in a row: anybody may
// ask for the others.
func (h *Health) made(ctx context.Context, c generic.Check) error {
	err := c.Run(ctx)
	if ctx.Err() != nil { // the end of the request may be all that is wrong
		return err
	}
	if err == nil {
		h.failing.Delete(c.Name)
	} else if _, before := h.failing.LoadOrStore(c.Name, nil); !before {
		h.log.Log(backing.Severity(err), "health check failed", zap.String("check", c.Name), zap.Error(err))
	}
	return err
}
