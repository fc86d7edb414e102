package router

import (
	"net/http"
	"strings"

	"github.com/coracle-project/coracle/router/request"
)

// Director sends a request to the REST router if that serves its resource, else to the prefix mux, then to discovery,
// and what those do not know to the next server.
type Director struct {
	REST      *RESTRouter
	Discovery *Discovery
	Prefix    *PrefixMux
	// Next is the next server of the delegation chain, which shares Discovery. nil ends the chain: with the Status that
	// there is no such resource inside a group that is known anywhere in the chain, else with a plain 404.
	Next http.Handler
}

// ServeHTTP looks only at the request's Info and path.
func (d *Director) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, info := r.URL.Path, request.From(r.Context())
	if info != nil && !ofGroup(path, info) {
		info = nil
	}
	if info != nil && d.REST.serve(w, r) {
		return
	}
	if h := d.Prefix.Match(path); h != nil {
		h.ServeHTTP(w, r)
		return
	}
	if h := d.Discovery.Match(path); h != nil {
		h.ServeHTTP(w, r)
		return
	}
	if d.Next != nil {
		d.Next.ServeHTTP(w, r)
		return
	}
	if _, known := d.Discovery.GroupOf(path, info); known {
		WriteError(w, r, ErrNotFound())
		return
	}
	NotFound(w, r)
}

// ofGroup reports whether a request is for a resource of some group. Authorization takes more for one: it does not mind
// slashes in front, nor a group without a name.
func ofGroup(path string, info *request.Info) bool {
	return info.IsResource && !strings.HasPrefix(path, "//") && (info.Group != "" || info.APIPrefix == "api")
}

// NotFound is the end of the delegation chain: a plain-text 404.
func NotFound(w http.ResponseWriter, r *http.Request) {
	answerTo(w, r).text(http.StatusNotFound, "404 page not found")
}
