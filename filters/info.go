package filters

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Info parses path and query, once for everybody. Paths that break off behind an old verb are answered with 500, as
// clients know it. Cost: no allocation.
// Order: inside Recover; outside all that want to know verb and resource.
func Info(fail ErrorWriter) Filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := request.Parse(r, &of(r).info); err != nil {
				fail(w, r, meta.NewInternalError(fmt.Errorf("failed to create RequestInfo: %w", err)))
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// LongRunning reports whether a request lives for as long as its client likes: watches, proxied and streamed
// connections, logs, and profiles. Neither deadlines nor limits on concurrency hold for them.
func LongRunning(info *request.Info) bool {
	if !info.IsResource {
		return strings.HasPrefix(info.Path, "/debug/pprof/")
	}
	switch info.Verb {
	case "watch", "proxy":
		return true
	}
	switch info.Subresource {
	case "attach", "exec", "proxy", "log", "portforward":
		return true
	}
	return false
}
