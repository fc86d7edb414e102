package filters

import (
	"net/http"
	"strings"
)

// noCache is the value of Cache-Control, shared by all responses. Its capacity is used up, so that
// appending to it copies it.
var noCache = []string{"no-cache, private"}

// Headers sets headers of every response. Cache-Control forbids caching, because what the API
// answers changes and may be secret. server is the value of Server, and hsts are the directives of
// Strict-Transport-Security; an empty one is not sent. Handlers may overwrite all of them.
// Order: outside every filter that answers by itself. Cost: a map entry for each header, no
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
