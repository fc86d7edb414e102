package router

import (
	"net/http"
	"strings"

	"github.com/coracle-project/coracle/router/request"
)

// Director is the root handler of a server behind the filters. It asks, in this order: the REST
// router, if the request is for a resource that it serves; the prefix mux; discovery; and then the
// next server.
type Director struct {
	REST      *RESTRouter
	Discovery *Discovery
	Prefix    *PrefixMux
	// Next is the next server of the delegation chain, which shares Discovery. If Next is nil, the
	// chain ends here: a path inside a group that any server of the chain knows is answered with
	// the Status that the resource does not exist, and any other path with a plain 404.
	Next http.Handler
}

// ServeHTTP implements http.Handler. It decides by the request's Info and path alone.
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
	if _, exists := d.Discovery.GroupOf(path, info); exists {
		WriteError(w, r, ErrNotFound())
		return
	}
	NotFound(w, r)
}

// ofGroup reports whether a request is for a resource of some group. It is stricter than
// Info.IsResource, on which authorization relies: a path that begins with "//" and a path with an
// empty group name are not resources here.
func ofGroup(path string, info *request.Info) bool {
	return info.IsResource && !strings.HasPrefix(path, "//") && (info.Group != "" || info.APIPrefix == "api")
}

// NotFound answers with a plain-text 404: the end of the delegation chain.
func NotFound(w http.ResponseWriter, r *http.Request) {
	answerTo(w, r).text(http.StatusNotFound, "404 page not found")
}
