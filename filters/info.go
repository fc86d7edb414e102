package filters

import (
	"net/http"

	"github.com/coracle-project/coracle/router/request"
)

// Info parses path and query, once for everybody, and answers those that cannot be: see request.Parse. Cost: no allocation
// for a query of the usual length.
// Order: inside Recover; outside all that want to know verb and resource.
func Info(fail ErrorWriter) Filter {
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if err := request.Parse(r, &of(r).info); err != nil {
				fail(w, r, err)
				return
			}
			next(w, r)
		}
	}
}
