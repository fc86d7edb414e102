package filters

import (
	"net/http"
	"regexp"
	"slices"

	"github.com/coracle-project/coracle/router/request"
)

// maxOrigin is the length in bytes of the longest Origin that is matched. A scheme, a host name of
// 253 bytes and a port are shorter.
const maxOrigin = 512

// CORS lets web pages whose Origin matches one of origins call the API, and answers their preflight
// requests. Without origins there is no such filter.
// Order: before Authenticate, because browsers send preflights without credentials. Cost: a header
// lookup.
func CORS(origins []*regexp.Regexp) Filter {
	if len(origins) == 0 {
		return nil
	}
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			origin := request.Header(r.Header, "Origin")
			if origin != "" && len(origin) <= maxOrigin &&
				slices.ContainsFunc(origins, func(re *regexp.Regexp) bool { return re.MatchString(origin) }) {
				h := w.Header()
				h.Set("Access-Control-Allow-Origin", origin)
				h.Set("Access-Control-Allow-Methods", "POST, GET, OPTIONS, PUT, DELETE, PATCH")
				h.Set("Access-Control-Allow-Headers",
					"Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, "+
						"X-Requested-With, If-Modified-Since")
				h.Set("Access-Control-Expose-Headers", "Date")
				h.Set("Access-Control-Allow-Credentials", "true")
				if r.Method == http.MethodOptions {
					w.WriteHeader(http.StatusNoContent)
					return
				}
			}
			next(w, r)
		}
	}
}
