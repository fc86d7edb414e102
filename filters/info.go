package filters

import (
	"net/http"
	"strings"

	"github.com/coracle-project/coracle/router/request"
)

// Info parses path and query, once for everybody, and answers those that cannot be: see request.Parse. Cost: no allocation
// for a query of the usual length.
// Order: inside Recover; outside all that want to know verb and resource.
func Info(fail ErrorWriter) Filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := request.Parse(r, &of(r).info); err != nil {
				fail(w, r, err)
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
