package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
)

// healthCheck is a named condition of the server's health; nil means good.
type healthCheck struct {
	name  string
	check func(ctx context.Context) error
}

// healthTimeout bounds how long a store may take to answer a check.
const healthTimeout = 2 * time.Second

// healthPaths are the endpoints of health.
var healthPaths = []string{"/healthz", "/livez", "/readyz"}

// health is what a server says of its own.
type health struct {
	paths    *router.PrefixMux
	store    *backing.Store
	within   CheckTimeouts // of the store
	hooks    *hooks        // post-start
	stopping atomic.Bool
	lenient  time.Time // until then /livez takes hooks that still run for done
	failing  sync.Map  // names of the checks that failed when they were last made
	metrics  *healthMetrics
	log      *zap.Logger
}

func newHealth(paths *router.PrefixMux, store *backing.Store, within CheckTimeouts, grace time.Duration, log *zap.Logger) *health {
	return &health{paths: paths, store: store, within: within, hooks: &hooks{}, lenient: time.Now().Add(grace), metrics: newHealthMetrics(), log: log}
}

// basic are the checks of all three endpoints that are always there.
func (h *health) basic() []healthCheck {
	checks := []healthCheck{
		{"ping", func(context.Context) error { return nil }},
		{"log", func(context.Context) error { return nil }},
		answers("etcd", h.store, h.within.HealthTimeout),
	}
	for i, other := range h.store.Others {
		checks = append(checks, answers(fmt.Sprintf("etcd-override-%d", i), other, h.within.HealthTimeout))
	}
	return checks
}

// readiness are the checks that /readyz has besides: of stores, and whether that has been read by
// which requests are authorized.
func (h *health) readiness() []healthCheck {
	checks := []healthCheck{answers("etcd-readiness", h.store, h.within.ReadyTimeout)}
	for i, other := range h.store.Others {
		checks = append(checks, answers(fmt.Sprintf("etcd-override-readiness-%d", i), other, h.within.ReadyTimeout))
	}
	return append(checks, healthCheck{"informer-sync", func(context.Context) error { return h.hooks.done(decidingHook) }})
}

// answers is the check that a store answers in time.
func answers(name string, s *backing.Store, within time.Duration) healthCheck {
	return healthCheck{name, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		return s.Answers(ctx)
	}}
}

// plugins are what health says of KMS plugins: one check for all, as kube-apiserver has it.
func (h *health) plugins() []healthCheck {
	e := h.store.Encryption()
	if !e.Checked() {
		return nil
	}
	return []healthCheck{{"kms-providers", e.Check}}
}

// notLive are the checks of /healthz and /readyz: a restart would not mend what the additional ones find.
func (h *health) notLive(more ...healthCheck) []healthCheck {
	return slices.Concat(h.basic(), more, h.plugins(), h.hooks.checks())
}

// shutdown is the check that readiness has besides.
func (h *health) shutdown() healthCheck {
	return healthCheck{"shutdown", func(context.Context) error {
		if h.stopping.Load() {
			return errors.New("process is shutting down")
		}
		return nil
	}}
}

// install serves /healthz, /livez and /readyz, each check below them, and what came of them; those of post-start hooks come with the hooks.
func (h *health) install() error {
	live := func() []healthCheck { return append(h.basic(), h.patient(h.hooks.checks()...)...) }
	ready := func() []healthCheck { return append(h.notLive(h.readiness()...), h.shutdown()) }
	errs := []error{
		h.paths.Handle("/healthz", h.endpoint("healthz", func() []healthCheck { return h.notLive() })),
		h.paths.Handle("/livez", h.endpoint("livez", live)),
		h.paths.Handle("/readyz", h.endpoint("readyz", ready)),
		h.paths.Handle("/readyz/shutdown", h.single(h.shutdown())),
		h.paths.Handle("/metrics/slis", h.metrics),
	}
	for _, c := range h.basic() {
		errs = append(errs, h.installCheck(c))
	}
	for _, c := range h.readiness() {
		errs = append(errs, h.paths.Handle("/readyz/"+c.name, h.single(c)))
	}
	for _, c := range h.plugins() {
		errs = append(errs, h.paths.Handle("/healthz/"+c.name, h.single(c)), h.paths.Handle("/readyz/"+c.name, h.single(c)))
	}
	return errors.Join(errs...)
}

