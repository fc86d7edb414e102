package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router"
)

// healthCheck is a named condition of the server's health; nil means good.
type healthCheck struct {
	name  string
	check func(ctx context.Context) error
}

// healthTimeout bounds one check.
const healthTimeout = 2 * time.Second

// healthPaths are the endpoints of health. All have the same checks, readiness has one more.
var healthPaths = []string{"/healthz", "/livez", "/readyz"}

// installHealth serves /healthz, /livez and /readyz, and each check below them; those of post-start hooks come with the
// hooks.
func (s *Server) installHealth() error {
	basic := []healthCheck{
		{"ping", func(context.Context) error { return nil }},
		{"log", func(context.Context) error { return nil }},
		{"etcd", s.checkStore},
	}
	shutdown := healthCheck{"shutdown", func(context.Context) error {
		if s.stopping.Load() {
			return errors.New("process is shutting down")
		}
		return nil
	}}
	for _, path := range healthPaths {
		checks := func() []healthCheck { return append(slices.Clip(basic), s.postStart.checks()...) }
		if path == "/readyz" {
			checks = func() []healthCheck { return append(append(slices.Clip(basic), s.postStart.checks()...), shutdown) }
		}
		if err := s.Core.Paths.Handle(path, s.healthHandler(strings.TrimPrefix(path, "/"), checks)); err != nil {
			return err
		}
	}
	for _, c := range basic {
		if err := s.installCheck(c); err != nil {
			return err
		}
	}
	return s.Core.Paths.Handle("/readyz/shutdown", s.oneCheck(shutdown))
}

// installCheck serves a check by itself.
func (s *Server) installCheck(c healthCheck) error {
	for _, path := range healthPaths {
		if err := s.Core.Paths.Handle(path+"/"+c.name, s.oneCheck(c)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) oneCheck(c healthCheck) http.Handler {
	return s.healthHandler(c.name, func() []healthCheck { return []healthCheck{c} })
}

func (s *Server) checkStore(ctx context.Context) error {
	_, err := s.main.store.Revision(ctx)
	return err
}

// healthHandler runs checks: "ok", or with ?verbose or a failure a line for each. ?exclude=name leaves one out.
func (s *Server) healthHandler(name string, checks func() []healthCheck) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		excluded := query["exclude"]
		var report, failed strings.Builder
		for _, c := range checks() {
			if i := slices.Index(excluded, c.name); i >= 0 {
				excluded = slices.Delete(slices.Clone(excluded), i, i+1)
				fmt.Fprintf(&report, "[+]%s excluded: ok\n", c.name)
				continue
			}
			ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
			err := c.check(ctx)
			cancel()
			s.noteHealth(c.name, err)
			if err != nil {
				fmt.Fprintf(&report, "[-]%s failed: reason withheld\n", c.name)
				failed.WriteString(c.name + " ")
				continue
			}
			fmt.Fprintf(&report, "[+]%s ok\n", c.name)
		}
		if len(excluded) > 0 {
			fmt.Fprintf(&report, "warn: some health checks cannot be excluded: no matches for %s\n", quoteAll(excluded))
		}
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("X-Content-Type-Options", "nosniff")
		switch {
		case failed.Len() > 0:
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, report.String()+name+" check failed\n")
		case verbose(query):
			io.WriteString(w, report.String()+name+" check passed\n")
		default:
			io.WriteString(w, "ok")
		}
	})
}

// noteHealth logs the first failure of a check in a row. Anybody may ask for the others.
func (s *Server) noteHealth(check string, err error) {
	if err == nil {
		s.failing.Delete(check)
		return
	}
	if _, before := s.failing.LoadOrStore(check, nil); !before {
		s.log.Log(severity(err), "health check failed", zap.String("check", check), zap.Error(err))
	}
}

func verbose(q url.Values) bool {
	_, ok := q["verbose"]
	return ok
}

func quoteAll(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = strconv.Quote(s)
	}
	return strings.Join(quoted, ", ")
}

// readOnly refuses what is not a GET, as a Status.
func readOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			router.WriteError(w, r, router.ErrMethod())
			return
		}
		h.ServeHTTP(w, r)
	})
}
