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
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
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
		query := request.QueryOf(r)
		all := checks()
		excluded, unknown := exclusions(query, all)
		var report, failed strings.Builder
		for _, c := range all {
			if excluded[c.name] {
				fmt.Fprintf(&report, "[+]%s excluded: ok\n", c.name)
				continue
			}
			ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
			err := c.check(ctx)
			cancel()
			if r.Context().Err() == nil { // else it may be that alone
				s.noteHealth(c.name, err)
			}
			if err != nil {
				fmt.Fprintf(&report, "[-]%s failed: reason withheld\n", c.name)
				failed.WriteString(c.name + " ")
				continue
			}
			fmt.Fprintf(&report, "[+]%s ok\n", c.name)
		}
		if unknown != "" {
			fmt.Fprintf(&report, "warn: some health checks cannot be excluded: no matches for %s\n", unknown)
		}
		_, verbose := query.Lookup("verbose")
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("X-Content-Type-Options", "nosniff")
		switch {
		case failed.Len() > 0:
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, report.String()+name+" check failed\n")
		case verbose:
			io.WriteString(w, report.String()+name+" check passed\n")
		default:
			io.WriteString(w, "ok")
		}
	})
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
			quoted.WriteString(", ...")
			break
		}
		if quoted.Len() > 0 {
			quoted.WriteString(", ")
		}
		quoted.WriteString(strconv.Quote(meta.Excerpt(name)))
	}
	return excluded, quoted.String()
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

// maxUnknown is up to which length the report names more checks that do not exist, in bytes.
const maxUnknown = 1 << 10

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
