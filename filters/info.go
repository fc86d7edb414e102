package filters

import (
	"net/http"

	"github.com/coracle-project/coracle/router/request"
)

// Info parses the request's path and query, once for everybody, and answers requests that
// request.Parse refuses.
// Order: inside Recover; outside all filters that depend on verb and resource. Cost: no allocation
// for a query of usual length.
func Info(fail ErrorWriter) Filter {
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if err := request.Parse(r, &exchangeOf(r).info); err != nil {
				fail(w, r, err)
				return
			}
			next(w, r)
		}
	}
}
