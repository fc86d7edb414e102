package filters

import (
	"fmt"
	"net/http"

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
