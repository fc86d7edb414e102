package filters

import "net/http"

// The values are shared by all answers. They are full, so that adding to one makes a copy.
var noCache = []string{"no-cache, private"}

// Headers sets the headers of every answer: what comes from the API changes and may be secret, so caches must not keep
// it. server and hsts are the values of Server and Strict-Transport-Security; empty for none. Handlers may overwrite all.
// Order: outside every filter that answers by itself. Cost: a map entry for each, no allocation.
func Headers(server, hsts string) Filter {
	var name, transport []string
	if server != "" {
		name = []string{server}
	}
	if hsts != "" {
		transport = []string{hsts}
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
