package filters

import (
	"net/http"
	"strings"
)

// The values are shared by all answers. They are full, so that adding to one makes a copy.
var noCache = []string{"no-cache, private"}

// Headers sets the headers of every answer: what comes from the API changes and may be secret,
// so caches must not keep it. server is the value of Server, and hsts are the directives of
// Strict-Transport-Security; none: it is not sent. Handlers may overwrite all.
// Order: outside every filter that answers by itself. Cost: a map entry for each, no
// allocation.
func Headers(server string, hsts []string) Filter {
	var name, transport []string
	if server != "" {
		name = []string{server}
	}
	if len(hsts) > 0 {
		transport = []string{strings.Join(hsts, "; ")}
	}
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			h := w.Header()
			h["Cache-Control"] = noCache
			if name != nil {
				h["Server"] = name
			}
			if transport != nil {
				h["Strict-Transport-Security"] = transport
			}
			next(w, r)
		}
	}
}