// patient returns the checks of post-start hooks as /livez makes them.
func (h *health) patient(checks ...healthCheck) []healthCheck {
	if time.Now().After(h.lenient) {
		return checks
	}
	for i, c := range checks {
		checks[i].check = func(ctx context.Context) error {
			if time.Now().Before(h.lenient) {
				return nil
			}
			return c.check(ctx)
		}
	}
	return checks
}

// installCheck serves a check by itself.
func (h *health) installCheck(c healthCheck) error {
	var errs []error
	for _, path := range healthPaths {
		errs = append(errs, h.paths.Handle(path+"/"+c.name, h.single(c)))
	}
	return errors.Join(errs...)
}

// installHook serves the check of a post-start hook by itself.
func (h *health) installHook(c healthCheck) error {
	return errors.Join(
		h.paths.Handle("/healthz/"+c.name, h.single(c)), h.paths.Handle("/readyz/"+c.name, h.single(c)),
		h.paths.Handle("/livez/"+c.name, h.single(h.patient(c)[0])))
}

// made makes a check, and notes what came of it.
func (h *health) made(ctx context.Context, c healthCheck) error {
	err := c.check(ctx)
	if ctx.Err() == nil { // else it may be that alone
		h.note(c.name, err)
	}
	return err
}

// single answers with one check: "ok", or 500 and why it failed, which only those see who may get this very path. The
// query has no say here.
func (h *health) single(c healthCheck) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h.made(r.Context(), c); err != nil {
			answerText(w, http.StatusInternalServerError, "internal server error: "+err.Error()+"\n")
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, "ok")
	})
}

// endpoint runs checks: "ok", or with ?verbose or a failure a line for each. ?exclude=name leaves one out.
func (h *health) endpoint(name string, checks func() []healthCheck) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := request.QueryOf(r)
		all := checks()
		excluded, unknown := exclusions(query, all)
		var report strings.Builder
		failed := false
		for _, c := range all {
			if excluded[c.name] {
				fmt.Fprintf(&report, "[+]%s excluded: ok\n", c.name)
				continue
			}
			err := h.made(r.Context(), c)
			if r.Context().Err() == nil { // else it may be that alone
				h.metrics.made(c.name, name, err)
			}
			if err != nil {
				failed = true
				fmt.Fprintf(&report, "[-]%s failed: reason withheld\n", c.name)
			} else {
				fmt.Fprintf(&report, "[+]%s ok\n", c.name)
			}
		}
		if unknown != "" {
			fmt.Fprintf(&report, "warn: some health checks cannot be excluded: no matches for %s\n", unknown)
		}
		_, verbose := query.Lookup("verbose")
		switch {
		case failed:
			answerText(w, http.StatusInternalServerError, report.String()+name+" check failed\n")
		case verbose:
			answerText(w, http.StatusOK, report.String()+name+" check passed\n")
		default:
			answerText(w, http.StatusOK, "ok")
		}
	})
}

func answerText(w http.ResponseWriter, code int, text string) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	io.WriteString(w, text)
}

// exclusions reads which checks a query leaves out, and quotes for the report, sorted, an excerpt of the names that no
// check has. Anybody may ask for any number of them.
func exclusions(query *request.Query, checks []healthCheck) (excluded map[string]bool, unknown string) {
	asked := query.All("exclude")
	if asked == nil {
		return nil, ""
	}
	excluded = make(map[string]bool, len(checks))
	for _, c := range checks {
		excluded[c.name] = slices.Contains(asked, c.name)
	}
	asked = slices.DeleteFunc(asked, func(name string) bool { return excluded[name] })
	slices.Sort(asked)
	var quoted strings.Builder
	for _, name := range slices.Compact(asked) {
		if quoted.Len() > maxUnknown {
			quoted.WriteString(",...")
			break
		}
		if quoted.Len() > 0 {
			quoted.WriteString(",")
		}
		quoted.WriteString(strconv.Quote(meta.Excerpt(name)))
	}
	return excluded, quoted.String()
}

// note logs the first failure of a check in a row. Anybody may ask for the others.
func (h *health) note(check string, err error) {
	if err == nil {
		h.failing.Delete(check)
		return
	}
	if _, before := h.failing.LoadOrStore(check, nil); !before {
		h.log.Log(backing.Severity(err), "health check failed", zap.String("check", check), zap.Error(err))
	}
}

// maxUnknown is up to which length the report names more checks that do not exist, in bytes.
const maxUnknown = 1 << 10
