package router

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gorilla/mux"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// RESTRouter finds the endpoint of a resource request. It is one gorilla/mux router with a route for each form of
// path; the routes match on the request's Info, so that a path is taken apart once and the cost does not grow with
// the number of resources. Group versions may come and go while it serves.
type RESTRouter struct {
	cfg    *Config
	mux    *mux.Router
	mu     sync.Mutex
	routes atomic.Pointer[routes]
}

// routes is one state of the router. It is immutable.
type routes struct {
	endpoints map[routeKey]*endpoint
	versions  map[meta.GroupVersion]bool
	groups    map[string]int // group -> number of versions
}

type routeKey struct{ group, version, resource, subresource string }

// NewRESTRouter returns a router without resources.
func NewRESTRouter(cfg *Config) *RESTRouter {
	cfg.complete()
	rr := &RESTRouter{cfg: cfg, mux: mux.NewRouter()}
	rr.routes.Store(&routes{})
	rr.mux.NewRoute().MatcherFunc(rr.matchItem)
	rr.mux.NewRoute().MatcherFunc(rr.matchCollection)
	return rr
}

// Install adds a group version with its resources, or replaces it.
func (rr *RESTRouter) Install(gv GroupVersion) { rr.replace(gv.GroupVersion, &gv) }

// Remove takes a group version out.
func (rr *RESTRouter) Remove(gv meta.GroupVersion) { rr.replace(gv, nil) }

func (rr *RESTRouter) replace(gv meta.GroupVersion, with *GroupVersion) {
	rr.mu.Lock()
	defer rr.mu.Unlock()
	old := rr.routes.Load()
	next := &routes{endpoints: map[routeKey]*endpoint{}, versions: map[meta.GroupVersion]bool{}, groups: map[string]int{}}
	for k, e := range old.endpoints {
		if k.group != gv.Group || k.version != gv.Version {
			next.endpoints[k] = e
		}
	}
	for v := range old.versions {
		if v != gv {
			next.versions[v] = true
		}
	}
	if with != nil {
		next.versions[gv] = true
		for i := range with.Resources {
			res := &with.Resources[i]
			name, sub, _ := strings.Cut(res.Name, "/")
			next.endpoints[routeKey{gv.Group, gv.Version, name, sub}] = newEndpoint(rr.cfg, gv, res)
		}
	}
	for v := range next.versions {
		next.groups[v.Group]++
	}
	rr.routes.Store(next)
}

// Knows reports whether a group version is installed.
func (rr *RESTRouter) Knows(group, version string) bool {
	return rr.routes.Load().versions[meta.GroupVersion{Group: group, Version: version}]
}

// KnowsGroup reports whether path is inside a group that has versions here, though maybe not the one asked for.
func (rr *RESTRouter) KnowsGroup(path string, info *request.Info) bool {
	groups := rr.routes.Load().groups
	if info.IsResource {
		return groups[info.APIGroup] > 0
	}
	if rest, ok := strings.CutPrefix(path, "/apis/"); ok {
		group, _, _ := strings.Cut(rest, "/")
		return group != "" && groups[group] > 0
	}
	return (path == "/api" || strings.HasPrefix(path, "/api/")) && groups[""] > 0
}

// ServeHTTP answers a resource request: 404 if there is no such resource, 405 if it does not do that.
func (rr *RESTRouter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var match mux.RouteMatch
	if rr.mux.Match(r, &match) && match.Handler != nil {
		if r.Method == http.MethodHead { // its verb is that of a GET, and no resource serves it
			match.Handler = notAllowed
		}
		match.Handler.ServeHTTP(w, r)
		return
	}
	WriteError(w, r, ErrNotFound())
}

// find returns the endpoint that a request's Info names, or nil.
func (rr *RESTRouter) find(info *request.Info) *endpoint {
	return rr.routes.Load().endpoints[routeKey{info.APIGroup, info.APIVersion, info.Resource, info.Subresource}]
}

// matchItem matches /resource/name and /resource/name/subresource, in a namespace if the resource is namespaced.
func (rr *RESTRouter) matchItem(r *http.Request, m *mux.RouteMatch) bool {
	info := request.From(r.Context())
	if info == nil || info.Name == "" || len(info.Parts) < 2 {
		return false
	}
	e := rr.find(info)
	if e == nil || len(info.Parts) > 3 && e.res.Connecter == nil || !e.placed(info) {
		return false
	}
	m.Handler = e.item(verbOf(r, info))
	return true
}

// matchCollection matches /resource, in a namespace or, for namespaced resources, in all of them.
func (rr *RESTRouter) matchCollection(r *http.Request, m *mux.RouteMatch) bool {
	info := request.From(r.Context())
	if info == nil || len(info.Parts) != 1 {
		return false
	}
	e := rr.find(info)
	if e == nil || !e.res.Namespaced && info.Namespace != "" {
		return false
	}
	m.Handler = e.collection(verbOf(r, info), info.Namespace == "")
	return true
}

// verbOf is the verb to serve. What authorization takes for a read, a HEAD or any method under /watch/, is one only
// as a GET.
func verbOf(r *http.Request, info *request.Info) string {
	switch info.Verb {
	case "get", "list", "watch":
		if r.Method != http.MethodGet {
			return ""
		}
	}
	return info.Verb
}
